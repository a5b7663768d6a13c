"""What the options of pytest ask for, and a program in lockstep for tests of one's own."""

from collections.abc import Callable, Sequence

import pytest

from markstep.conformance.adapter import AdapterError, Factory, load, make
from markstep.conformance.claims import ClaimWatch
from markstep.conformance.cli.usage import UsageError, pick
from markstep.conformance.lockstep.session import ProgramResult, run_program
from markstep.conformance.show import show_program
from markstep.conformance.verdict import Verdict
from markstep.spec.design import Design
from markstep.spec.named_designs import DESIGNS
from markstep.spec.vocabulary import Action


def the_design(config: pytest.Config) -> Design:
    """The design of --markstep-design."""
    option = "--markstep-design"
    return DESIGNS[picked(option, str(config.getoption(option)), list(DESIGNS), "design")]


def picked(option: str, name: str, known: Sequence[str], kind: str) -> str:
    """A known name, or a mistake of the user."""
    try:
        return pick(option, name, known, kind)
    except UsageError as error:
        raise pytest.UsageError(str(error)) from error


def the_adapter(name: str) -> Factory:
    """The adapter of a name, or a mistake of the user."""
    try:
        return load(name)
    except AdapterError as error:
        raise pytest.UsageError(f"--markstep-adapter: {error}") from error


def lockstep(config: pytest.Config) -> Callable[..., None]:
    """What the fixture `markstep_lockstep` gives."""
    design = the_design(config)

    def play(program: Sequence[Action], adapter: str | Factory | None = None) -> None:
        chosen = adapter or config.getoption("--markstep-adapter")
        if chosen is None:
            pytest.fail("markstep_lockstep: no adapter; give --markstep-adapter", pytrace=False)
        try:
            executor = make(load(chosen) if isinstance(chosen, str) else chosen, design)
        except AdapterError as error:
            pytest.fail(f"markstep_lockstep: {error}", pytrace=False)
        try:
            judge(run_program(tuple(program), executor, design, ClaimWatch(())))
        finally:
            executor.close()

    return play


def judge(result: ProgramResult) -> None:
    """Fail or skip as a program ended."""
    if result.verdict == Verdict.UNSUPPORTED:
        pytest.skip(result.message)
    if result.verdict != Verdict.CONFORMS:
        pytest.fail(told(result), pytrace=False)


def told(result: ProgramResult) -> str:
    """A program that failed, in a few lines."""
    found = result.divergence
    lines = [show_program(result.program, result.step)]
    if found is None:
        return "\n".join([f"the executor broke: {result.message}", *lines])
    lines += [f"changed   {line}" for line in found.changed]
    lines += [f"expected  {found.expected}", f"observed  {found.observed}"]
    return "\n".join([f"{found.id}: {found.statement}", *lines])
