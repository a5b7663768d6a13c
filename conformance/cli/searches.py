"""The verbs that search: every state, every program, every proof, every order of two threads."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from markstep.conformance.cli.options import OUT, Design, Out, whole, with_traces
from markstep.conformance.cli.outputs import Reported
from markstep.conformance.exit_codes import ExitCode


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
    engine: Annotated[
        str, Parameter(help="rules, or code that is made of them: numpy, jax, c (fast).")
    ] = "rules",
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
    return explore_verb(design, limits, families or [], claim or [], paths, outputs, engine)


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


def prove(
    *claims: Annotated[str, Parameter(name="CLAIM", help="Invariants; default: all.")],
    design: Design = "sound",
    records: Annotated[int, Parameter(converter=whole, help="At most so many live records.")] = 2,
    buffers: Annotated[
        int, Parameter(converter=whole, help="At most so many buffer records in use.")
    ] = 3,
    mode: Annotated[
        list[str] | None,
        Parameter(help="What may be on: spmd, eager, random; default: nothing.", negative=""),
    ] = None,
    by: Annotated[str, Parameter(help="z3, or enumeration of the states that matter.")] = "z3",
    write: Annotated[Path | None, Parameter(help="Write the verdicts as Markdown.")] = None,
) -> ExitCode:
    """Prove invariants by induction over every state within a bound on rows."""
    from markstep.conformance.cli.proving import prove_verb
    from markstep.conformance.cli.verbs import the_design

    sizes = (records, buffers)
    return prove_verb(the_design(design), claims, sizes, tuple(mode or ()), by, write)


def mutants(
    *,
    only: Annotated[
        list[str] | None, Parameter(help="Only these mutants, as M07; default: all.", negative="")
    ] = None,
    detector: Annotated[
        list[str] | None,
        Parameter(help="random,scenarios,zoo,logs,explorer,prover; default: all.", negative=""),
    ] = None,
    profile: Annotated[str, Parameter(help="How much a random run does.")] = "standard",
    seed: Annotated[int, Parameter(converter=whole, help="Of random runs.")] = 0,
    budget: Annotated[
        float, Parameter(help="Seconds for one mutant and one detector; then undecided.")
    ] = 60.0,
    processes: Annotated[
        int, Parameter(converter=whole, help="Trials at a time, each in a process of its own.")
    ] = 2,
    logs: Annotated[
        Path | None, Parameter(help="Directory of recorded logs; default: the repository's.")
    ] = None,
    json: Annotated[Path | None, Parameter(help="Write the matrix as JSON to this file.")] = None,
    resume: Annotated[
        Path | None, Parameter(help="Take the trials that an earlier --json has already.")
    ] = None,
    write: Annotated[Path | None, Parameter(help="Write the matrix as Markdown.")] = None,
) -> ExitCode:
    """Tell lies, one change each, and see what finds them out, how soon and by what."""
    from markstep.conformance.cli.mutation import RECORDED, MatrixFiles, mutants_verb
    from markstep.conformance.cli.verbs import again
    from markstep.conformance.mutants.trials import Terms

    terms = Terms(profile, seed, budget, logs or (RECORDED if RECORDED.is_dir() else None))
    options: dict[str, object] = {"profile": profile, "seed": seed, "budget": f"{budget:g}"}
    command = again("mutants", only=only, detector=detector, **options)
    files = MatrixFiles(json, write, resume)
    return mutants_verb(only or [], detector or [], terms, processes, files, command)


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


def designs(
    *,
    design: Annotated[
        list[str] | None,
        Parameter(
            help="Only these; default: sound, torch_xla_2_9 and the alternatives.", negative=""
        ),
    ] = None,
    actions: Annotated[
        int | None, Parameter(converter=whole, help="Program actions on a path; default: 5.")
    ] = None,
    records: Annotated[
        int | None, Parameter(converter=whole, help="Live records; default: 2.")
    ] = None,
    buffers: Annotated[
        int | None, Parameter(converter=whole, help="Buffer records in use; default: 2.")
    ] = None,
    processes: Annotated[
        int | None, Parameter(converter=whole, help="Processes that search; default: 1.")
    ] = None,
    markdown: Annotated[Path | None, Parameter(help="Write the table as Markdown.")] = None,
    html: Annotated[Path | None, Parameter(help="Write the table as a page.")] = None,
    write: Annotated[Path | None, Parameter(help="Write the page of the manual.")] = None,
    traces: Annotated[
        Path | None, Parameter(help="Write each counterexample into this folder, to be replayed.")
    ] = None,
) -> ExitCode:
    """Compare designs for sharded tensors by what each of them breaks within a bound."""
    from markstep.conformance.cli.comparing import designs_verb
    from markstep.conformance.cli.verbs import again

    limits = {"actions": actions, "records": records, "buffers": buffers, "processes": processes}
    pages = {"markdown": markdown, "html": html, "write": write}
    given = {name: value for name, value in limits.items() if value != 1 or name != "processes"}
    command = again("designs", design=design or None, **given, write=write, traces=traces)
    return designs_verb(design or [], limits, pages, traces, command)
