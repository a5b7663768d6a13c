"""A page as a browser and a screen reader take it: what must be true of every page."""

import re
from collections import Counter
from html.parser import HTMLParser
from itertools import pairwise

VOID = {"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}
REFERS = ("aria-labelledby", "aria-describedby", "aria-controls", "data-copy", "for")
LOADS = ("src", "srcset", "xlink:href", "action", "data", "poster", "background")


class Page(HTMLParser):
    """The tags of a page with their attributes; it is well formed, or the test fails here."""

    def __init__(self, text: str) -> None:
        super().__init__()
        assert text.startswith("<!doctype html>\n<html lang=")
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"<{tag}> has an attribute twice"
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.words.append(data)

    @property
    def text(self) -> str:
        """What can be read."""
        return " ".join(" ".join(self.words).split())

    def having(self, name: str) -> list[str]:
        """The values of an attribute."""
        return [attributes[name] for _, attributes in self.tags if name in attributes]

    def named(self, tag: str) -> list[dict[str, str]]:
        """The attributes of all elements of a name."""
        return [attributes for name, attributes in self.tags if name == tag]


def checked(text: str) -> Page:
    """The page, if it stands by itself and can be walked through without eyes and mouse."""
    page = Page(text)
    stands_by_itself(page, text)
    ids = page.having("id")
    twice = [id for id, n in Counter(ids).items() if n > 1]
    assert not twice, f"ids that are not unique: {twice}"
    targets = [id for name in REFERS for value in page.having(name) for id in value.split()]
    targets += [value.removeprefix("#") for value in page.having("href")]
    assert set(targets) <= set(ids), f"refers to nothing: {set(targets) - set(ids)}"
    assert len(page.named("main")) == len(page.named("h1")) == 1
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]
    assert all(b <= a + 1 for a, b in pairwise(levels)), f"headings leave out a level: {levels}"
    for tag, attributes in page.tags:
        if attributes.get("role") in ("img", "region") or tag == "button":
            assert attributes.get("aria-label") or attributes.get("aria-labelledby"), attributes
    return page


def stands_by_itself(page: Page, text: str) -> None:
    """Nothing is loaded from anywhere."""
    for name in LOADS:
        assert not page.having(name), f"loads something: {name}"
    assert not page.named("link")
    assert all(value.startswith("#") for value in page.having("href"))
    style_and_script = "".join(re.findall(r"(?s)<(?:style|script)>(.*?)</", text))
    assert "url(" not in style_and_script and "@import" not in style_and_script
    assert not re.search(r"https?:|fetch\(|XMLHttpRequest|import\(", style_and_script)
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
