"""What the prover takes for granted of the law's functions: which only look, which change what."""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import pytest

from markstep.spec.proofs.merging import CHANGES, LOOKS, looking
from markstep.spec.rules import errors, transfer

PURE = {"all", "any", "bool", "enumerate", "int", "len", "list", "range", "sum", "tuple", "zip"}
"""Builtins that change nothing."""


def tree_of(function: Callable[..., Any]) -> ast.FunctionDef:
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(tree, ast.FunctionDef)
    return tree


def impurities(function: Callable[..., Any], seen: set[Any]) -> Iterator[str]:
    """Everything in a function, and in what it calls, by which something else could change."""
    if function in seen:
        return
    seen.add(function)
    local = {n.id for n in ast.walk(tree_of(function)) if isinstance(n, ast.Name)}
    for node in ast.walk(tree_of(function)):
        targets = getattr(node, "targets", [getattr(node, "target", None)])
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Delete):
            for target in targets:
                parts = target.elts if isinstance(target, ast.Tuple) else [target]
                if not all(isinstance(part, ast.Name) for part in parts):
                    yield f"{function.__name__} changes {ast.unparse(target)}"
        elif isinstance(node, ast.Global | ast.Nonlocal | ast.Yield | ast.YieldFrom):
            yield f"{function.__name__}: {ast.unparse(node)}"
        elif isinstance(node, ast.Call):
            yield from impure_call(function, node, local, seen)


def impure_call(function: Any, node: ast.Call, local: set[str], seen: set[Any]) -> Iterator[str]:
    if isinstance(node.func, ast.Attribute):
        owner = node.func.value
        fresh_list = isinstance(owner, ast.Name) and owner.id in local
        if node.func.attr != "append" or not fresh_list:
            yield f"{function.__name__} calls {ast.unparse(node.func)}"
        return
    assert isinstance(node.func, ast.Name)
    called = function.__globals__.get(node.func.id)
    if node.func.id == "rows" or (called is None and node.func.id in PURE):
        return
    if isinstance(called, FunctionType):
        yield from impurities(called, seen)
    elif not isinstance(called, type):
        yield f"{function.__name__} calls {node.func.id}"


def test_functions_that_are_merged_change_nothing() -> None:
    seen: set[Any] = set()
    assert [found for function in looking() for found in impurities(function, seen)] == []
    assert len(seen) > len(LOOKS)


@pytest.mark.parametrize("function", [errors.finish, transfer.get_ir, transfer.fill])
def test_a_function_that_changes_something_would_be_noticed(function: Any) -> None:
    assert list(impurities(function, set()))


def reassigned(function: Callable[..., Any], seen: set[Any]) -> Iterator[str]:
    """Fields of the state itself that a function, or what it calls, assigns to."""
    if function in seen:
        return
    seen.add(function)
    for node in ast.walk(tree_of(function)):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            if isinstance(node.value, ast.Name) and node.value.id == "s":
                yield node.attr
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            called = function.__globals__.get(node.func.id)  # type: ignore[attr-defined]
            if isinstance(called, FunctionType):
                yield from reassigned(called, seen)


@pytest.mark.parametrize("function", CHANGES, ids=lambda f: f.__name__)
def test_functions_that_are_joined_change_rows_only_and_give_a_truth_at_most(function: Any) -> None:
    assert tree_of(function).args.args[0].arg == "s"
    assert function.__annotations__["return"] in (bool, None)
    assert list(reassigned(function, set())) == []


def test_a_function_that_replaces_the_call_would_be_noticed() -> None:
    assert "call" in set(reassigned(errors.finish, set()))
