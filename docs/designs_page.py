"""The page of the design's fields, and of the named designs."""

import ast
import dataclasses
import inspect
import re
from enum import Enum
from types import ModuleType

from tables import code, flat, table

from markstep.spec import design
from markstep.spec.named_designs import DESIGNS


def designs_page() -> str:
    """The page of the design's fields, and of the named designs."""
    texts = attribute_docs(design)
    described = [
        describe_choice(field, texts["Design"].get(field.name, ""))
        for field in dataclasses.fields(design.Design)
        if field.name != "name"
    ]
    values = "".join(
        f"### {enum.__name__}\n\n{flat(inspect.getdoc(enum) or '')}\n\n"
        + table(
            ("value", "means"),
            [(f"`{m.value}`", flat(texts[enum.__name__].get(m.name, ""))) for m in enum],
        )
        + "\n"
        for enum in choice_types()
    )
    return (
        "# Designs\n\n"
        f"{flat(inspect.getdoc(design.Design) or '')}\n"
        "The default of every field is the choice of the design `sound`.\n\n"
        "## Fields\n\n" + table(("id", "field", "default", "what"), described) + "\n"
        "## Values\n\n" + values + "## Named designs\n\n" + named_designs() + "\n"
        "This page does not say which invariants hold under a design.\n"
    )


def describe_choice(field: "dataclasses.Field[object]", text: str) -> tuple[str, str, str, str]:
    """Id, name, default and meaning of a field of the design."""
    number, _, meaning = flat(text).partition(": ")
    if not re.fullmatch(r"D\d\d", number):
        raise SystemExit(f"Design.{field.name}: the text under it does not begin with an id")
    if isinstance(field.default, Enum):
        kind = type(field.default)
        meaning = meaning or f"{flat(inspect.getdoc(kind) or '')} See {kind.__name__}."
    return f'<a id="{number}"></a>{number}', f"`{field.name}`", code(field.default), meaning


def named_designs() -> str:
    """For each named design: how it differs from the first one, or from one close to it."""
    rows, earlier = [], list[design.Design]()
    for one in DESIGNS.values():
        near = min(earlier, key=lambda other: len(design.differences(one, other)), default=None)
        changes = design.differences(one, near) if near else {}
        text = ", ".join(f"`{name}` = {code(pair[0])}" for name, pair in changes.items())
        rows.append((f"`{one.name}`", f"`{near.name}`" if near else "", text))
        earlier.append(one)
    return table(("design", "is like", "but for"), rows)


def choice_types() -> list[type[Enum]]:
    """The enums that fields of the design take, in their order."""
    defaults = (field.default for field in dataclasses.fields(design.Design))
    return list(dict.fromkeys(type(value) for value in defaults if isinstance(value, Enum)))


def attribute_docs(module: ModuleType) -> dict[str, dict[str, str]]:
    """Per class of the module: the text that stands under each attribute."""
    found: dict[str, dict[str, str]] = {}
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.ClassDef):
            pairs = zip(node.body, node.body[1:], strict=False)
            found[node.name] = {
                name: str(after.value.value)
                for before, after in pairs
                if (name := assigned_name(before))
                and isinstance(after, ast.Expr)
                and isinstance(after.value, ast.Constant)
            }
    return found


def assigned_name(node: ast.stmt) -> str:
    """The name that a statement of a class body defines, or nothing."""
    if isinstance(node, ast.Assign):
        target = node.targets[0]
    elif isinstance(node, ast.AnnAssign):
        target = node.target
    else:
        return ""
    return target.id if isinstance(target, ast.Name) else ""
