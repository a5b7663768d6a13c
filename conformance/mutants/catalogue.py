"""The catalogue of mutants: TOML files by subject, each entry one change of one function.

[[mutant]]
id = "M01"                        # never used twice
says = "donors are chosen though other tensors need them"
kind = "guard"                    # one of KINDS
file = "impl/donation.py"
function = "find_donors"          # qualified name in the file; "" is the whole file
old = "not in needed"             # text that occurs exactly once in the function
new = "is not None"
hazards = ["H-05"]                # optional: of semantics.md §6b
bugs = ["B01"]                    # optional: reports of the zoo
equivalent = "why nobody can see a difference"     # optional: then it must survive
"""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, fields
from importlib.resources import files
from typing import Any

KINDS: dict[str, str] = {
    "guard": "a condition under which a rule raises or returns early is dropped",
    "flag": "a setting of a call is flipped",
    "key": "an ingredient of the key is left out, or one too many is in it",
    "clearing": "a field that has to be cleared is kept, or one is cleared too much",
    "counter": "a counter, an id or a position is off",
    "lock": "something is done without waiting for the device, or holding it too long",
    "error": "an error is swallowed, told twice, or told to the wrong caller",
    "cache": "a rule of a cache is broken",
    "donation": "a buffer is given away that is needed, or kept that is not",
    "sharing": "two tensors share what each should have alone, or the other way round",
    "value": "an operation computes something else",
    "sharding": "an annotation, a piece or a load is not as it was asked for",
    "randomness": "the seed is used, advanced or reset in another way",
}
SUFFIX = ".toml"


class CatalogueError(ValueError):
    """An entry of the catalogue is not as it should be: where, what is wrong."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One lie."""

    id: str
    says: str
    kind: str
    file: str
    """The module that is changed: impl/… is the executor, spec/… the law."""
    function: str
    old: str
    new: str
    hazards: tuple[str, ...] = ()
    bugs: tuple[str, ...] = ()
    equivalent: str = ""
    """Why it is no lie: then it has to survive."""

    @property
    def room(self) -> str:
        """What lies: `impl` or `spec`."""
        return self.file.partition("/")[0]

    @property
    def module(self) -> str:
        """The import name of the file."""
        return f"markstep.{self.file.removesuffix('.py').replace('/', '.')}"


def read_catalogue() -> dict[str, Mutant]:
    """Every mutant by its id, in order of the ids. Raises CatalogueError."""
    mutants: dict[str, Mutant] = {}
    for source, text in shipped().items():
        for mutant in entries(source, text):
            if mutant.id in mutants:
                raise CatalogueError(f"{source}: {mutant.id} is there twice")
            mutants[mutant.id] = mutant
    return {id: mutants[id] for id in sorted(mutants, key=number)}


def number(id: str) -> int:
    """The place of a mutant in a list."""
    return int(id[1:])


def shipped() -> dict[str, str]:
    """The files of the catalogue: name → text."""
    here = files("markstep.conformance.mutants")
    names = sorted(entry.name for entry in here.iterdir() if entry.name.endswith(SUFFIX))
    return {name: (here / name).read_text(encoding="utf-8") for name in names}


def entries(source: str, text: str) -> Iterator[Mutant]:
    """The mutants of one file. Raises CatalogueError."""
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        what = str(error) if isinstance(error, ValueError) else "nested too deep"
        raise CatalogueError(f"{source}: not TOML: {what}") from None
    listed = table.pop("mutant", [])
    if table or not isinstance(listed, list):
        raise CatalogueError(f"{source}: holds nothing but [[mutant]]")
    for place, entry in enumerate(listed):
        yield _mutant(f"{source}: mutant[{place}]", entry)


LISTS = ("hazards", "bugs")
FIELDS = tuple(field.name for field in fields(Mutant))
MAY_BE_EMPTY = ("function", "new", "equivalent")


def _mutant(where: str, entry: dict[str, Any]) -> Mutant:
    where = f"{where} ({entry.get('id', 'no id')})"
    for name, value in entry.items():
        if name not in FIELDS:
            raise CatalogueError(f"{where}: unknown field {name!r}; known: {', '.join(FIELDS)}")
        texts = value if name in LISTS else [value]
        if not (isinstance(texts, list) and all(isinstance(text, str) for text in texts)):
            raise CatalogueError(f"{where}.{name}: not text")
        if not value and name not in MAY_BE_EMPTY:
            raise CatalogueError(f"{where}.{name}: is empty")
    try:
        given: dict[str, Any] = {
            name: tuple(v) if name in LISTS else v for name, v in entry.items()
        }
        mutant = Mutant(**given)
    except TypeError as error:
        raise CatalogueError(f"{where}: {error}") from None
    if not (mutant.id[:1] == "M" and mutant.id[1:].isdigit()):
        raise CatalogueError(f"{where}.id: is not like M01")
    if mutant.kind not in KINDS:
        raise CatalogueError(f"{where}.kind: {mutant.kind!r}; known: {', '.join(KINDS)}")
    if not (mutant.room in ("impl", "spec") and mutant.file.endswith(".py")):
        raise CatalogueError(f"{where}.file: {mutant.file!r} is no module of impl/ or spec/")
    return mutant
