"""The command line: `markstep run | replay | monitor | record | show | list | bench`, and searches.

Here are only the verbs with their options; what they do is imported when a verb is called, so that
`--help` is fast. A mistake of the user is one line on standard error and no traceback.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, CycloptsError, Parameter, UnknownCommandError

from markstep.conformance.cli.interrupts import interruptible
from markstep.conformance.cli.options import OUT, Design, Out, whole, with_traces
from markstep.conformance.cli.outputs import Outputs, Reported
from markstep.conformance.cli.searches import designs, explore, mutants, prove, refine, threads
from markstep.conformance.cli.usage import (
    UsageError,
    complain,
    open_streams,
    pick,
    reader_may_leave,
)
from markstep.conformance.exit_codes import ExitCode, worst
from markstep.spec import SPEC_VERSION

RECORDED = OUT / "recorded.jsonl.gz"
EPILOGUE = (
    "Exit codes: 0 conforms, 1 violates, 2 usage, 3 inconclusive, 4 adapter or harness error, "
    "5 nothing was checked or a witness was never seen, 130 interrupted."
)


app = App(
    name="markstep",
    help="The executable specification of lazy tensor execution, and a court for executors.",
    help_epilogue=EPILOGUE,
    version=SPEC_VERSION,
    help_format="plaintext",  # markdown would double the time of --help
    result_action="return_value",
    suppress_keyboard_interrupt=False,  # it is said in one line, as everything is
)


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


def record(
    *program: Annotated[
        str, Parameter(name="PROGRAM", help="After --: python, a script, its arguments.")
    ],
    log: Annotated[Path, Parameter(help="The file to write, for `markstep monitor`.")] = RECORDED,
    reported: Reported = None,
) -> ExitCode:
    """Run a PyTorch program on torch_xla, write down what it does, and report hazards."""
    from markstep.conformance.cli.recording import record_verb

    return record_verb(list(program), log, reported or Outputs())


def show(
    trace: Annotated[Path, Parameter(name="TRACE", help="A trace file.")],
    /,
    *,
    step: Annotated[
        int | None,
        Parameter(converter=whole, help="Everything about this step; default: all, by diff."),
    ] = None,
    design: Annotated[str | None, Parameter(help="Default: the design of the trace.")] = None,
    html: Annotated[
        Path | None, Parameter(help="Write a page to walk through the trace with the keyboard.")
    ] = None,
) -> ExitCode:
    """Show a trace step by step: what changed, what broke, what could happen next."""
    from markstep.conformance.cli.showing import show_verb

    return show_verb(trace, step, design, html)


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


def bench(
    *,
    html: Annotated[
        Path | None,
        Parameter(help="Measure a step against its size instead, on all executors; as a page."),
    ] = None,
    json: Annotated[
        Path | None, Parameter(name="--json", help="Write the figures as JSON to this file.")
    ] = None,
) -> ExitCode:
    """Measure the reference executor against direct calls of the same programs."""
    from markstep.conformance.cli.verbs import bench_verb

    return bench_verb(json, html)


def completion(
    shell: Annotated[str, Parameter(name="SHELL", help="bash, zsh or fish.")], /
) -> ExitCode:
    """Print a script with which a shell completes verbs and options."""
    name: Any = pick("completion", shell, ("bash", "zsh", "fish"), "shell")
    with reader_may_leave():
        print(app.generate_completion(shell=name))
    return ExitCode.CONFORMS


EXAMPLES: dict[Callable[..., ExitCode], tuple[str, ...]] = {
    run: (
        "markstep run --adapter model --profile tiny",
        "markstep run --adapter model --profile tiny --seed 3 --html report.html",
    ),
    replay: ("markstep replay markstep-out --adapter model",),
    monitor: ("markstep monitor logs --design torch_xla_2_9 --junit-xml logs.xml",),
    record: ("markstep record -- python train.py",),
    explore: (
        "markstep explore --actions 3 --records 1",
        "markstep explore --design torch_xla_2_9 --actions 2 --html states.html",
    ),
    refine: ("markstep refine torch_xla_2_9 sound --actions 2",),
    prove: ("markstep prove I15 I40",),
    designs: ("markstep designs --actions 2", "markstep designs --actions 2 --html table.html"),
    threads: ("markstep threads --programs 3",),
    mutants: ("markstep mutants --only M64 --detector random",),
    show: (
        "markstep show trace.itf.json --step 2",
        "markstep show trace.itf.json --html walk.html",
    ),
    list_: ("markstep list designs",),
    bench: ("markstep bench --json figures.json", "markstep bench --html steps.html"),
    completion: ("markstep completion bash",),
}
"""The verbs, in the order in which help lists them, each with commands to try."""

for verb, examples in EXAMPLES.items():
    shown = "\n".join(["Examples:", *(f"  {example}" for example in examples)])
    app.command(verb, name=verb.__name__.rstrip("_"), help_epilogue=f"{shown}\n\n{EPILOGUE}")


def main(arguments: list[str] | None = None) -> None:
    """A command line, as code of somebody else may run it."""
    sys.exit(int(run_to_code(arguments)))


def run_to_code(arguments: list[str] | None = None) -> ExitCode:
    """Do what a command line says, to the end of its output."""
    open_streams()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    with interruptible():
        return worst([code_of(lambda: call(arguments)), code_of(written)])


def written() -> ExitCode:
    """Whatever was printed is where it belongs. Raises UsageError."""
    with reader_may_leave():
        return ExitCode.CONFORMS


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
    said = str(error)
    if isinstance(error, UnknownCommandError):  # cyclopts names the first eight
        said = f"{said.partition(' Available commands')[0]} Available commands: {verbs()}"
    return f"command line: {said.rstrip('.')}; see `{look}`"


def verbs() -> str:
    """The names of all verbs."""
    return ", ".join(verb.__name__.rstrip("_") for verb in EXAMPLES)


def internal(error: Exception) -> str:
    """A line for what should not happen."""
    from markstep.conformance.adapter import AdapterError

    if isinstance(error, AdapterError):
        return f"adapter: {error}"
    what = f"{type(error).__name__}: {error}"
    return f"internal error: {what}; set MARKSTEP_TRACEBACK=1 for the traceback and report it"
