"""Times against sizes as a picture and as a table: both axes are logarithmic."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from xml.etree.ElementTree import Element

from markstep.conformance.benchmarks.series import Series
from markstep.conformance.html.elements import Child, copied, document, table, tag

LEFT, TOP, WIDTH, HEIGHT, RIGHT, BOTTOM = 80, 26, 620, 400, 150, 50
"""Pixels: of the plot, and around it."""
APART = 16
"""Pixels between the labels of two lines, at least."""
MICRO = 1e6


@dataclass(frozen=True, slots=True)
class Scale:
    """A logarithmic axis: whole decades of values onto pixels."""

    low: int
    high: int
    begin: float
    end: float

    def at(self, value: float) -> float:
        """Where a value is."""
        share = (log10(value) - self.low) / max(self.high - self.low, 1)
        return self.begin + share * (self.end - self.begin)


def chart(series: Sequence[Series], title: str) -> Element:
    """The picture. Each line has its name at its end, and a mark and a dash of its own."""
    shown = [one for one in series if one.seconds]
    x, y = scales(shown)
    ends = spread({i: y.at(list(one.seconds.values())[-1] * MICRO) for i, one in enumerate(shown)})
    shapes = [
        *grid(x, y),
        *(shape for i, one in enumerate(shown) for shape in line(one, i, x, y, ends[i])),
    ]
    size = {"width": LEFT + WIDTH + RIGHT, "height": TOP + HEIGHT + BOTTOM}
    view = f"0 0 {size['width']} {size['height']}"
    heading = tag("title", title, id="chart-title")
    named = {"role": "img", "aria_labelledby": "chart-title", "class_": "chart"}
    return tag("svg", heading, shapes, viewBox=view, **size, **named)


def scales(series: Sequence[Series]) -> tuple[Scale, Scale]:
    """The axes: they hold every point."""
    sizes = [size for one in series for size in one.seconds]
    times = [seconds * MICRO for one in series for seconds in one.seconds.values()]
    across = Scale(floor(log10(min(sizes))), ceil(log10(max(sizes))), LEFT, LEFT + WIDTH)
    return across, Scale(floor(log10(min(times))), ceil(log10(max(times))), TOP + HEIGHT, TOP)


def grid(x: Scale, y: Scale) -> Iterator[Element]:
    """A line for each decade, with its value; the names of the axes."""
    for power in range(x.low, x.high + 1):
        at = f"{x.at(10**power):.0f}"
        yield tag("line", x1=at, x2=at, y1=TOP, y2=TOP + HEIGHT, class_="rule")
        yield tag("text", f"{10**power:,}", x=at, y=TOP + HEIGHT + 18, text_anchor="middle")
    for power in range(y.low, y.high + 1):
        at = f"{y.at(10.0**power):.0f}"
        yield tag("line", x1=LEFT, x2=LEFT + WIDTH, y1=at, y2=at, class_="rule")
        label = f"{10.0**power:,.0f} µs" if power < 3 else f"{10.0 ** (power - 3):,.0f} ms"
        yield tag("text", label, x=LEFT - 8, y=f"{float(at) + 4:.0f}", text_anchor="end")
    yield tag("text", "time of a step", x=LEFT, y=14, class_="lane")
    middle = LEFT + WIDTH // 2
    words = "operations in a step"
    yield tag("text", words, x=middle, y=TOP + HEIGHT + 40, text_anchor="middle", class_="lane")


def line(one: Series, number: int, x: Scale, y: Scale, label: float) -> Iterator[Element]:
    """The line of one executor, its points, and its name."""
    points = [(x.at(size), y.at(seconds * MICRO)) for size, seconds in one.seconds.items()]
    path = "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in points)
    class_ = f"line l-{number % 7}"
    yield tag("path", d=path, class_=class_)
    for (a, b), (size, seconds) in zip(points, one.seconds.items(), strict=True):
        said = tag("title", f"{one.name}: {size} operations in {shown(seconds)}")
        yield tag("circle", said, cx=f"{a:.1f}", cy=f"{b:.1f}", r=4, class_=f"point l-{number % 7}")
    end, beside = points[-1], f"{LEFT + WIDTH + 12}"
    lead = f"M{end[0]:.1f} {end[1]:.1f}L{beside} {label:.1f}"
    yield tag("path", d=lead, class_=f"lead l-{number % 7}")
    yield tag("text", one.name, x=LEFT + WIDTH + 16, y=f"{label + 4:.0f}", class_="word")


def spread(wanted: dict[int, float]) -> dict[int, float]:
    """Places as near to the wanted ones as the distance between labels allows."""
    placed: dict[int, float] = {}
    lowest = float("-inf")
    for key in sorted(wanted, key=wanted.__getitem__):
        lowest = max(wanted[key], lowest + APART)
        placed[key] = lowest
    return placed


def shown(seconds: float) -> str:
    """A time with three digits."""
    return f"{seconds * MICRO:,.3g} µs" if seconds < 1e-3 else f"{seconds * 1e3:,.3g} ms"


def bench_page(series: Sequence[Series], platform: str, command: str) -> str:
    """The page: the picture, the same as a table, and what a step is for each executor."""
    title = "One step against its size"
    sizes = sorted({size for one in series for size in one.seconds})
    rows: list[list[Child]] = [
        [one.name, *(shown(one.seconds[n]) if n in one.seconds else "" for n in sizes)]
        for one in series
    ]
    about: list[list[Child]] = [[s.name, s.what, s.version, s.failed] for s in series]
    caption = "Time of a step by its number of operations: the best of all rounds"
    region = {"class_": "wide", "tabindex": "0", "role": "region", "aria_label": title}
    drawn = [chart(series, title)] if any(one.seconds for one in series) else []
    return document(
        title,
        ["copy.js"],
        tag("header", tag("h1", title), tag("p", platform, class_="dim")),
        tag(
            "main",
            tag("p", WHAT),
            tag("figure", tag("div", drawn, **region)),
            tag("h2", "The times"),
            table(["executor", *(f"{n:,}" for n in sizes)], rows, caption),
            tag("h2", "What was measured"),
            table(["executor", "a step", "version", "stopped at"], about, "The executors"),
            tag("p", "To measure it again:"),
            copied(command, "again", "Copy the command"),
        ),
    )


WHAT = (
    "A step is a chain of additions on four numbers: recorded, evaluated and read. What can be "
    "compiled is compiled, and what can be cached is in the cache: the times are what each step "
    "costs, not what the first one costs. The executors took turns on one machine, so compare the "
    "lines, not the numbers with those of another machine."
)
