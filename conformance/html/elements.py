"""HTML and SVG as trees of elements: text is escaped where it is written, tags always close.

A page is one file. Its style and its script are in it, and a policy in its head forbids the browser
to load anything else.
"""

from collections.abc import Iterable
from importlib.resources import files
from typing import TypeAlias
from xml.etree.ElementTree import Element, tostring

from markstep.conformance.show import printable

Child: TypeAlias = "Element | str | Iterable[Element]"

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
"""What the browser may load: the style and the script that are in the page."""


def tag(name: str, /, *children: Child, **attributes: object) -> Element:
    """An element. ``class_`` is written class, ``aria_label`` aria-label; None leaves out."""
    made = Element(name)
    for key, value in attributes.items():
        if value is not None and value is not False:
            text = "" if value is True else str(value)
            made.set(key.rstrip("_").replace("_", "-"), printable(text))
    for child in children:
        append(made, child)
    return made


def append(parent: Element, child: Child) -> None:
    """Add text, an element or several elements at the end of an element."""
    if isinstance(child, Element):
        parent.append(child)
    elif not isinstance(child, str):
        parent.extend(child)
    elif len(parent):
        parent[-1].tail = (parent[-1].tail or "") + printable(child)
    else:
        parent.text = (parent.text or "") + printable(child)


def document(title: str, scripts: Iterable[str], *body: Child) -> str:
    """The text of a page."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", shipped("style.css")),
    )
    ends = [tag("script", shipped(script)) for script in scripts]
    page = tag("html", head, tag("body", *body, ends), lang="en")
    return f"<!doctype html>\n{tostring(page, encoding='unicode', method='html')}\n"


def standalone(svg: Element) -> str:
    """A picture as a file of its own, with the style of the pages."""
    svg.set("xmlns", "http://www.w3.org/2000/svg")
    svg.insert(1, tag("style", shipped("style.css")))
    return tostring(svg, encoding="unicode") + "\n"


def shipped(name: str) -> str:
    """The text of a file beside this one."""
    return files("markstep.conformance.html").joinpath(name).read_text(encoding="utf-8")


def table(head: Iterable[Child], rows: Iterable[Iterable[Child]], caption: str) -> Element:
    """A table whose first column heads its rows."""
    made = tag("table", tag("caption", caption))
    made.append(tag("thead", tag("tr", [tag("th", cell, scope="col") for cell in head])))
    body = tag("tbody")
    for first, *rest in rows:
        cells = [tag("td", cell) for cell in rest]
        body.append(tag("tr", tag("th", first, scope="row"), cells))
    made.append(body)
    return tag("div", made, class_="wide", tabindex="0", role="region", aria_label=caption)


def copied(text: str, id: str, what: str) -> Element:
    """A text with a button that copies it; without scripts there is no button."""
    button = tag("button", "Copy", type="button", data_copy=id, aria_label=what, hidden=True)
    return tag("div", tag("pre", tag("code", text, id=id), tabindex="0"), button, class_="copied")
