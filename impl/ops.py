"""What an operation is: a JAX function with its static arguments, one object for each pair.

A key holds the ``Op`` objects themselves, so two operations are the same in a key iff they are
the same function with exactly the same static arguments.

Source: torch_xla/csrc/ops/*; semantics.md §1.4.
"""

import itertools
from collections.abc import Callable, Hashable, Mapping
from functools import partial
from typing import Any, Final, TypeAlias
from weakref import WeakValueDictionary

from markstep.impl.aval import Array, Aval
from markstep.impl.shapes import Rule, Signature, same, same_or_scalar, trace
from markstep.spec.vocabulary import IrKind

Attrs: TypeAlias = Mapping[str, Hashable]
Avals: TypeAlias = tuple[Aval, ...]
_MEMO_LIMIT: Final = 1024
_serial: Callable[[], int] = itertools.count(1).__next__


class Op:
    """A function of arrays with its static arguments bound. Made by ``intern`` only.

    ``rule`` infers shapes without tracing, ``on_host`` evaluates on numpy arrays where programs
    are interpreted; both are optional and must agree with ``function``. ``calls_python`` says
    that running it may call back into Python, where ``rule`` keeps us from finding out.
    ``serial`` tells ops of equal names apart; it is 0 where the name and the arguments say it all
    (``unique``), so that an op that is forgotten and made again is spelled the same.
    ``closed``: operands of one abstract value give a result of that same abstract value.
    """

    __slots__ = (
        "__weakref__",
        "attrs",
        "call",
        "calls_python",
        "closed",
        "executables",
        "kind",
        "name",
        "on_host",
        "rule",
        "serial",
        "signatures",
        "trees",
    )

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        attrs: Attrs,
        *,
        rule: Rule | None = None,
        on_host: Callable[..., Any] | None = None,
        kind: IrKind = IrKind.OP,
        calls_python: bool = False,
        unique: bool = False,
    ) -> None:
        self.name = name
        self.serial = 0 if unique else _serial()
        self.attrs = dict(attrs)
        self.call = partial(function, **attrs) if attrs else function
        self.rule = rule
        self.closed = rule in (same, same_or_scalar)
        self.on_host = partial(on_host, **attrs) if on_host and attrs else on_host
        self.kind = kind
        self.calls_python = calls_python
        self.signatures: dict[Avals, Signature] = {}
        self.trees: dict[Avals, Any] = {}
        self.executables: dict[Avals, Callable[..., Array]] = {}

    def __repr__(self) -> str:
        inner = ", ".join(f"{name}={value!r}" for name, value in self.attrs.items())
        return f"{self.name}[{inner}]" if inner else self.name

    def signature(self, avals: Avals) -> Signature:
        """Abstract result for abstract operands; raises when they do not fit. Memoised."""
        found = self.signatures.get(avals)
        if found is None:
            found = self._infer(avals)
            remember(self.signatures, avals, found)
        return found

    def tree(self, avals: Avals) -> Any:
        """How the results for these operands nest (a JAX tree)."""
        if avals not in self.trees:
            remember(self.trees, avals, trace(self.call, avals)[1])
        return self.trees[avals]

    def _infer(self, avals: Avals) -> Signature:
        # truth values are no numbers: JAX knows what can be done with them
        ruled = self.rule is not None and all(aval.numeric for aval in avals)
        aval = self.rule(avals) if self.rule is not None and ruled else None
        if aval is not None:
            return Signature(aval, self.calls_python)
        found, tree = trace(self.call, avals)
        remember(self.trees, avals, tree)
        return found


def remember(memo: dict[Any, Any], key: Hashable, value: Any) -> None:
    """Add to a memo table that must not grow for ever."""
    if len(memo) >= _MEMO_LIMIT:
        memo.clear()
    memo[key] = value


_ops: WeakValueDictionary[Hashable, Op] = WeakValueDictionary()


def intern(name: str, function: Callable[..., Any], attrs: Attrs, **more: Any) -> Op:
    """The one ``Op`` of this function and these static arguments.

    Raises TypeError if the function or an argument can't be hashed.
    """
    key = (name, function, tuple((item, exact(attrs[item])) for item in sorted(attrs)))
    found = _ops.get(key)
    if found is None:
        found = _ops.setdefault(key, Op(name, function, attrs, **more))
    return found


def exact(value: Hashable) -> Hashable:
    """A stand-in that is equal only if the values are the same (1, 1.0 and True are not)."""
    if isinstance(value, tuple):
        return (type(value), tuple(map(exact, value)))
    if isinstance(value, float):
        return (type(value), value.hex())
    return (type(value), value)
