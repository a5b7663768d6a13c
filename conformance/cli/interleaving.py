"""`markstep threads`: programs of several threads in every order, and free threads."""

from collections.abc import Sequence
from dataclasses import dataclass

from markstep.conformance.cli import interrupts
from markstep.conformance.cli.progress import Progress
from markstep.conformance.cli.usage import UsageError, reader_may_leave
from markstep.conformance.exit_codes import ExitCode
from markstep.conformance.show import counted, show, show_observation
from markstep.conformance.threads.orders import named
from markstep.conformance.threads.outcomes import Seen, allowed
from markstep.conformance.threads.play import Fault, Tally, check, judge
from markstep.conformance.threads.programs import program
from markstep.conformance.threads.stress import stress
from markstep.conformance.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Amount:
    """How much to play. ``interruptions``: at most so many in one order; None: any number."""

    programs: int
    first: int
    interruptions: int | None
    seconds: float


def threads_verb(amount: Amount, order: str | None) -> ExitCode:
    """Play, and say what was found."""
    check_amount(amount, order)
    if order is not None:
        return replay(amount.first, order)
    tally = Tally()
    with Progress("programs") as progress:
        for number in range(amount.programs):
            check(amount.first + number, amount.interruptions, tally, interrupts.check)
            progress(number + 1, amount.programs)
    with reader_may_leave():
        for fault in tally.faults:
            print("\n".join(report(fault)), end="\n\n")
        print("\n".join(summary(tally, amount)))
    wrong = bool(tally.faults)
    if amount.seconds:
        wrong |= free(amount)
    return ExitCode.VIOLATES if wrong else ExitCode.CONFORMS


def check_amount(amount: Amount, order: str | None) -> None:
    """Fail before the work. Raises UsageError."""
    if amount.programs < 1 and not amount.seconds:
        raise UsageError("--programs", f"{amount.programs} is nothing to check", "give 1 or more")
    if amount.interruptions is not None and amount.interruptions < 0:
        raise UsageError("--interruptions", f"{amount.interruptions} is less than 0", "or `all`")
    if amount.seconds < 0:
        raise UsageError("--stress", f"{amount.seconds} s is less than 0")
    if order is not None and not order.isdecimal():
        raise UsageError("--order", f"{order!r} is not the name of an order", "digits, as printed")


def replay(seed: int, order: str) -> ExitCode:
    """One order of one program once more."""
    again = program(seed)
    try:
        result = judge(again, named(order), allowed(again), seed)
    except IndexError:
        raise UsageError("--order", f"program {seed} has no order {order}") from None
    with reader_may_leave():
        if isinstance(result, Fault):
            print("\n".join(report(result)))
        else:
            print("\n".join(seen_lines(result)))
            print(f"{Verdict.CONFORMS}: the law has this outcome")
    return ExitCode.VIOLATES if isinstance(result, Fault) else ExitCode.CONFORMS


def report(fault: Fault) -> list[str]:
    """A fault in words: the program, what was seen, how to see it again."""
    lines = [f"{Verdict.VIOLATES}: program {fault.seed}, order {fault.order}: {fault.text}"]
    lines += ["before:", *(f"  {show(action)}" for action in fault.program.setup)]
    for number, actions in enumerate(fault.program.threads):
        lines += [f"thread {number}:", *(f"  {show(action)}" for action in actions)]
    if fault.seen is not None:
        lines += ["seen:", *seen_lines(fault.seen)]
    return [*lines, f"again: markstep threads --seed {fault.seed} --order {fault.order}"]


def seen_lines(seen: Seen) -> list[str]:
    """How the actions of each thread ended, and the reads after them."""
    names = [*(f"thread {number}" for number in range(len(seen) - 1)), "after all"]
    return [
        f"  {name}: {' | '.join(map(show_observation, observations))}"
        for name, observations in zip(names, seen, strict=True)
    ]


def summary(tally: Tally, amount: Amount) -> Sequence[str]:
    """How much was played."""
    bound = "any number of" if amount.interruptions is None else f"at most {amount.interruptions}"
    return [
        f"{counted(tally.programs, 'program')} of two threads (from {amount.first}) in "
        f"{counted(tally.orders, 'order')}, every one with {bound} "
        f"interruption{'' if amount.interruptions == 1 else 's'}: "
        f"{counted(tally.outcomes, 'outcome')}, "
        f"{len(tally.faults)} that the law does not have",
        str(Verdict.VIOLATES if tally.faults else Verdict.CONFORMS),
    ]


def free(amount: Amount) -> bool:
    """Free threads for a while; whether something was lost."""
    found = stress(amount.seconds, seed=amount.first)
    with reader_may_leave():
        print(f"8 free threads for {amount.seconds:g} s: {found.actions} actions", end=", ")
        print(f"{found.told} told of work that fails, {len(found.wrong)} wrong")
        print("\n".join(found.wrong[:10]) or str(Verdict.CONFORMS))
    return bool(found.wrong)
