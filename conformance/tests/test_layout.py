"""The shape of the repository: what lies where, how large it is, and what it may name."""

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("spec", "impl", "conformance")

pytestmark = pytest.mark.skipif(
    not (ROOT / "pyproject.toml").exists(), reason="not run in a checkout of the repository"
)

TOP_LEVEL = {
    "spec",
    "impl",
    "conformance",
    "docs",
    "pyproject.toml",
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
    ".ci",
    ".editorconfig",
    ".gitattributes",
    ".gitignore",
}

MAX_LINES = 350
LONGER_FILES = {
    # file: (its own limit, the reason)
    "spec/vocabulary.py": (520, "a list of words, one class each, without logic"),
}
MAX_RULE_LINES = 25

NAMES_THAT_SAY_NOTHING = {"utils", "util", "helpers", "helper", "common", "misc"}

STDLIB_ONLY = ("spec",)
"""What may import nothing but the standard library and the law."""
SOLVER = ("spec/proofs/solver.py", "z3")
"""Who may ask the solver."""
ON_ARRAYS = ("spec/compiled/", ("numpy", "jax"))
"""Where the generated step runs on arrays."""

FORBIDDEN_TEXT = (
    # Split, so that this file does not contain what it looks for.
    "/" + "work/",
    "/" + "root/",
    "/" + "home/",
    "pypi" + ".org",
    "pythonhosted" + ".org",
    "registry.npmjs" + ".org",
    "deb.debian" + ".org",
)


MODULES = {"spec": "*.py", "conformance": "**/*.py"}
"""Which modules the README of a room has to name."""


@pytest.mark.parametrize("room", MODULES)
def test_the_readme_of_a_room_names_every_module(room: str) -> None:
    text = (ROOT / room / "README.md").read_text(encoding="utf-8")
    files = [path for path in (ROOT / room).glob(MODULES[room]) if not is_test(path)]
    modules = {path.name for path in files} - {"__init__.py", "__main__.py"}
    missing = sorted(name for name in modules if f"`{name}`" not in text)
    assert not missing, f"{room}/README.md does not name {missing}"


def test_packages_in_pyproject_are_the_packages_of_the_tree() -> None:
    listed = pyproject()["tool"]["setuptools"]["packages"]
    found = {
        ".".join(("markstep", *path.parent.relative_to(ROOT).parts))
        for path in tracked()
        if path.name == "__init__.py" and room(path) and not is_test(path)
    }
    assert sorted(listed) == sorted(set(listed)), "a package is listed twice"
    assert set(listed) == found, (
        "[tool.setuptools] packages in pyproject.toml differs from the tree"
    )


def test_every_room_is_typed() -> None:
    missing = [name for name in ROOMS if not (ROOT / name / "py.typed").exists()]
    assert not missing, f"no py.typed in {missing}"


def test_static_tools_see_the_rooms_under_their_import_names() -> None:
    links = {path.name: path.resolve() for path in (ROOT / ".ci/typing/markstep").iterdir()}
    assert links == {name: ROOT / name for name in ROOMS}


def test_top_level_holds_nothing_else() -> None:
    found = {path.relative_to(ROOT).parts[0] for path in tracked()}
    assert found <= TOP_LEVEL, f"not part of the layout: {sorted(found - TOP_LEVEL)}"


def test_no_module_is_too_long() -> None:
    too_long = {}
    for path in python_files():
        limit, _ = LONGER_FILES.get(name_of(path), (MAX_LINES, ""))
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > limit:
            too_long[name_of(path)] = f"{lines} > {limit}"
    assert not too_long, f"split these, or list them with a reason: {too_long}"


def test_exceptions_to_the_length_are_still_needed() -> None:
    stale = [
        name
        for name in LONGER_FILES
        if not (ROOT / name).exists()
        or len((ROOT / name).read_text(encoding="utf-8").splitlines()) <= MAX_LINES
    ]
    assert not stale, f"no longer longer than {MAX_LINES} lines: {stale}"


def test_no_rule_is_too_long() -> None:
    too_long = {
        f"{name_of(path)}:{function.lineno} {function.name}": lines
        for path in python_files("spec/rules")
        for function in ast.walk(parse(path))
        if isinstance(function, ast.FunctionDef)
        and (lines := (function.end_lineno or 0) - function.lineno + 1) > MAX_RULE_LINES
    }
    assert not too_long, f"more than {MAX_RULE_LINES} lines: {too_long}"


def test_no_file_name_says_nothing() -> None:
    bad = [name_of(path) for path in tracked() if path.stem.lower() in NAMES_THAT_SAY_NOTHING]
    assert not bad, f"name what is in them: {bad}"


def test_imports_are_absolute_and_go_through_markstep() -> None:
    bad = [
        f"{name_of(path)}:{line} {module or '.'}"
        for path in python_files()
        for module, level, line in imports(path)
        if level or module.split(".")[0] in ROOMS
    ]
    assert not bad, f"write `from markstep.… import …`: {bad}"


def test_the_law_stands_on_the_standard_library() -> None:
    allowed = sys.stdlib_module_names | {"markstep"}
    bad = [
        f"{name_of(path)}:{line} {module}"
        for part in STDLIB_ONLY
        for path in python_files(part)
        for module, _, line in imports(path)
        if (module.split(".")[0] not in allowed and not may_import(path, module))
        or (module.startswith("markstep") and not module.startswith("markstep.spec"))
    ]
    assert not bad, f"not of the standard library: {bad}"


def may_import(path: Path, module: str) -> bool:
    folder, packages = ON_ARRAYS
    on_arrays = name_of(path).startswith(folder) and module.split(".")[0] in packages
    return on_arrays or (name_of(path), module) == SOLVER


def test_no_file_names_a_machine_or_a_registry() -> None:
    bad = [
        f"{name_of(path)}: {text}"
        for path in tracked()
        if path.is_file() and not path.is_symlink()
        for text in FORBIDDEN_TEXT
        if text.encode() in path.read_bytes()
    ]
    assert not bad, f"paths of a machine, or hosts of a registry: {bad}"


def pyproject() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def tracked() -> list[Path]:
    """Every file that git knows, and every new one that it does not ignore."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):  # an unpacked source archive
        return [path for path in ROOT.rglob("*") if path.is_file() and not untracked(path)]
    paths = (ROOT / name for name in listed.decode().split("\0") if name)
    return [path for path in paths if path.exists()]


KEPT = (".ci", ".gitignore", ".editorconfig", ".gitattributes")
MADE = ("__pycache__", "build", "dist", "markstep-out", "_site")


def untracked(path: Path) -> bool:
    """What tools leave in a folder: caches, environments, builds."""
    parts = path.relative_to(ROOT).parts
    hidden = any(part.startswith(".") and part not in KEPT for part in parts)
    return hidden or any(part in MADE or part.endswith(".egg-info") for part in parts)


def python_files(under: str = "") -> Iterator[Path]:
    """The Python files of the rooms, or of one file or folder in them."""
    for path in tracked():
        inside = (ROOT / under) in (path, *path.parents)
        if path.suffix == ".py" and room(path) and inside:
            yield path


def imports(path: Path) -> Iterator[tuple[str, int, int]]:
    """Module, level (0 is absolute) and line of every import in the file."""
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, 0, node.lineno
        elif isinstance(node, ast.ImportFrom):
            yield node.module or "", node.level, node.lineno


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def room(path: Path) -> str | None:
    first = path.relative_to(ROOT).parts[0]
    return first if first in ROOMS else None


def is_test(path: Path) -> bool:
    return path.is_relative_to(ROOT / "conformance/tests")


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()
