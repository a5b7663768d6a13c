"""The mutants: every lie is one change of the source as it is, and lies are found out."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from markstep.conformance.exit_codes import ExitCode
from markstep.conformance.mutants import detectors
from markstep.conformance.mutants.catalogue import CatalogueError, entries, read_catalogue
from markstep.conformance.mutants.matrix import ROOMS, Matrix
from markstep.conformance.mutants.page import mutants_page
from markstep.conformance.mutants.patching import changed, source_of
from markstep.conformance.mutants.running import run_trials
from markstep.conformance.mutants.trials import Fate, Terms, Trial
from markstep.spec.invariants import CLAIMS
from markstep.spec.machine import ACTIONS

Markstep = Callable[..., tuple[int, str, str]]
CATALOGUE = read_catalogue()
SOON_KILLED = ("M16", "M45", "M64", "M162", "M167")
"""Lies that are found out within the tiny profile."""


def test_each_mutant_is_another_change_of_the_source_as_it_is() -> None:
    texts, stale = set(), []
    for mutant in CATALOGUE.values():
        try:
            texts.add((mutant.file, changed(mutant, source_of(mutant))))
        except CatalogueError as error:
            stale.append(str(error))
    assert not stale, "the source has changed: adapt the catalogue"
    assert len(texts) == len(CATALOGUE) >= 80


def test_a_text_that_is_not_there_exactly_once_is_refused() -> None:
    mutant = CATALOGUE["M01"]
    with pytest.raises(CatalogueError, match="occurs 0 times"):
        changed(replace(mutant, old="no such text"), source_of(mutant))
    with pytest.raises(CatalogueError, match="not once"):
        changed(replace(mutant, old="graph"), source_of(mutant))
    with pytest.raises(CatalogueError, match="there is no nothing"):
        changed(replace(mutant, function="nothing"), source_of(mutant))
    with pytest.raises(CatalogueError, match="means the same"):
        changed(replace(mutant, new=f"{mutant.old}  # the same"), source_of(mutant))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[[mutant]]\nid = 'M01'", "missing"),
        ("[[mutant]]\nid = 'X'", "missing"),
        ("[[mutant]]\nwrong = 'M01'", "unknown field 'wrong'"),
        ("[[mutant]]\nid = 1", "not text"),
        ("mutants = 1", "nothing but"),
        ("[[mutant]", "not TOML"),
    ],
)
def test_a_damaged_catalogue_is_told_of(text: str, what: str) -> None:
    with pytest.raises(CatalogueError, match=what):
        list(entries("x.toml", text))


def test_the_truth_survives_and_lies_are_found_out(tmp_path: Path) -> None:
    tasks = [(None, "random"), *((CATALOGUE[id], "random") for id in SOON_KILLED)]
    trials = run_trials(tasks, Terms("tiny", compiled=tmp_path), processes=1)
    truth, *lies = trials
    assert (truth.fate, truth.message) == (Fate.SURVIVED, "")
    assert {trial.mutant: trial.fate for trial in lies} == dict.fromkeys(SOON_KILLED, Fate.KILLED)
    rules = {rule.id for rule in ACTIONS.values()}
    assert all(trial.by in CLAIMS or trial.by in rules for trial in lies)


def test_every_detector_can_be_asked() -> None:
    assert list(detectors.DETECTORS) == list(ROOMS)


def matrix_of(*fates: tuple[str, Fate]) -> Matrix:
    mutants = [CATALOGUE[id] for id, _ in fates]
    matrix = Matrix(mutants, ["random"], Terms(), command="markstep mutants")
    for id, fate in fates:
        matrix.add(Trial(id, "random", fate, "A10" if fate is Fate.KILLED else "", "data", 12, 0.5))
    return matrix


@pytest.mark.parametrize(
    ("fates", "code"),
    [
        ([("M01", Fate.KILLED)], ExitCode.CONFORMS),
        ([("M01", Fate.KILLED), ("M03", Fate.SURVIVED)], ExitCode.VIOLATES),
        ([("M01", Fate.UNDECIDED)], ExitCode.INCONCLUSIVE),
        ([("M01", Fate.ERROR), ("M03", Fate.SURVIVED)], ExitCode.ERROR),
        ([("M15", Fate.SURVIVED)], ExitCode.CONFORMS),
        ([("M15", Fate.KILLED)], ExitCode.VIOLATES),
    ],
)
def test_the_exit_code_says_whether_all_are_killed(
    fates: list[tuple[str, Fate]], code: ExitCode
) -> None:
    assert CATALOGUE["M15"].equivalent
    assert matrix_of(*fates).exit_code is code


def test_the_matrix_is_told_as_json_and_as_a_page() -> None:
    matrix = matrix_of(("M01", Fate.KILLED), ("M15", Fate.UNDECIDED))
    told = json.loads(json.dumps(matrix.to_json()))
    assert told["summary"]["random"]["killed"] == 1
    assert [mutant["fate"] for mutant in told["mutants"]] == ["killed", "undecided"]
    page = mutants_page(matrix)
    assert "| A10 data, 12 |" in page and CATALOGUE["M15"].equivalent in page


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (["--only", "M9999"], "unknown mutant 'M9999'"),
        (["--detector", "radnom"], "did you mean 'random'?"),
        (["--budget", "0"], "give a positive number"),
        (["--profile", "huge"], "unknown profile"),
        (["--only", "M01", "--detector", "logs"], "none of these detectors"),
    ],
)
def test_a_mistake_of_the_user_is_one_line(
    markstep: Markstep, options: list[str], what: str
) -> None:
    code, out, err = markstep("mutants", *options)
    assert (code, out) == (2, "")
    assert what in err and err.count("\n") == 1


@pytest.mark.parametrize("text", ["", "[]", "{}", "null", "[" * 100_000, '{"profile": 1}', "ÿ"])
def test_what_is_no_matrix_is_told_in_one_line(
    markstep: Markstep, tmp_path: Path, text: str
) -> None:
    path = tmp_path / "matrix.json"
    path.write_text(text, encoding="latin-1")
    code, out, err = markstep("mutants", "--only", "M64", "--resume", str(path))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "not the JSON of a matrix" in err


def test_a_matrix_goes_on_from_an_earlier_one() -> None:
    earlier = matrix_of(("M01", Fate.KILLED), ("M03", Fate.UNDECIDED)).to_json()
    matrix = Matrix([CATALOGUE["M01"], CATALOGUE["M03"]], ["random"], Terms())
    matrix.take(earlier)
    assert set(matrix.trials) == {("M01", "random")}
    other = Matrix([CATALOGUE["M01"]], ["random"], Terms(seed=1))
    other.take(earlier)
    changed_since = Matrix([replace(CATALOGUE["M01"], new="other")], ["random"], Terms())
    changed_since.take(earlier)
    assert other.trials == changed_since.trials == {}
