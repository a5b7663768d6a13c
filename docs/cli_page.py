"""The page of the command line: every verb with its options and examples, read from the verbs."""

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_type_hints

from cyclopts import Parameter

from markstep.conformance.cli.app import EPILOGUE, EXAMPLES
from markstep.conformance.cli.outputs import Outputs

HEAD = "| option | takes | default | what |\n|---|---|---|---|\n"
TAKES = {int: "number", float: "number", Path: "path", str: "text", bool: ""}


def cli_page() -> str:
    """The page."""
    verbs = "\n".join(map(section, EXAMPLES))
    shared = "".join(rows(Outputs, Outputs))
    return (
        "# Command line\n\n"
        "Every verb with its options. `markstep VERB --help` says the same.\n\n"
        f"{verbs}\n## Options of a report\n\n"
        "The verbs that end with a report write it to files, too, completely or not at all:\n\n"
        f"{HEAD}{shared}\n"
        f"## Exit codes\n\n{EPILOGUE.removeprefix('Exit codes: ')} [More](exit-codes.md).\n"
    )


def section(verb: Callable[..., Any]) -> str:
    """One verb."""
    name = verb.__name__.rstrip("_")
    about = " ".join((inspect.getdoc(verb) or "").split())
    listed = "".join(rows(verb, verb))
    table = f"{HEAD}{listed}\n" if listed else ""
    hints = get_type_hints(verb, include_extras=True)
    report = "reported" in hints
    more = "It takes the [options of a report](#options-of-a-report).\n\n" if report else ""
    examples = "".join(f"{example}\n" for example in EXAMPLES[verb])
    return f"## {name}\n\n{about}\n\n{table}{more}```sh\n{examples}```\n"


def rows(owner: Any, signed: Callable[..., Any]) -> Iterator[str]:
    """The rows of the options of a verb, or of a class of options."""
    hints = get_type_hints(owner, include_extras=True)
    for given in inspect.signature(signed).parameters.values():
        kind, *extra = get_args(hints[given.name]) or (hints[given.name],)
        about = next((one for one in extra if isinstance(one, Parameter)), Parameter())
        if given.name == "reported" or about.parse is False or about.show is False:
            continue
        named = f"`{option(given, about)}`"
        default = f"`{given.default}`" if has_default(given) else ""
        help = (about.help or "").replace("|", "\\|")
        yield f"| {named} | {takes(kind)} | {default} | {help} |\n"


def option(given: inspect.Parameter, about: Parameter) -> str:
    """The name on the command line."""
    for name in about.name or ():
        return name
    loose = given.kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL)
    return given.name.upper() if loose else f"--{given.name.replace('_', '-')}"


def has_default(given: inspect.Parameter) -> bool:
    """Whether there is a default worth showing."""
    return given.default not in (inspect.Parameter.empty, None, False)


def takes(kind: Any) -> str:
    """What an option takes."""
    inner = [one for one in get_args(kind) if one is not NoneType]
    if kind is bool or bool in inner:
        return ""
    if any(str(one).startswith("list") for one in (kind, *inner)):
        return "text, several times"
    return next((TAKES[one] for one in (kind, *inner) if one in TAKES), "text")
