"""What the verbs of the command line do: check the arguments, do the work, write the report."""

import json
import os
import platform
import secrets
import shlex
from dataclasses import replace
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from markstep.conformance.adapter import GROUP, AdapterError, Factory, load
from markstep.conformance.cli.adapterprints import prints_to_stderr
from markstep.conformance.cli.ending import finish
from markstep.conformance.cli.files import check_apart, check_writable, find, write_atomically
from markstep.conformance.cli.outputs import Outputs
from markstep.conformance.cli.progress import Progress
from markstep.conformance.cli.usage import UsageError, complain, pick
from markstep.conformance.exit_codes import ExitCode, worst
from markstep.conformance.known.lists import KnownFailure, ListError, read_list
from markstep.conformance.verdict import Verdict
from markstep.spec.design import Design
from markstep.spec.named_designs import DESIGNS
from markstep.spec.search.alphabet import FAMILIES, Bound
from markstep.spec.search.optional import OPTIONAL_FAMILIES
from markstep.spec.trace import SUFFIX, Trace, TraceError, read_trace

LOG_SUFFIXES = (".jsonl.gz", ".jsonl")
SEED_BITS = 32


def run_verb(
    adapter: str,
    design: str,
    profile: str,
    seed: int | None,
    outputs: Outputs,
    known: list[str],
    strict: bool,
) -> ExitCode:
    """`markstep run`."""
    from markstep.conformance.check import PROFILES, check

    pick("--profile", profile, PROFILES)
    law = the_design(design)
    listed = the_lists(known)
    outputs.check()
    with prints_to_stderr():
        factory = the_adapter(adapter)
    if seed is None:
        seed = 0 if os.environ.get("CI") else secrets.randbits(SEED_BITS)
    elif seed < 0:
        raise UsageError("--seed", f"{seed} is negative", "give a number from 0 on")
    with prints_to_stderr(), Progress("programs") as progress:
        report = check(
            factory,
            design=law,
            profile=profile,
            seed=seed,
            progress=progress,
            examples=outputs.out,
            known=listed,
            strict=strict,
        )
    report.adapter = adapter
    for failure in report.failures:
        failure.adapter = adapter
    lists: dict[str, object] = {"known": known}
    report.again = again("run", adapter=adapter, design=design, profile=profile, seed=seed, **lists)
    report.again += " --strict" if strict else ""
    return finish(report, outputs)


def replay_verb(
    given: list[str], adapter: str | None, design: str | None, outputs: Outputs
) -> ExitCode:
    """`markstep replay`."""
    from markstep.conformance.lockstep.replay import Players, replay_traces

    law = the_design(design) if design is not None else None
    paths = find("replay", given, (SUFFIX,))
    outputs.check(*inputs(paths))
    traces, unread = read_all(paths)
    if not traces:
        for line in unread:
            complain(f"replay: {line}")
        return ExitCode.USAGE
    with prints_to_stderr(), Progress("traces") as progress:
        players = Players(adapter or "", the_adapter(adapter) if adapter is not None else None)
        report = replay_traces(traces, players, law, progress)
    report.adapter = adapter or ""
    report.again = again("replay", *given, adapter=adapter, design=design)
    report.notes += [f"not replayed: {line}" for line in unread]
    code = finish(report, outputs)
    for line in unread:
        complain(f"replay: {line}")
    return worst([code, ExitCode.USAGE]) if unread else code


def read_all(paths: list[Path]) -> tuple[list[tuple[Path, Trace]], list[str]]:
    """The traces in files, and what is wrong with the files that hold none."""
    traces, unread = [], []
    for path in paths:
        try:
            traces.append((path, read_trace(path)))
        except TraceError as error:
            unread.append(str(error))
    return traces, unread


def inputs(paths: list[Path]) -> list[tuple[str, Path | None]]:
    """Files that are read: no report may be written over one."""
    return [("the input", path) for path in paths]


def monitor_verb(
    given: list[str], design: str, explained_by: str | None, outputs: Outputs
) -> ExitCode:
    """`markstep monitor`."""
    from markstep.conformance.logs.monitor import monitor

    law = the_design(design)
    recorded = the_design(explained_by, "--explained-by") if explained_by is not None else None
    paths = find("monitor", given, LOG_SUFFIXES)
    outputs.check(*inputs(paths))
    with Progress("logs") as progress:
        report = monitor(paths, law, progress=progress, explained_by=recorded)
    report.again = again("monitor", *given, design=design, explained_by=explained_by)
    code = finish(report, outputs)
    for subject in report.subjects:
        if subject.verdict == Verdict.ERROR:
            complain(subject.message)
    return code


def explore_verb(
    design: str,
    limits: dict[str, int | None],
    families: list[str],
    claims: list[str],
    paths: dict[str, Path | None],
    outputs: Outputs,
    engine: str,
) -> ExitCode:
    """`markstep explore`. ``paths``: fields of SearchFiles."""
    from markstep.conformance.cli.engines import ENGINES, RULES, check_engine
    from markstep.conformance.cli.exploration import explore_report
    from markstep.conformance.cli.searchfiles import SearchFiles
    from markstep.spec.compiled.on_c import NoCompiler
    from markstep.spec.invariants import CLAIMS, GRAPH_CLAIMS

    law = the_design(design)
    for claim in claims:
        pick("--claim", claim, [*CLAIMS, *GRAPH_CLAIMS])
    bound = the_bound(limits, families)
    files = SearchFiles(**paths)
    files.check()
    outputs.check(("the checkpoint", files.kept), ("--write", files.page))
    if not claims or any(claim in CLAIMS for claim in claims):  # states are visited
        files.html, outputs = outputs.html, replace(outputs, html=None)
    try:
        check_engine(pick("--engine", engine, ENGINES), files, bound, law)
    except NoCompiler as error:
        complain(f"--engine {engine}: {error}")
        return ExitCode.ERROR
    command = again(
        "explore",
        design=design,
        engine=None if engine == RULES else engine,
        **limits,
        families=families or None,
        claim=claims or None,
        checkpoint=files.checkpoint,
        resume=files.resume,
        emit_tests=files.emit,
        write=files.page,
    )
    with Progress("states") as progress:
        report = explore_report(law, bound, claims, progress, files, command, engine)
    report.again = command
    return finish(report, outputs)


def refine_verb(
    designs: tuple[str, str],
    limits: dict[str, int | None],
    families: list[str],
    never: list[str],
    conditions: bool,
    page: Path | None,
    outputs: Outputs,
) -> ExitCode:
    """`markstep refine`."""
    from markstep.conformance.cli import refinement

    if designs[0] == refinement.CONTRACT:
        advice = "give a design first: markstep refine D contract"
        raise UsageError("refine", "the contract can only be on the right", advice)
    x, name = DESIGNS[pick("refine", designs[0], DESIGNS, "design")], designs[1]
    pick("refine", name, [*DESIGNS, refinement.CONTRACT], "design")
    bound, words = the_bound(limits, families), refinement.check_words(never)
    if page is not None and not conditions:
        raise UsageError("--write", "there is no page of one comparison", "add --conditions")
    if name == refinement.CONTRACT and (words or conditions):
        what = "the contract is kept or not, there are no conditions"
        raise UsageError("refine", what, "leave out --never and --conditions")
    check_writable("--write", page)
    outputs.check(("--write", page))
    command = again(
        "refine",
        *designs,
        **limits,
        families=families or None,
        never=never or None,
        conditions=conditions or None,
        write=page,
    )
    with Progress("states") as progress:
        if name == refinement.CONTRACT:
            report = refinement.contract_report(x, bound, progress)
        elif conditions:
            y = DESIGNS[name]
            report = refinement.conditions_report(x, y, bound, progress, page, command)
        else:
            report = refinement.refine_report(x, DESIGNS[name], bound, words, progress)
            for failure in report.failures:  # a replay is of one design and cannot show it
                failure.replay = command
    report.again = command
    return finish(report, outputs)


def the_bound(limits: dict[str, int | None], families: list[str]) -> Bound:
    """How far a search may go. Raises UsageError."""
    for family in families:
        pick("--families", family, (*FAMILIES, *OPTIONAL_FAMILIES), "family")
    for name, value in limits.items():
        if value is not None and value < 0:
            option = f"--{name.replace('_', '-')}"
            raise UsageError(option, f"{value} is negative", "give a number from 0 on")
    most = 4 * (os.cpu_count() or 1)
    if not 1 <= (limits.get("processes", 1) or 0) <= most:
        what = f"{limits['processes']} is not from 1 to {most}"
        raise UsageError("--processes", what, "give the number of processors")
    given: dict[str, Any] = dict(limits)
    return Bound(**given, families=tuple(families) or FAMILIES)


def bench_verb(target: Path | None, html: Path | None) -> ExitCode:
    """`markstep bench`."""
    if find_spec("markstep.conformance.benchmark") is None:
        raise UsageError("bench", "the benchmark is not part of this installation")
    check_apart(("--json", target), ("--html", html))
    check_writable("--json", target)
    check_writable("--html", html)
    results: Any = step_sizes(html) if html else run_benchmark()
    if target is not None and results is not None:
        write_atomically(target, json.dumps(results, indent=1) + "\n")
    return ExitCode.CONFORMS


def run_benchmark() -> Any:
    """Every figure of the benchmark."""
    return import_module("markstep.conformance.benchmark").main()


def step_sizes(page: Path) -> Any:
    """One step against its size, as a page and as JSON values."""
    from markstep.conformance.benchmarks.sizes import measure
    from markstep.conformance.html.chart import bench_page

    series = measure(lambda line: print(line, flush=True))
    where = f"Python {platform.python_version()}, {platform.platform()}"
    write_atomically(page, bench_page(series, where, again("bench", html=page)))
    return {"platform": where, "series": [one.plain() for one in series]}


def the_design(name: str, option: str = "--design") -> Design:
    """The design that an option names. Raises UsageError."""
    return DESIGNS[pick(option, name, DESIGNS)]


def the_lists(names: list[str]) -> list[KnownFailure]:
    """The entries of the lists that an option names. Raises UsageError."""
    try:
        return [entry for name in names for entry in read_list(name)]
    except ListError as error:
        raise UsageError("--known", str(error)) from error


def the_adapter(name: str) -> Factory:
    """The adapter that an option names: a name that nobody has is a mistake of the user, one that
    cannot be loaded is an error of the adapter."""
    if ":" not in name:
        pick("--adapter", name, sorted(p.name for p in entry_points(group=GROUP)))
    try:
        return load(name)
    except AdapterError:
        raise
    except Exception as error:
        raise AdapterError(f"{name!r}: {type(error).__name__}: {error}") from error


def again(verb: str, *given: str, **options: object) -> str:
    """A command line for the shell."""
    words = ["markstep", verb, *given]
    for name, value in options.items():
        for item in value if isinstance(value, list) else [value]:
            if item is not None:
                words += [f"--{name.replace('_', '-')}", *([] if item is True else [str(item)])]
    return shlex.join(words)
