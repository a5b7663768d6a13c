"""The command line: `markstep run | replay | monitor | explore | refine | prove | threads | …`.

Here are only the verbs with their options; what they do is imported when a verb is called, so that
`--help` is fast. A mistake of the user is one line on standard error and no traceback.
"""

import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from cyclopts import App, CycloptsError, Parameter, Token

from markstep.conformance.cli.outputs import Outputs, Reported
from markstep.conformance.cli.usage import UsageError, complain, reader_may_leave
from markstep.conformance.exit_codes import ExitCode
from markstep.spec import SPEC_VERSION

EPILOGUE = (
    "Exit codes: 0 conforms, 1 violates, 2 usage, 3 inconclusive, 4 adapter or harness error, "
    "5 nothing was checked or a witness was never seen, 130 interrupted."
)


def whole(kind: object, tokens: Sequence[Token]) -> int:
    """A whole number as it is written: 1.5 is none. Raises ValueError."""
    text = tokens[0].value
    if not re.fullmatch(r"[+-]?[0-9]{1,30}", text):
        raise ValueError(f"{text!r} is not a whole number")
    return int(text)


app = App(
    name="markstep",
    help="The executable specification of lazy tensor execution, and a court for executors.",
    help_epilogue=EPILOGUE,
    version=SPEC_VERSION,
    help_format="plaintext",  # markdown would double the time of --help
    result_action="return_value",
)

Out = Annotated[Path, Parameter(help="Directory for the traces of failures.")]
Design = Annotated[str, Parameter(help="The design to hold to; see `markstep list designs`.")]
OUT = Path("markstep-out")


@app.command
def run(
    *,
    adapter: Annotated[str, Parameter(help="Name, or module:attribute.")] = "reference",
    design: Design = "sound",
    profile: Annotated[str, Parameter(help="tiny, small or standard: how much.")] = "small",
    seed: Annotated[
        int | None, Parameter(converter=whole, help="Default: random, and printed; 0 if CI is set.")
    ] = None,
    known: Annotated[
        list[str] | None,
        Parameter(help="A list of known failures: shipped, or a TOML file.", negative=""),
    ] = None,
    strict: Annotated[
        bool, Parameter(help="A known failure that does not fail any more fails.", negative="")
    ] = False,
    out: Out = OUT,
    reported: Reported = None,
) -> ExitCode:
    """Hold an executor to the law: the suite and generated programs, in lockstep."""
    from markstep.conformance.cli.verbs import run_verb

    outputs = with_traces(reported, out)
    return run_verb(adapter, design, profile, seed, outputs, known or [], strict)


@app.command
def replay(
    first: Annotated[str, Parameter(name="TRACE", help="Trace files or directories of them.")],
    /,
    *more: Annotated[str, Parameter(show=False)],
    adapter: Annotated[
        str | None, Parameter(help="The executor to compare; default: the law alone.")
    ] = None,
    design: Annotated[str | None, Parameter(help="Default: the design of the trace.")] = None,
    reported: Reported = None,
) -> ExitCode:
    """Run the programs of trace files again: by the law alone, or in lockstep."""
    from markstep.conformance.cli.verbs import replay_verb

    return replay_verb([first, *more], adapter, design, reported or Outputs())


@app.command
def monitor(
    first: Annotated[str, Parameter(name="LOG", help="Logs, directories of them, or globs.")],
    /,
    *more: Annotated[str, Parameter(show=False)],
    design: Design = "torch_xla_2_9",
    explained_by: Annotated[
        str | None, Parameter(help="The design of the recorded system; default: what the log says.")
    ] = None,
    out: Out = OUT,
    reported: Reported = None,
) -> ExitCode:
    """Check that the law predicts every observation of recorded logs, or which claims they break.

    Under the design of the recorded system, every step must be explained.
    Under any other, the claims that the system breaks are listed, each with
    the shortest prefix of a log that breaks it.
    """
    from markstep.conformance.cli.verbs import monitor_verb

    return monitor_verb([first, *more], design, explained_by, with_traces(reported, out))


@app.command
def explore(
    *,
    design: Design = "sound",
    records: Annotated[int, Parameter(converter=whole, help="At most so many live records.")] = 2,
    buffers: Annotated[
        int, Parameter(converter=whole, help="At most so many buffer records in use.")
    ] = 3,
    actions: Annotated[
        int | None,
        Parameter(converter=whole, help="At most so many program actions and failures on a path."),
    ] = None,
    syncs: Annotated[
        int | None, Parameter(converter=whole, help="At most so many calls on a path.")
    ] = None,
    families: Annotated[
        list[str] | None, Parameter(help="Only these groups of actions; default: all.", negative="")
    ] = None,
    max_states: Annotated[
        int, Parameter(converter=whole, help="Stop there; then inconclusive.")
    ] = 2_000_000,
    max_memory: Annotated[
        int, Parameter(converter=whole, help="Stop at so many MiB; then inconclusive.")
    ] = 8_000,
    processes: Annotated[
        int,
        Parameter(converter=whole, help="Processes that search; the result does not depend on it."),
    ] = 1,
    claim: Annotated[
        list[str] | None, Parameter(help="Only these invariants.", negative="")
    ] = None,
    emit_tests: Annotated[
        Path | None, Parameter(help="Write programs that take every step found to this directory.")
    ] = None,
    checkpoint: Annotated[
        Path | None, Parameter(help="Save the search to this file, also on Ctrl-C.")
    ] = None,
    resume: Annotated[
        Path | None, Parameter(help="Go on with the search that was saved in this file.")
    ] = None,
    write: Annotated[
        Path | None, Parameter(help="Write the result as a page of the manual to this file.")
    ] = None,
    out: Out = OUT,
    reported: Reported = None,
) -> ExitCode:
    """Visit every reachable state up to a bound; shortest counterexample of what fails."""
    from markstep.conformance.cli.verbs import explore_verb

    limits = {
        "records": records,
        "buffers": buffers,
        "actions": actions,
        "syncs": syncs,
        "max_states": max_states,
        "max_memory": max_memory,
        "processes": processes,
    }
    paths = {"checkpoint": checkpoint, "resume": resume, "emit": emit_tests, "page": write}
    outputs = with_traces(reported, out)
    return explore_verb(design, limits, families or [], claim or [], paths, outputs)


@app.command
def refine(
    x: Annotated[str, Parameter(name="X", help="The design that is asked about.")],
    y: Annotated[
        str, Parameter(name="Y", help="The design to compare with, or `contract`: eager execution.")
    ],
    /,
    *,
    records: Annotated[int, Parameter(converter=whole, help="At most so many live records.")] = 2,
    buffers: Annotated[
        int, Parameter(converter=whole, help="At most so many buffer records in use under X.")
    ] = 3,
    actions: Annotated[
        int,
        Parameter(converter=whole, help="At most so many actions of a program, with failures."),
    ] = 4,
    families: Annotated[
        list[str] | None, Parameter(help="Only these groups of actions; default: all.", negative="")
    ] = None,
    never: Annotated[
        list[str] | None, Parameter(help="Only programs to which this never happens.", negative="")
    ] = None,
    conditions: Annotated[
        bool, Parameter(help="Find what must never happen, at least.", negative="")
    ] = False,
    max_states: Annotated[
        int, Parameter(converter=whole, help="Stop there; then inconclusive.")
    ] = 2_000_000,
    write: Annotated[
        Path | None, Parameter(help="Write the conditions as a page of the manual to this file.")
    ] = None,
    out: Out = OUT,
    reported: Reported = None,
) -> ExitCode:
    """Run every program up to a bound under two designs: shortest one that differs to a user."""
    from markstep.conformance.cli.verbs import refine_verb

    limits: dict[str, int | None] = {
        "records": records,
        "buffers": buffers,
        "actions": actions,
        "max_states": max_states,
    }
    outputs, designs = with_traces(reported, out), (x, y)
    return refine_verb(designs, limits, families or [], never or [], conditions, write, outputs)


@app.command
def prove(
    *claims: Annotated[str, Parameter(name="CLAIM", help="Invariants; default: all.")],
    design: Design = "sound",
    records: Annotated[int, Parameter(converter=whole, help="At most so many live records.")] = 2,
    buffers: Annotated[
        int, Parameter(converter=whole, help="At most so many buffer records in use.")
    ] = 3,
    by: Annotated[str, Parameter(help="z3, or enumeration of the states that matter.")] = "z3",
    write: Annotated[Path | None, Parameter(help="Write the verdicts as Markdown.")] = None,
) -> ExitCode:
    """Prove invariants by induction over every state within a bound on rows."""
    from markstep.conformance.cli.proving import prove_verb
    from markstep.conformance.cli.verbs import the_design

    return prove_verb(the_design(design), claims, records, buffers, by, write)


@app.command
def threads(
    *,
    programs: Annotated[int, Parameter(converter=whole, help="So many programs.")] = 100,
    interruptions: Annotated[
        int | None,
        Parameter(converter=whole, help="At most so many in an order; see also --all."),
    ] = 1,
    every: Annotated[
        bool, Parameter(name="--all", help="Every order, whatever its interruptions.", negative="")
    ] = False,
    seed: Annotated[int, Parameter(converter=whole, help="Number of the first program.")] = 0,
    order: Annotated[
        str | None, Parameter(help="Play this order of that program once more.")
    ] = None,
    stress: Annotated[float, Parameter(help="Then free threads for so many seconds.")] = 0,
) -> ExitCode:
    """Play programs of two threads in every order: the law must explain what they see."""
    from markstep.conformance.cli.interleaving import Amount, threads_verb

    bound = None if every else interruptions
    return threads_verb(Amount(programs, seed, bound, stress), order)


@app.command(name="list")
def list_(
    what: Annotated[
        str | None, Parameter(help="actions, claims, designs, adapters or profiles; default: all.")
    ] = None,
    /,
    *,
    json: Annotated[bool, Parameter(help="As JSON on standard output.", negative="")] = False,
) -> ExitCode:
    """List what there is: actions, claims, designs, adapters, profiles."""
    from markstep.conformance.cli.listing import list_verb

    return list_verb(what, json)


@app.command
def bench(
    *,
    json: Annotated[
        Path | None, Parameter(name="--json", help="Write the figures as JSON to this file.")
    ] = None,
) -> ExitCode:
    """Measure the reference executor against direct calls of the same programs."""
    from markstep.conformance.cli.verbs import bench_verb

    return bench_verb(json)


def with_traces(reported: Outputs | None, out: Path) -> Outputs:
    """Where the report goes, and the traces of its failures."""
    return replace(reported or Outputs(), out=out)


def main(arguments: list[str] | None = None) -> None:
    """The console script."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    code = code_of(lambda: call(arguments))
    with reader_may_leave():
        sys.stdout.flush()
    sys.exit(int(code))


def call(arguments: list[str] | None = None) -> ExitCode:
    """Parse the command line and do what it says."""
    code = app(arguments, exit_on_error=False, print_error=False)
    return code if isinstance(code, ExitCode) else ExitCode.CONFORMS


def code_of(verb: Callable[[], ExitCode]) -> ExitCode:
    """The exit code of a verb; what it raises becomes one line."""
    try:
        return verb()
    except KeyboardInterrupt:
        complain("interrupted")
        return ExitCode.INTERRUPTED
    except (CycloptsError, UsageError) as error:
        complain(str(error) if isinstance(error, UsageError) else unparsed(error))
        return ExitCode.USAGE
    except Exception as error:
        if os.environ.get("MARKSTEP_TRACEBACK"):
            raise
        complain(internal(error))
        return ExitCode.ERROR


def unparsed(error: CycloptsError) -> str:
    """What is wrong with the command line, and where to look."""
    verb = error.command_chain[0] if error.command_chain else ""
    look = " ".join(filter(None, ("markstep", verb, "--help")))
    return f"command line: {str(error).rstrip('.')}; see `{look}`"


def internal(error: Exception) -> str:
    """A line for what should not happen."""
    from markstep.conformance.adapter import AdapterError

    if isinstance(error, AdapterError):
        return f"adapter: {error}"
    what = f"{type(error).__name__}: {error}"
    return f"internal error: {what}; set MARKSTEP_TRACEBACK=1 for the traceback and report it"
