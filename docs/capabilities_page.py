"""The page of the capabilities, read from the adapter protocol."""

import ast
import inspect
from collections.abc import Iterator
from itertools import pairwise

from markstep.conformance import adapter


def capabilities_page() -> str:
    """The page."""
    promises = dict(stated())
    lines = [f"| `{word}` | {promises[word]} |\n" for word in sorted(adapter.ALL_CAPABILITIES)]
    return (
        "# Capabilities\n\n"
        "What an [adapter](adapters.md) declares in `capabilities`. A program that needs a word\n"
        "which is not declared gets the verdict *unsupported*.\n\n"
        f"| capability | what it promises |\n|---|---|\n{''.join(lines)}"
    )


def stated() -> Iterator[tuple[str, str]]:
    """Each word with the actions that need it, or with what stands under its constant."""
    for word in adapter.NEEDS.values():
        kinds = [f"`{kind.__name__}`" for kind, needed in adapter.NEEDS.items() if needed == word]
        yield word, f"the action{'s' if len(kinds) > 1 else ''} {', '.join(kinds)}"
    statements = ast.parse(inspect.getsource(adapter)).body
    for before, after in pairwise(statements):
        match before, after:
            case ast.Assign([ast.Name(name)]), ast.Expr(ast.Constant(str(text))):
                word = getattr(adapter, name)
                if isinstance(word, str) and word in adapter.ALL_CAPABILITIES:
                    yield word, " ".join(text.replace("``", "`").split())
