"""`markstep explore --engine`: what a search needs of the machine, and the search itself."""

from collections.abc import Callable
from typing import Protocol, TypeAlias

from markstep.conformance.cli.interrupts import Interrupts
from markstep.conformance.cli.searchfiles import Keeper, SearchFiles, Tell
from markstep.conformance.cli.usage import UsageError
from markstep.spec.design import Design
from markstep.spec.search.alphabet import Bound
from markstep.spec.search.checkpoint import law
from markstep.spec.search.estimate import estimated_nodes
from markstep.spec.search.explore import go_on
from markstep.spec.search.search import Exploration, Search

ENGINES = ("rules", "numpy", "jax", "c")
RULES = ENGINES[0]


class Searched(Protocol):
    """A search, whatever runs its steps."""

    result: Exploration

    @property
    def nodes(self) -> int:
        """What is known of the space."""

    @property
    def expanded(self) -> int:
        """What was expanded of it."""


Watch: TypeAlias = Callable[[Searched], bool]


def check_engine(engine: str, files: SearchFiles, bound: Bound, design: Design) -> None:
    """Fail before the work. Raises UsageError, and NoCompiler where a compiler is needed."""
    if engine == RULES:
        return
    for option, path in (
        ("--checkpoint", files.checkpoint),
        ("--resume", files.resume),
        ("--emit-tests", files.emit),
        ("--html", files.html),
    ):
        if path is not None:
            what = f"the engine {engine} does not keep what this needs"
            raise UsageError(option, what, "leave it out, or give --engine rules")
    for family, mode in (("sharding", "SPMD"), ("eager", "eager")):
        if family in bound.families:
            what = f"the engine {engine} knows no {mode} mode"
            raise UsageError(f"--families {family}", what, "leave it out, or give --engine rules")
    from markstep.spec.compiled.engines import TooLarge, check_size

    try:
        check_size(design, bound)
    except TooLarge as error:
        raise UsageError("--buffers", str(error), "give less, or --engine rules") from error
    if engine == "c":
        from markstep.spec.compiled.on_c import compiler

        compiler()


def search_with(
    engine: str,
    design: Design,
    bound: Bound,
    files: SearchFiles,
    tell: Tell,
    interrupts: Interrupts,
) -> Searched:
    """Search until everything is visited, a limit is reached, or somebody interrupts."""

    def watch(search: Searched) -> bool:
        nodes = estimated_nodes(search.result.levels, bound.actions)
        tell(search.expanded, None if nodes is None else max(nodes, search.nodes))
        return interrupts.asked

    law()  # as the text is now: it may be edited while the search runs
    if engine == RULES:
        return search_by_rules(design, bound, files, watch, lambda: interrupts.asked)
    from markstep.spec.compiled.engines import Engine, explore_with

    return explore_with(Engine(engine), design, bound, watch)


def search_by_rules(
    design: Design, bound: Bound, files: SearchFiles, watch: Watch, stop: Callable[[], bool]
) -> Search:
    """The search that can be kept in a file."""
    search, keep = files.begin(design, bound), Keeper(files)

    def watch_and_keep(search: Search) -> bool:
        stops = watch(search)
        keep(search)
        return stops

    go_on(search, watch_and_keep, stop)
    files.keep(search)
    return search
