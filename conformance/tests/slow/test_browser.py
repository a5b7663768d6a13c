"""The pages in a real browser: walked through with the keyboard, without an error and a request."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from markstep.spec.trace import Trace, dumps
from markstep.spec.vocabulary import Apply, CreateFromHost, StepBarrier, TensorName

playwright = pytest.importorskip("playwright.sync_api")
pytestmark = [pytest.mark.browser, pytest.mark.slow]

T0, T1 = TensorName(0), TensorName(1)
FAILS = (CreateFromHost(T0, (1, 2), (2,)), Apply(T1, "failing_execute", (T0,)), StepBarrier(True))
Markstep = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless Chromium: that of the system, or playwright's own."""
    with playwright.sync_playwright() as driver:
        try:
            path = shutil.which("chromium") or shutil.which("google-chrome")
            launched = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        except playwright.Error as error:
            pytest.skip(f"there is no Chromium: {str(error).splitlines()[0]}")
        yield launched
        launched.close()


@pytest.fixture
def opened(browser: Any) -> Iterator[Callable[[str], Any]]:
    """Opens a file; at the end nothing may have been complained of or asked for."""
    said: list[str] = []
    page = browser.new_page(viewport={"width": 1000, "height": 800})
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda asked: said.append(asked.url))

    def open_(name: str) -> Any:
        page.goto(Path(name).absolute().as_uri())
        return page

    yield open_
    page.close()
    assert [one for one in said if not one.startswith("file:")] == []


def shown(page: Any) -> str:
    """The heading of the one state that is shown."""
    assert page.locator("section.stop:visible").count() == 1
    return str(page.locator("section.stop:visible h2").inner_text())


def test_a_counterexample_is_walked_with_the_keyboard(
    markstep: Markstep, opened: Callable[[str], Any]
) -> None:
    bound = ["--records", "1", "--buffers", "2", "--actions", "3"]
    few = ["--families", "core", "--families", "faults", "--claim", "I01"]
    markstep("explore", "--design", "torch_xla_2_9", *bound, *few, "--html", "s.html", "--quiet")
    page = opened("s.html")
    assert shown(page) == "The start"
    seen = []
    while page.locator("section.current a[rel=next]").count():
        page.keyboard.press("ArrowRight")
        seen.append(shown(page))
    assert seen[0] == "Step 0: t0 = CreateFromHost([1])" and len(seen) > 4
    assert "I01 some_source" in page.locator("section.current").inner_text()
    assert page.url.endswith(f"#I01-{len(seen) - 1}")
    page.keyboard.press("ArrowLeft")
    assert shown(page) == seen[-2]
    page.go_back()
    assert shown(page) == seen[-1]
    page.keyboard.press("Home")
    assert shown(page) == "The start"


def test_a_space_is_walked_along_its_moves(
    markstep: Markstep, opened: Callable[[str], Any]
) -> None:
    markstep("explore", "--records", "1", "--actions", "2", "--html", "s.html", "--quiet")
    page = opened("s.html")
    assert shown(page) == "State 0: nothing"
    page.locator("section.current a.edge").first.click()
    first = shown(page)
    assert first.startswith("State 1: t0")
    page.keyboard.press("2")
    assert shown(page) not in ("State 0: nothing", first)
    page.get_by_text("What can happen next").locator("visible=true").click()
    assert "nothing runs on the device" in page.locator("section.current").inner_text()


def test_the_page_of_a_report_copies_its_command(
    markstep: Markstep, opened: Callable[[str], Any]
) -> None:
    Path("t.itf.json").write_text(dumps(Trace(FAILS, "torch_xla_2_9")), encoding="utf-8")
    markstep("replay", "t.itf.json", "--html", "r.html", "--quiet")
    page = opened("r.html")
    page.get_by_role("button", name="Copy the replay command").first.click()
    assert page.locator("button:has-text('Copied'), button:has-text('Selected')").count() == 1
    assert page.get_by_role("img").count() >= 1
    assert page.evaluate("document.documentElement.scrollWidth") <= 1000


def test_on_paper_nothing_is_folded(markstep: Markstep, opened: Callable[[str], Any]) -> None:
    Path("t.itf.json").write_text(dumps(Trace(FAILS, "torch_xla_2_9")), encoding="utf-8")
    markstep("replay", "t.itf.json", "--html", "r.html", "--quiet")
    page = opened("r.html")
    folded = page.locator("details:not([open])").count()
    assert folded
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details:not([open])").count() == folded


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_a_phone_has_no_sideways_scrolling(markstep: Markstep, browser: Any, colours: str) -> None:
    Path("t.itf.json").write_text(dumps(Trace(FAILS, "torch_xla_2_9")), encoding="utf-8")
    markstep("replay", "t.itf.json", "--html", "r.html", "--quiet")
    markstep("show", "t.itf.json", "--html", "t.html")
    page = browser.new_page(viewport={"width": 390, "height": 800}, color_scheme=colours)
    for name in ("r.html", "t.html"):
        page.goto(Path(name).absolute().as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.close()


def test_without_scripts_every_state_can_be_read(markstep: Markstep, browser: Any) -> None:
    Path("t.itf.json").write_text(dumps(Trace(FAILS, "torch_xla_2_9")), encoding="utf-8")
    markstep("show", "t.itf.json", "--html", "t.html")
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(Path("t.html").absolute().as_uri())
    assert page.locator("section.stop:visible").count() == 4
    assert page.locator("button:visible").count() == 0
    context.close()
