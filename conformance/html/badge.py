"""A badge: what is checked and how it went, as an SVG file that a README can show."""

from xml.etree.ElementTree import tostring

from markstep.conformance.exit_codes import ExitCode
from markstep.conformance.html.elements import tag
from markstep.conformance.report.model import Report

COLOURS = {
    ExitCode.CONFORMS: "#116329",
    ExitCode.VIOLATES: "#b3151d",
    ExitCode.ERROR: "#6f1b8f",
}
"""Where the answer is open, another one."""
OPEN = "#7a4d00"
LETTER, PAD, HEIGHT = 6.6, 8, 20
"""Pixels."""


def badge(report: Report) -> str:
    """The SVG text."""
    left = "markstep"
    right = " ".join(filter(None, (report.adapter, said(report))))
    middle, width = length(left), length(left) + length(right)
    text = {"y": 14, "text_anchor": "middle", "fill": "#fff"}
    svg = tag(
        "svg",
        tag("title", f"{left}: {right}, design {report.design}"),
        tag("rect", width=width, height=HEIGHT, rx=3, fill="#3b4048"),
        tag("path", d=right_side(middle, width), fill=COLOURS.get(report.exit_code, OPEN)),
        tag("text", left, x=f"{middle / 2:.0f}", **text),
        tag("text", right, x=f"{(middle + width) / 2:.0f}", **text),
        xmlns="http://www.w3.org/2000/svg",
        role="img",
        width=width,
        height=HEIGHT,
        font_family="Verdana,DejaVu Sans,sans-serif",
        font_size=11,
    )
    return tostring(svg, encoding="unicode") + "\n"


def said(report: Report) -> str:
    """The outcome in one word: that of the exit code."""
    return report.exit_code.name.lower()


def length(text: str) -> int:
    """Of one side of the badge."""
    return round(len(text) * LETTER) + 2 * PAD


def right_side(middle: int, width: int) -> str:
    """The outline of the right side, with round corners."""
    return f"M{middle} 0H{width - 3}a3 3 0 0 1 3 3V17a3 3 0 0 1 -3 3H{middle}z"
