"""Every block of code that a reader is not led through step by step is true as well.

The tutorial and the how-to pages are played (`test_manual.py`). Here are the blocks of all other
pages: commands are run or, where they need what a test cannot have, parsed; files are read by the
reader that they are for; messages are compared with what the command says.
"""

import ast
import importlib.util
import json
import re
import shlex
import subprocess
import sys
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Any

import manual
import pytest

from markstep.conformance.adapter import GROUP
from markstep.conformance.cli.app import app
from markstep.conformance.known.lists import read_list
from markstep.spec.trace import SUFFIX, decode_action

ROOT = Path(__file__).resolve().parents[3]
DOCS = ROOT / "docs"
pytestmark = pytest.mark.skipif(not DOCS.exists(), reason="not run in a checkout of the repository")

PLAYED = ("tutorial", "how-to")
GENERATED = (
    "reference/zoo.md",
    "reference/refinement.md",
    "reference/designs-compared.md",
    "reference/designs-as-patches.md",
)
"""Programs that the commands which write these pages have run."""
PICTURES = ("contract   a tensor denotes", "contract   what any tensor library")
ANY = re.compile(r"(?ms)^```(\w*)[^\n]*\n(.*?)^```$")


def others() -> list[tuple[str, str, str]]:
    """(page, kind, text) of each block of the other pages."""
    pages = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
    names = [
        page.relative_to(DOCS if page.is_relative_to(DOCS) else ROOT).as_posix() for page in pages
    ]
    return [
        (name, kind, text)
        for name, page in zip(names, pages, strict=True)
        if name.partition("/")[0] not in PLAYED and name not in GENERATED
        for kind, text in ANY.findall(page.read_text(encoding="utf-8"))
    ]


def test_each_block_is_of_a_kind_that_is_checked() -> None:
    kinds = {kind for _, kind, _ in others()}
    assert kinds == {"", "sh", "toml", "json", "python"}


def of(kind: str) -> list[Any]:
    found = [(page, text) for page, other, text in others() if other == kind]
    return [pytest.param(*one, id=f"{one[0]}-{n}") for n, one in enumerate(found)]


# ---- commands --------------------------------------------------------------------------------


@pytest.mark.parametrize(("page", "text"), of("sh"))
def test_a_command_is_one_that_there_is(page: str, text: str) -> None:
    for line in text.splitlines():
        for part in line.split("&&"):
            command(shlex.split(part, comments=True))


def command(words: list[str]) -> None:
    """What a line of a shell begins; options that do not exist are an error."""
    match Path(words[0]).name, words[1:]:
        case "markstep", ["record", *options]:
            assert "--" in options
        case "markstep", options:
            app.parse_args(options, exit_on_error=False, print_error=False)
        case "python3" | "python", ["-m", module, *_]:
            assert importlib.util.find_spec(module) is not None
        case "pip", ["install", *what]:
            extras = re.findall(r"\[([\w,-]+)\]", " ".join(what))
            known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
            assert set(",".join(extras).split(",")) - {""} <= set(known["optional-dependencies"])
        case "pytest", _:
            pass  # the command of the tests themselves
        case name, _:
            raise AssertionError(f"what is {name}?")


def test_a_command_that_there_is_not_would_be_seen() -> None:
    with pytest.raises(Exception, match="Unknown option"):
        command(["markstep", "run", "--adapters", "model"])


# ---- what commands say -----------------------------------------------------------------------


@pytest.mark.parametrize(("page", "text"), of(""))
def test_a_message_is_what_the_command_says(page: str, text: str, tmp_path: Path) -> None:
    if text.strip().startswith(PICTURES):
        return
    lines = text.splitlines()
    assert lines
    for line in lines:
        if line.startswith("python -m "):
            command(shlex.split(line))
            continue
        said = message(line, tmp_path)
        assert said == line


def message(line: str, folder: Path) -> str:
    """What the command says that a message is about."""
    if design := re.search(r"unknown design '(\w+)'", line):
        return called(["run", "--design", design[1]], folder)
    wrong = re.search(r"unknown action '(\w+)'", line)
    number = int(re.findall(r"actions\[(\d+)\]", line)[0])
    action = {"action": "CreateFromHost", "out": 0, "value": [1], "shape": [1], "dtype": "float32"}
    actions: list[dict[str, Any]] = [{**action, "upload": True} for _ in range(number + 1)]
    if wrong:
        actions[number]["action"] = wrong[1]
    else:
        actions[number]["upload"] = 1
    block = {"format": 1, "spec_version": "0.1.0", "design": "sound", "actions": actions}
    whole = {"adapter": None, "seed": None, "profile": None, "ids": []}
    trace = {"#meta": {}, "vars": [], "states": [], "markstep": {**block, **whole}}
    (folder / f"x{SUFFIX}").write_text(json.dumps(trace))
    return called(["replay", f"x{SUFFIX}"], folder)


def called(arguments: list[str], folder: Path) -> str:
    with suppress(SystemExit):
        return manual.called(arguments, folder).strip()
    raise AssertionError


# ---- files -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("page", "text"), of("toml"))
def test_a_file_is_one_that_is_read(page: str, text: str, tmp_path: Path) -> None:
    if "known" in page:
        (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
        listed = read_list(str(tmp_path / "mine.toml"))
        assert (listed[-1].id, listed[-1].field) == ("I34", "value")
        return
    (groups,) = tomllib.loads(text)["project"]["entry-points"].items()
    assert groups[0] == GROUP
    assert all(":" in name for name in groups[1].values())


@pytest.mark.parametrize(("page", "text"), of("json"))
def test_an_action_is_one_that_is_read(page: str, text: str) -> None:
    actions = [json.loads(one.rstrip(",")) for one in text.splitlines() if '{"action"' in one[:10]]
    assert actions
    for number, action in enumerate(actions):
        decode_action(action, f"$[{number}]")


# ---- findings --------------------------------------------------------------------------------


@pytest.mark.parametrize(("page", "text"), of("python"))
def test_a_finding_is_a_program_that_shows_the_fault(page: str, text: str) -> None:
    ast.parse(text)
    pytest.importorskip("torch_xla")
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=300)
    shown = observed(page, text)
    assert shown
    printed = bare(done.stdout + done.stderr)
    assert all(bare(part) in printed for part in shown), done.stdout + done.stderr


def bare(text: str) -> str:
    """Without what a page writes otherwise than torch prints it."""
    return re.sub(r"[\s.]+", "", text)


def observed(page: str, text: str) -> list[str]:
    """What the program before the sentence shows, as the page says; … stands for anything."""
    after = (DOCS / page).read_text(encoding="utf-8").partition(text)[2]
    sentence = re.search(r"`([^`]+)`", after.partition("Observed: ")[2])
    return sentence[1].split("…") if sentence else []
