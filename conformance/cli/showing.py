"""`markstep show`: a trace step by step, in the terminal or as a page to walk through."""

from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.text import Text

from markstep.conformance.changes import shown_fields
from markstep.conformance.cli.files import check_apart, check_writable, write_atomically
from markstep.conformance.cli.usage import UsageError, pick, reader_may_leave
from markstep.conformance.cli.verbs import again
from markstep.conformance.exit_codes import ExitCode
from markstep.conformance.possible import SHOWN, choices
from markstep.conformance.report.console import console
from markstep.conformance.show import show, tensor
from markstep.conformance.walk import Stage, under, walk
from markstep.spec.design import Design
from markstep.spec.named_designs import DESIGNS
from markstep.spec.observe import abstract_state
from markstep.spec.rules.transfer import buffers_in_use
from markstep.spec.state import State, rows
from markstep.spec.trace import TraceError, read_trace


def show_verb(path: Path, step: int | None, design: str | None, html: Path | None) -> ExitCode:
    """`markstep show`."""
    if design is not None:
        pick("--design", design, DESIGNS)
    check_apart(("the trace", path), ("--html", html))
    check_writable("--html", html)
    try:
        trace = under(read_trace(path), design)
    except TraceError as error:
        raise UsageError("show", str(error)) from error
    if step is not None and not 0 <= step < len(trace.actions):
        what = f"there is no step {step}"
        raise UsageError("--step", what, f"give a number from 0 to {len(trace.actions) - 1}")
    if html is not None:
        from markstep.conformance.html.viewer import trace_page

        write_atomically(
            html, trace_page(trace, path.name, again("show", str(path), design=design))
        )
        return ExitCode.CONFORMS
    to, stages = console(), walk(trace)
    with reader_may_leave():
        if step is None:
            for stage in stages:
                print_lines(brief(stage), to)
        else:
            stage = next(s for s in stages if s.number == step)
            print_lines(whole(stage, DESIGNS[trace.design], not trace.by_small_steps), to)
    return ExitCode.CONFORMS


def print_lines(lines: Iterator[Text], to: Console) -> None:
    """Each on a line of its own."""
    for line in lines:
        to.print(line, soft_wrap=True)


def brief(stage: Stage) -> Iterator[Text]:
    """A step, and what changed by it."""
    if stage.action is None:
        return
    yield headline(stage)
    yield from (Text(f"      {line}", "dim") for line in stage.changed)
    yield from broken(stage)


def headline(stage: Stage) -> Text:
    """Number, action, and how it ended."""
    head = Text(f"{stage.number:>4}  {stage.text}", "bold")
    return head.append(f"  → {stage.ended}", "yellow") if stage.ended else head


def broken(stage: Stage) -> Iterator[Text]:
    """The claims that the step breaks."""
    for claim in stage.broken:
        yield Text(f"    ✗ {claim.id} {claim.name}: {claim.statement}", "red")


def whole(stage: Stage, design: Design, whole_calls: bool) -> Iterator[Text]:
    """Everything about one step."""
    yield headline(stage)
    yield from broken(stage)
    yield from (Text(f"      guard {guard}") for guard in stage.guards)
    yield Text("\nsteps of the call" if len(stage.parts) > 1 else "\nwhat it changed", "bold")
    for part in stage.parts:
        if len(stage.parts) > 1:
            yield Text(f"      {show(part.action)}")
        yield from (Text(f"        {line}", "dim") for line in part.changed)
    yield Text("\nstate", "bold")
    yield from (Text(f"      {line}") for line in state_lines(stage.state))
    held = ", ".join(claim.id for claim in stage.exercised) or "none"
    yield Text("\ninvariants exercised, and they hold: ", "bold").append(held, "none")
    yield Text("\npossible next", "bold")
    yield from next_lines(stage.state, design, whole_calls)


def state_lines(state: State) -> Iterator[str]:
    """Every tensor and every buffer with the fields that are not as they were made."""
    for row, record in enumerate(state.records):
        if record.live:
            names = "=".join(tensor(n) for n, r in state.tensors.items() if r == row)
            yield f"{names}: {abstract_state(state, record)}, {fields_of(record)}"
    for row in rows(buffers_in_use(state)):
        yield f"buffer {row}: {fields_of(state.buffers[row])}"
    for name in ("execution", "device", "call"):
        if shown := fields_of(getattr(state, name)):
            yield f"{name}: {shown}"


def fields_of(thing: object) -> str:
    """The fields that are not as they were made."""
    fresh, here = shown_fields(type(thing)()), shown_fields(thing)
    return ", ".join(f"{name} {value}" for name, value in here.items() if value != fresh[name])


def next_lines(state: State, design: Design, whole_calls: bool) -> Iterator[Text]:
    """What can happen next; why the rest cannot."""
    refused: dict[str, list[str]] = {}
    for choice in choices(state, design, whole_calls):
        if not choice.ways:
            refused.setdefault(choice.refusal, []).append(choice.id)
            continue
        for way in choice.ways[:SHOWN]:
            yield Text(f"      {choice.id}  {way}")
        if len(choice.ways) > SHOWN:
            yield Text(f"      {choice.id}  and {len(choice.ways) - SHOWN} more", "dim")
    for why, ids in refused.items():
        yield Text(f"      not {', '.join(ids)}: {why}", "dim")
