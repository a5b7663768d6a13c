"""The timeline of a program as a picture: steps downwards, tensors and buffers as lanes.

The picture is for the eyes; `as_table` says the same in words.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from markstep.conformance.html.elements import table, tag
from markstep.conformance.html.timeline import MEANS, Moment, Seen
from markstep.conformance.show import tensor
from markstep.spec.vocabulary import AbstractState

LONGEST = 60
"""Steps that are drawn; those before are counted."""
TEXT = 56
"""Letters of a step that are drawn; the rest is in its title."""
ROW, HEAD, LETTER, NUMBER, GAP = 26, 44, 7.3, 58, 10
"""Pixels: of a step, of the head, of a letter, of a number, between lanes."""
WIDTH = {"tensors": 72, "buffers": 128, "device": 60}
"""Pixels of a lane of each group."""
BETWEEN, LINE = 26, 17
"""Pixels between the groups of lanes, and between lines of words in a segment."""


@dataclass(frozen=True, slots=True)
class Lane:
    """A column: one tensor, one buffer, or the device."""

    group: str
    name: str
    cells: tuple[Seen | None, ...]

    @property
    def width(self) -> int:
        """In pixels."""
        return WIDTH[self.group]

    def bars(self) -> Iterator[tuple[int, int, Seen]]:
        """(first moment, moment after the last, what is seen) as long as it stays the same."""
        begin = 0
        for i in range(1, len(self.cells) + 1):
            if i == len(self.cells) or self.cells[i] != self.cells[begin]:
                seen = self.cells[begin]
                if seen is not None:
                    yield begin, i, seen
                begin = i


def lanes(moments: Sequence[Moment]) -> list[Lane]:
    """The lanes of some moments: tensors, buffers, and the device if anything runs."""
    names = sorted({name for m in moments for name in m.tensors})
    made = [Lane("tensors", tensor(n), tuple(m.tensors.get(n) for m in moments)) for n in names]
    rows = sorted({row for m in moments for row in m.buffers})
    made += [Lane("buffers", f"b{r}", tuple(m.buffers.get(r) for m in moments)) for r in rows]
    if any(m.running for m in moments):
        runs = tuple(Seen(m.running) if m.running else None for m in moments)
        made.append(Lane("device", "device", runs))
    return made


def drawn(moments: Sequence[Moment], failing: int) -> Sequence[Moment]:
    """The moments up to the failing one, as many as fit."""
    until = [m for m in moments if failing < 0 or m.number <= failing]
    return until[-LONGEST:]


def picture(moments: Sequence[Moment], failing: int, id: str, title: str) -> Element:
    """The picture and the same as a table. ``id`` is its own on the page."""
    seen = drawn(moments, failing)
    drawing = draw(seen, failing, id, title)
    scrolled = tag("div", drawing, class_="wide", tabindex="0", role="region", aria_label=title)
    before = len(moments) - len([m for m in moments if m.number > failing >= 0]) - len(seen)
    left_out = [tag("p", f"{before} steps before are not drawn.")] if before else []
    in_words = tag("details", tag("summary", "The picture as a table"), as_table(seen))
    return tag("figure", left_out, scrolled, legend(lanes(seen)), in_words)


def draw(seen: Sequence[Moment], failing: int, id: str, title: str) -> Element:
    """The picture alone."""
    columns = lanes(seen)
    left = NUMBER + max([min(len(m.text), TEXT) for m in seen], default=0) * LETTER + 16
    places = list(places_of(columns, left))
    width = (places[-1] + columns[-1].width if places else left) + 8
    height = HEAD + ROW * len(seen) + 8
    shapes = [
        *band(seen, failing, width),
        *heads(columns, places),
        *(shape for m, at in zip(seen, tops(seen), strict=True) for shape in line(m, at)),
        *(shape for lane, x in zip(columns, places, strict=True) for shape in bars(lane, x)),
    ]
    return tag(
        "svg",
        tag("title", title, id=f"{id}-title"),
        shapes,
        role="img",
        aria_labelledby=f"{id}-title",
        viewBox=f"0 0 {width:.0f} {height}",
        width=f"{width:.0f}",
        height=height,
    )


def tops(moments: Sequence[Moment]) -> range:
    """The upper edge of each step."""
    return range(HEAD, HEAD + ROW * len(moments), ROW)


def places_of(columns: Sequence[Lane], left: float) -> Iterator[float]:
    """The left edge of each lane; groups are further apart."""
    x, group = left, ""
    for lane in columns:
        x += BETWEEN if group and lane.group != group else GAP
        yield x
        x, group = x + lane.width, lane.group


def band(moments: Sequence[Moment], failing: int, width: float) -> Iterator[Element]:
    """The failing step, across the whole picture; and a line under every step."""
    for m, top in zip(moments, tops(moments), strict=True):
        if m.number == failing:
            class_ = "failing wrong" if m.wrong else "failing"
            yield tag("rect", x=0, y=top, width=f"{width:.0f}", height=ROW, class_=class_)
        yield tag("line", x1=0, x2=f"{width:.0f}", y1=top + ROW, y2=top + ROW, class_="rule")


def heads(columns: Sequence[Lane], places: Sequence[float]) -> Iterator[Element]:
    """The names of the lanes and of their groups."""
    group = ""
    for lane, x in zip(columns, places, strict=True):
        if lane.group != group and lane.group != lane.name:
            yield tag("text", lane.group, x=f"{x:.0f}", y=15, class_="group")
        group = lane.group
        middle = f"{x + lane.width / 2:.0f}"
        yield tag("text", lane.name, x=middle, y=35, class_="lane", text_anchor="middle")


def line(m: Moment, top: int) -> Iterator[Element]:
    """Number and text of a step."""
    base, mark = top + 17, "✗ " if m.wrong else ""
    yield tag("text", mark + m.label, x=NUMBER - 8, y=base, class_="number", text_anchor="end")
    shown = m.text if len(m.text) <= TEXT else f"{m.text[: TEXT - 1]}…"
    indent = (len(shown) - len(shown.lstrip())) * LETTER
    class_ = "step failed" if m.wrong else "step"
    x = f"{NUMBER + indent:.0f}"
    yield tag("text", tag("title", m.text.strip()), shown.strip(), x=x, y=base, class_=class_)


def bars(lane: Lane, x: float) -> Iterator[Element]:
    """The segments of a lane, each with its word and, where there is room, what is shared."""
    for begin, end, seen in lane.bars():
        top, height = HEAD + begin * ROW + 2, (end - begin) * ROW - 4
        title = f"{lane.name}: {' '.join(filter(None, (seen.state, seen.about)))}"
        shared = " shared" if seen.shared else ""
        box = {"x": f"{x:.0f}", "y": top, "width": lane.width, "height": height, "rx": 4}
        drawn = [tag("rect", **box, class_=f"bar s-{seen.state}{shared}")]
        goes_on = begin > 0 and state_at(lane, begin - 1) == (seen.state, seen.identity)
        words = [seen.about or seen.state] if goes_on else [seen.state, seen.about]
        lines = range(top + 15, top + height, LINE)
        for base, word in zip(lines, filter(None, words), strict=False):
            middle, shown = f"{x + lane.width / 2:.0f}", shortened(word, lane.width)
            drawn.append(tag("text", shown, x=middle, y=base, class_="word", text_anchor="middle"))
        yield tag("g", tag("title", title), drawn, class_=f"on-{seen.state}")


def state_at(lane: Lane, i: int) -> tuple[str, int] | None:
    """State and identity of a cell."""
    seen = lane.cells[i]
    return None if seen is None else (seen.state, seen.identity)


def shortened(word: str, width: int) -> str:
    """A word that fits into a segment."""
    letters = int(width / LETTER)
    return word if len(word) <= letters else f"{word[: letters - 1]}…"


def legend(columns: Sequence[Lane]) -> Element:
    """What the words of the tensors mean."""
    used = {seen.state for lane in columns for seen in lane.cells if seen is not None}
    meant = [(state, MEANS[state]) for state in AbstractState if state.value in used]
    pairs = [
        tag("div", tag("dt", state.value, class_=f"chip s-{state.value}"), tag("dd", text))
        for state, text in meant
    ]
    return tag("figcaption", tag("dl", pairs, class_="legend"))


def as_table(moments: Sequence[Moment]) -> Element:
    """One row for each step; what is as it was before is left out."""
    columns = lanes(moments)
    rows: list[list[str | Element]] = []
    for i, m in enumerate(moments):
        mark = " (here it goes wrong)" if m.wrong else ""
        cells = [cell(lane.cells[i - 1] if i else None, lane.cells[i]) for lane in columns]
        rows.append([m.label + mark, tag("code", m.text.strip()), *cells])
    head = ["step", "action", *(lane.name for lane in columns)]
    return table(head, rows, "State of every tensor and buffer after each step")


def cell(before: Seen | None, now: Seen | None) -> str:
    """What is seen, if it is new."""
    if now is None:
        return "" if before is None else "none any more"
    text = ", ".join(filter(None, (now.state, now.about)))
    return text if now != before else "″"
