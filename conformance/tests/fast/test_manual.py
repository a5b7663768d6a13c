"""The manual is true: what it tells the reader to type works and prints what it shows."""

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import manual
import pytest

from markstep.conformance.cli import app as cli

DOCS = Path(__file__).resolve().parents[3] / "docs"
pytestmark = pytest.mark.skipif(not DOCS.exists(), reason="not run in a checkout of the repository")

PAGES = sorted(page for part in ("tutorial", "how-to") for page in DOCS.glob(f"{part}/*.md"))
PLUGIN = "markstep.conformance.plugin.options"
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": f"-p {PLUGIN}", "COLUMNS": "100"}
"""The plugin is loaded by name, so that the installation need not be of today."""
MINE = "from markstep.conformance.adapters.model import ModelAdapter as MyAdapter\n"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_what_a_page_tells_the_reader_to_do_works(page: Path, tmp_path: Path) -> None:
    environment = {k: v for k, v in ALONE.items() if k[:6] != "PYTEST" or page.stem == "pytest"}
    tried = manual.play(page, tmp_path, environment)
    assert tried or page.stem in ("ci",), "there is nothing to try on this page"


def test_every_page_is_in_the_navigation() -> None:
    navigation = (DOCS / "zensical.toml").read_text(encoding="utf-8")
    pages = (page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))
    missing = [page for page in pages if f'"{page}"' not in navigation and page[0] != "_"]
    assert not missing


def test_the_job_for_ci_is_short_and_does_what_it_says(tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml")
    text, more = (b.text for b in manual.blocks(DOCS / "how-to/ci.md") if b.kind == "yaml")
    assert len(text.splitlines()) <= 15
    job: dict[str, Any] = yaml.safe_load(text)["jobs"]["conformance"]
    steps = job["steps"]
    (command,) = [s["run"] for s in steps if s.get("run", "").startswith("markstep ")]
    kept = steps[-1]["with"]["path"].split("\n")
    assert {"path", "key", "restore-keys"} == set(yaml.safe_load(more)[0]["with"])
    (tmp_path / "mine.py").write_text(MINE)
    adapter = command.replace("--adapter mine", "--adapter mine:MyAdapter --profile tiny")
    paths = f"{manual.shim(tmp_path)}:{os.environ['PATH']}"
    environment = {"PATH": paths, "CI": "true", "GITHUB_STEP_SUMMARY": str(tmp_path / "s.md")}
    done = subprocess.run(["bash", "-c", adapter], cwd=tmp_path, env=environment, timeout=60)
    assert done.returncode == 0
    assert (tmp_path / "s.md").read_text("utf-8").startswith("## markstep run: conforms")
    assert kept == ["report.html", "markstep-out"] and (tmp_path / "report.html").exists()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_every_verb(markstep: Callable[..., Any], shell: str) -> None:
    code, out, err = markstep("completion", shell)
    assert (code, err) == (0, "")
    assert all(verb in out for verb in ("run", "monitor", "explore", "show", "--design"))


def test_the_completion_of_bash_completes(markstep: Callable[..., Any], tmp_path: Path) -> None:
    script = tmp_path / "completion.sh"
    script.write_text(markstep("completion", "bash")[1])
    words = 'COMP_WORDS=(markstep sho); COMP_CWORD=1; COMP_LINE="markstep sho"; COMP_POINT=12'
    program = f'source {script}; {words}; _markstep; echo "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["show"], done.stderr


def test_an_unknown_shell_is_a_mistake(markstep: Callable[..., Any]) -> None:
    code, out, err = markstep("completion", "bsh")
    assert (code, out) == (2, "")
    assert err == "markstep: completion: unknown shell 'bsh'; did you mean 'bash'?\n"


def test_the_page_of_the_command_line_has_the_options_that_help_has(
    markstep: Callable[..., Any],
) -> None:
    page = (DOCS / "reference/command-line.md").read_text("utf-8")
    report = set(re.findall(r"(?m)^\| `(--[\w-]+)`", page.partition("## Options of a report")[2]))
    for part in re.split(r"(?m)^## ", page)[1 : len(cli.EXAMPLES) + 1]:
        listed = set(re.findall(r"(?m)^\| `(--[\w-]+)`", part))
        listed |= report if "options of a report" in part else set()
        verb = part.split()[0]
        helped = set(re.findall(r"│ (--[\w-]+)", markstep(verb, "--help")[1]))
        assert listed == helped - {"--help"}, verb
