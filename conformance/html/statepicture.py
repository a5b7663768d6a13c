"""One state as a picture: tensors, the buffers that they refer to, and what runs on the device."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from markstep.conformance.changes import shown_fields
from markstep.conformance.html.elements import tag
from markstep.conformance.show import tensor
from markstep.spec.observe import abstract_state
from markstep.spec.rules.transfer import buffers_in_use
from markstep.spec.state import NO_OWNER, NONE, State, has, rows
from markstep.spec.vocabulary import BufferStatus

WIDTH, BOX, PITCH, BETWEEN, TOP = 210, 44, 56, 120, 22
"""Pixels: of a box, its height, from box to box, between columns, above the first box."""
LETTERS = 27
"""Of a line in a box."""


@dataclass(frozen=True, slots=True)
class Box:
    """A tensor, a buffer or the execution: where it is and what is written in it."""

    x: int
    y: int
    state: str
    lines: tuple[str, str]


def state_picture(state: State, id: str) -> Element:
    """The picture; the fields beside it say the same in words."""
    tensors, buffers = dict(tensor_boxes(state)), dict(buffer_boxes(state))
    execution = list(execution_box(state))
    boxes = [*tensors.values(), *buffers.values(), *execution]
    if not boxes:
        return tag("p", "There are no tensors.")
    height = max(box.y for box in boxes) + PITCH
    width = max(box.x for box in boxes) + WIDTH + 2
    shapes = [
        *(shape for line in references(state, tensors, buffers) for shape in line),
        *(shape for box in execution for shape in running(state, box, buffers)),
        *map(drawn, boxes),
    ]
    title = tag("title", f"{len(tensors)} records and {len(buffers)} buffers", id=f"{id}-title")
    view = f"0 0 {width} {height}"
    size = {"viewBox": view, "width": width, "height": height}
    svg = tag("svg", title, shapes, role="img", aria_labelledby=f"{id}-title", **size)
    label = "The state as a picture"
    return tag("div", svg, class_="wide", tabindex="0", role="region", aria_label=label)


def tensor_boxes(state: State) -> Iterator[tuple[int, Box]]:
    """A box for each live record, with all tensor objects that point at it."""
    for place, row in enumerate(r for r, record in enumerate(state.records) if record.live):
        record = state.records[row]
        names = " = ".join(tensor(n) for n, r in state.tensors.items() if r == row)
        said = str(abstract_state(state, record))
        meaning = shown_fields(record)["meaning"]
        second = f"means {meaning}" if meaning != "none" else ", ".join(marks(record.__dict__))
        yield row, Box(1, TOP + place * PITCH, said, (f"{names or '(no name)'}  {said}", second))


def buffer_boxes(state: State) -> Iterator[tuple[int, Box]]:
    """A box for each buffer record in use."""
    for place, row in enumerate(rows(buffers_in_use(state))):
        buffer = state.buffers[row]
        said, contents = BufferStatus(buffer.status).name, shown_fields(buffer)["contents"]
        flags = list(marks(buffer.__dict__))
        if buffer.owner != NO_OWNER:
            flags.append(f"owner {buffer.owner}")
        shown = ([f"holds {contents}"] if contents != "none" else []) + flags
        box = Box(
            1 + WIDTH + BETWEEN, TOP + place * PITCH, said, (f"b{row}  {said}", ", ".join(shown))
        )
        yield row, box


def marks(fields: Mapping[str, object]) -> Iterator[str]:
    """Flags worth showing."""
    words = {"donate": "donation mark", "read_only": "read only", "cached": "cached"}
    yield from (word for name, word in words.items() if fields.get(name))
    if fields.get("right") is False:
        yield "not what is meant"


def execution_box(state: State) -> Iterator[Box]:
    """The execution, while it runs."""
    run = state.execution
    if run.running:
        said = "doomed: it can only fail" if run.doomed else "runs"
        x = 1 + 2 * (WIDTH + BETWEEN)
        yield Box(x, TOP, "runs", (f"execution {run.id}  {said}", donors(state)))


def donors(state: State) -> str:
    """Whose buffers the execution consumes."""
    given = ", ".join(f"b{row}" for row in rows(state.execution.donors))
    return f"consumes {given}" if given else ""


def references(
    state: State, tensors: Mapping[int, Box], buffers: Mapping[int, Box]
) -> Iterator[list[Element]]:
    """Lines from records to buffers: the handle, the leaf, and what pending work reads."""
    for row, box in tensors.items():
        record = state.records[row]
        for at, other in buffers.items():
            if record.handle == at != NONE:
                yield line(box, other, "handle")
            if record.leaf == at != NONE:
                yield line(box, other, "leaf")
            elif has(record.reads, at):
                yield line(box, other, "reads")


def running(state: State, box: Box, buffers: Mapping[int, Box]) -> Iterator[Element]:
    """Lines between buffers and the execution."""
    run = state.execution
    for at, other in buffers.items():
        if has(run.outputs | run.refills, at):
            yield from line(other, box, "filled by")
        elif has(run.params, at):
            yield from line(other, box, "read by")


def line(left: Box, right: Box, kind: str) -> list[Element]:
    """A line with its word."""
    x1, y1, x2, y2 = left.x + WIDTH, left.y + BOX / 2, right.x, right.y + BOX / 2
    path = f"M{x1} {y1:.0f}C{x1 + 50} {y1:.0f} {x2 - 50} {y2:.0f} {x2} {y2:.0f}"
    at = {"x": f"{x1 + 8}", "y": f"{y1 + (y2 - y1) * 0.08 - 4:.0f}"}
    return [tag("path", d=path, class_=f"ref r-{kind.split()[0]}"), tag("text", kind, **at)]


def drawn(box: Box) -> Element:
    """A box with its lines."""
    first, second = map(shortened, box.lines)
    size = {"x": box.x, "y": box.y, "width": WIDTH, "height": BOX, "rx": 5}
    return tag(
        "g",
        tag("title", " ".join(box.lines)),
        tag("rect", **size, class_=f"bar s-{box.state}"),
        tag("text", first, x=box.x + 9, y=box.y + 18, class_="word lane"),
        tag("text", second, x=box.x + 9, y=box.y + 35, class_="word"),
        class_=f"on-{box.state}",
    )


def shortened(text: str) -> str:
    """A line that fits into a box."""
    return text if len(text) <= LETTERS else f"{text[: LETTERS - 1]}…"
