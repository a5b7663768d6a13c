"""Lists of known failures: what they may say, and what becomes of a report in their light."""

from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from markstep.conformance.adapters.model import ModelAdapter
from markstep.conformance.check import check
from markstep.conformance.exit_codes import ExitCode
from markstep.conformance.known.judging import Known
from markstep.conformance.known.lists import KnownFailure, ListError, read_list, shipped
from markstep.conformance.report.model import Report
from markstep.conformance.verdict import Verdict
from markstep.spec.design import SOUND, Design
from markstep.spec.invariants import CLAIMS
from markstep.spec.vocabulary import Action, Observation, ReadOne

TODAY = date(2026, 12, 1)
Markstep = Callable[..., tuple[int, str, str]]


class Liar(ModelAdapter):
    """Every value that it reads is wrong."""

    def apply(self, action: Action) -> Observation:
        seen = super().apply(action)
        return Observation(value=(7, 7)) if isinstance(action, ReadOne) else seen


def lying(*known: KnownFailure, strict: bool = False) -> Report:
    return check(
        lambda: Liar(SOUND),
        profile="tiny",
        suite=False,
        known=known,
        strict=strict,
        most_failures=3,
    )


def write(folder: Path, text: str, name: str = "mine.toml") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_listed_failure_of_a_rule_is_known_with_its_reason() -> None:
    report = lying(KnownFailure("A14", "reads are wrong here", adapter="mod*", link="https://x"))
    kinds = {failure.verdict for failure in report.failures if failure.id == "A14"}
    assert kinds == {Verdict.KNOWN}
    assert "A14: reads are wrong here (https://x)" in {failure.issue for failure in report.failures}


def test_an_entry_for_another_field_excuses_nothing() -> None:
    report = lying(KnownFailure("A14", "errors are wrong here", field="error"))
    assert Verdict.VIOLATES in {failure.verdict for failure in report.failures}


@pytest.mark.parametrize(
    ("entry", "note"),
    [
        (KnownFailure("A14", "r", adapter="other", source="L"), "L: A14 is not about model"),
        (KnownFailure("A14", "r", version="9.*", source="L"), "L: A14 is not about model"),
        (KnownFailure("A14", "r", expires=date(2020, 1, 1), source="L"), "counts again since 2020"),
    ],
)
def test_an_entry_that_does_not_apply_is_told_and_excuses_nothing(
    entry: KnownFailure, note: str
) -> None:
    report = lying(entry)
    assert report.exit_code == ExitCode.VIOLATES
    assert any(note in told for told in report.notes)


def test_a_listed_failure_that_does_not_fail_is_fixed_and_fails_only_if_strict() -> None:
    entry = KnownFailure("A05", "clones are wrong", source="mine.toml")
    for strict in (False, True):
        report = check(ModelAdapter, profile="tiny", known=[entry], strict=strict)
        assert report.fixed == ["A05: listed as known in mine.toml, not broken"]
        assert report.exit_code == (ExitCode.VIOLATES if strict else ExitCode.CONFORMS)


def test_listed_claims_are_counted_and_no_failures() -> None:
    design = Design(name="sound", borrow_is_flagged=False)
    entries = [KnownFailure("I14", "copy_ does not mark"), KnownFailure("I87", "not so")]
    report = check(lambda: ModelAdapter(design), design=design, profile="tiny", known=entries)
    assert report.claims["I14"].verdict == Verdict.KNOWN
    assert report.claims["I87"].verdict == Verdict.FIXED
    assert "I14" not in {failure.id for failure in report.failures}


def test_an_entry_is_judged_by_the_day() -> None:
    entry = KnownFailure("I14", "r", expires=TODAY)
    assert Known([entry], "a", "1", TODAY).entries == []
    assert Known([entry], "a", "1", date(2026, 11, 30)).entries == [entry]


def test_the_shipped_list_names_what_the_law_marks() -> None:
    marked = {claim.id for claim in CLAIMS.values() if claim.broken_by_torch_xla}
    entries = read_list("torch_xla_2_9_0")
    assert {entry.id for entry in entries} == marked
    assert all(entry.concerns("torch_xla_host", "2.9.0 (torch 2.9.1)") for entry in entries)
    assert list(shipped()) == ["torch_lazy_2_9", "torch_xla_2_9_0"]


def test_lists_extend_lists(tmp_path: Path) -> None:
    write(tmp_path, '[[known]]\nid = "A01"\nreason = "r"\nexpires = 2027-06-30', "base.toml")
    name = write(tmp_path, 'extends = ["base.toml", "torch_xla_2_9_0"]')
    entries = read_list(name)
    assert entries[0].expires == date(2027, 6, 30)
    assert len(entries) == 1 + len(read_list("torch_xla_2_9_0"))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("known = 1", "known must be tables"),
        ("[[knwon]]", "unknown key 'knwon'"),
        ("extends = 'x'", "extends must be a list"),
        ("extends = ['none.toml']", "none.toml: No such file"),
        ("[[known]]\nid = 'A01'", "known[0]: reason is missing"),
        ("[[known]]\nid = 'A999'\nreason = 'r'", "'A999' is neither an invariant nor a rule"),
        ("[[known]]\nid = 'A01'\nreason = 1", "known[0].reason: must be text"),
        ("[[known]]\nid = 'A01'\nreason = 'r'\nexpires = '2027'", "must be a date"),
        ("[[known]]\nid = 'A01'\nreason = 'r'\nwhy = 'r'", "unknown field 'why'"),
        ("[[known", "not TOML"),
    ],
)
def test_a_mistake_in_a_list_is_one_line(
    tmp_path: Path, markstep: Markstep, text: str, what: str
) -> None:
    name = write(tmp_path, text)
    with pytest.raises(ListError) as told:
        read_list(name)
    assert what in str(told.value)
    code, out, err = markstep("run", "--adapter", "model", "--known", name)
    assert (code, out, err.count("\n")) == (ExitCode.USAGE, "", 1)
    assert what in err


def test_a_list_that_extends_itself_is_refused(tmp_path: Path) -> None:
    name = write(tmp_path, 'extends = ["mine.toml"]')
    with pytest.raises(ListError, match="more than 8 deep"):
        read_list(name)


@given(st.text(max_size=60))
def test_no_text_does_more_than_raise(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzz.toml"
    path.write_text(text, encoding="utf-8", errors="replace")
    try:
        read_list(str(path))
    except ListError as error:
        assert str(error).startswith(str(path))
