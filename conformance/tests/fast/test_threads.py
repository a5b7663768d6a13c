"""Threads: the scheduler itself, every order of small programs, and faults that it must find."""

import pytest

from markstep.conformance.cli.app import code_of, main
from markstep.conformance.exit_codes import ExitCode
from markstep.conformance.threads.orders import named, orders
from markstep.conformance.threads.outcomes import allowed
from markstep.conformance.threads.play import Tally, check, play
from markstep.conformance.threads.programs import program
from markstep.conformance.threads.stress import stress
from markstep.conformance.threads.turns import Turns, WedgedError
from markstep.impl import reading, syncing
from markstep.spec.vocabulary import ReadMany


def runs(interruptions: int | None) -> list[str]:
    """What two threads that take a lock twice write, in every order."""
    found = []
    for order in orders(interruptions):
        turns, text = Turns(order.choose), []

        def write(letter: str, turns: Turns = turns, text: list[str] = text) -> None:
            for _ in range(2):
                with turns.lock, turns.lock:
                    text.append(letter)

        for letter in "ab":
            turns.spawn(lambda letter=letter: write(letter))
        turns.run()
        found.append("".join(text))
    return found


def test_every_order_is_played_once():
    assert sorted(set(runs(None))) == ["aabb", "abab", "abba", "baab", "baba", "bbaa"]
    assert set(runs(0)) == {"aabb", "bbaa"}
    assert set(runs(0)) < set(runs(1)) < set(runs(None))


def test_a_condition_wakes_whoever_waits():
    for order in orders(None):
        turns, text = Turns(order.choose), []

        def wait(turns: Turns = turns, text: list[str] = text) -> None:
            with turns.lock:
                while not text:
                    turns.condition.wait()
                text.append("woken")

        def wake(turns: Turns = turns, text: list[str] = text) -> None:
            with turns.lock:
                text.append("sent")
                turns.condition.notify_all()

        turns.spawn(wait)
        turns.spawn(wake)
        turns.run()
        assert text == ["sent", "woken"]


def test_a_wedge_is_found_and_leaves_no_thread_behind():
    turns = Turns(orders(None).__next__().choose)

    def wait() -> None:
        with turns.lock:
            turns.condition.wait()

    turns.spawn(wait)
    with pytest.raises(WedgedError, match="every thread waits"):
        turns.run()


def test_what_a_thread_raises_is_told():
    turns = Turns(orders(None).__next__().choose)
    turns.spawn(lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        turns.run()


def test_every_order_of_small_programs_is_explained_by_the_law():
    tally = Tally()
    for seed in range(40):
        check(seed, 1, tally)
    assert not tally.faults
    assert tally.orders > 400
    assert tally.outcomes > 1.5 * tally.programs


@pytest.mark.parametrize("seed", [3, 8])
def test_orders_with_two_interruptions(seed):
    """Among others: one failure for whom two threads wait; a read that others overtake."""
    tally = Tally()
    assert check(seed, 2, tally) is None


def test_an_order_can_be_played_again():
    order = next(iter(orders(1)))
    first = play(program(8), order)
    assert play(program(8), named(order.name)) == first
    assert first in allowed(program(8))


def found(seeds: range, interruptions: int) -> bool:
    tally = Tally()
    return any(check(seed, interruptions, tally) for seed in seeds)


def test_a_sync_that_does_not_look_again_is_found(monkeypatch):
    monkeypatch.setattr(syncing, "_still_safe", lambda *_: True)
    assert found(range(60, 260), 1)


def reads_many(seed: int) -> bool:
    return any(
        isinstance(action, ReadMany) for thread in program(seed).threads for action in thread
    )


def test_a_read_that_others_overtake_is_found(monkeypatch):
    """Reading several tensors without holding on to what is not computed."""

    def torn(ctx, records):
        return [reading.read_one(ctx, record) for record in records]

    seeds = [seed for seed in range(300) if reads_many(seed)]
    monkeypatch.setattr(reading, "read_many", torn)
    tally = Tally()
    assert any(check(seed, 1, tally) for seed in seeds[:60])


def test_free_threads_lose_nothing():
    run = stress(3.0, seed=1)
    assert run.wrong == []
    assert run.actions > 500


def test_the_verb(capsys):
    assert code_of(lambda: main_code(["threads", "--programs", "5"])) == ExitCode.CONFORMS
    assert "5 programs of two threads" in capsys.readouterr().out
    assert main_code(["threads", "--seed", "8", "--order", "01"]) == ExitCode.CONFORMS
    assert "after all" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--order", "x"], "digits"),
        (["--order", "99999999"], "no order"),
        (["--programs", "0"], "nothing to check"),
        (["--interruptions", "-1"], "less than 0"),
    ],
)
def test_mistakes_are_one_line(arguments, text, capsys):
    assert main_code(["threads", *arguments]) == ExitCode.USAGE
    error = capsys.readouterr().err
    assert text in error
    assert error.count("\n") == 1


def main_code(arguments: list[str]) -> int:
    with pytest.raises(SystemExit) as leaving:
        main(arguments)
    return leaving.value.code
