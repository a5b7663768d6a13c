"""The page of the actions."""

import dataclasses
import inspect
from typing import get_args

from tables import flat, table

from markstep.spec import vocabulary
from markstep.spec.machine import ENVIRONMENT


def actions_page() -> str:
    """The page of the actions, in the order of their ids."""
    rows = sorted(map(describe_action, get_args(vocabulary.Action)))
    ends = [kind.__name__ for kind in ENVIRONMENT]
    program = [row for row in rows if row[1] not in ends]
    environment = [row for row in rows if row[1] in ends]
    return (
        "# Actions\n\n"
        "What a program and its environment can do. Every action is a class of\n"
        "`markstep.spec.vocabulary`; the fields are those of the class.\n\n"
        "## Of the program\n\n" + action_table(program) + "\n"
        "## Of the environment\n\n"
        "Whether and when these happen is not the program's choice. In a trace they are actions\n"
        "like the others, so the schedule can be replayed.\n\n" + action_table(environment) + "\n"
        "## Ops\n\n"
        "Ops that `Apply` and `AssignInPlace` take:\n\n" + op_table() + "\n"
        "## Observations\n\n"
        "An action ends with an error of one of these kinds, or with `none`. Texts of errors\n"
        "differ between executors and are not compared.\n\n" + error_list() + "\n"
        "This page does not say what an action does to the state: the rules do.\n"
    )


def describe_action(action: type) -> tuple[str, str, str, str]:
    """Id, name, fields and sentence of an action class."""
    number, _, sentence = (inspect.getdoc(action) or "").partition(": ")
    if not (number[:1] == "A" and number[1:].isdigit() and sentence):
        raise SystemExit(
            f"{action.__name__}: the docstring does not begin with an id, as in 'A01: …'"
        )
    fields = ", ".join(map(describe_field, dataclasses.fields(action)))
    return number, action.__name__, fields, flat(sentence)


def describe_field(field: "dataclasses.Field[object]") -> str:
    """Name of a field, with its default if it has one."""
    if field.default is dataclasses.MISSING:
        return f"`{field.name}`"
    default = str(field.default) if isinstance(field.default, str) else repr(field.default)
    return f"`{field.name} = {default}`"


def action_table(rows: list[tuple[str, str, str, str]]) -> str:
    return table(
        ("id", "action", "fields", "what"),
        [(f'<a id="{number}"></a>{number}', f"`{name}`", f, s) for number, name, f, s in rows],
    )


def op_table() -> str:
    kinds = {
        "one tensor": vocabulary.UNARY_OPS,
        "two tensors": vocabulary.BINARY_OPS,
        "a tensor and a number": vocabulary.SCALAR_OPS,
        "one tensor, and fails": vocabulary.FAULTY_OPS,
    }
    return table(
        ("takes", "ops"),
        [(kind, ", ".join(f"`{op}`" for op in ops)) for kind, ops in kinds.items()],
    )


def error_list() -> str:
    kinds = [f"`{kind.value}`" for kind in vocabulary.ErrorKind if kind.value != "none"]
    return ", ".join(kinds) + ".\n"
