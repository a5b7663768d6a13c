"""Programs of several threads on the reference executor, in every order, against the law."""

from collections.abc import Callable
from dataclasses import dataclass, field

from markstep.conformance.adapters.reference import ReferenceAdapter
from markstep.conformance.threads import programs
from markstep.conformance.threads.orders import Order, orders
from markstep.conformance.threads.outcomes import Concurrent, Seen, allowed, comparable
from markstep.conformance.threads.turns import Turns, WedgedError
from markstep.impl.executor import Executor
from markstep.impl.lower import CompileMode
from markstep.spec.vocabulary import Action, Observation


class ThreadedAdapter(ReferenceAdapter):
    """The reference executor with workers, and somebody who says which thread goes on."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        super().__init__("interpret")

    def _new_executor(self, mode: CompileMode) -> Executor:
        executor = Executor(mode)
        executor.ruled_by(self._turns.lock, self._turns.condition, self._turns)
        return executor


@dataclass(frozen=True, slots=True)
class Fault:
    """An order in which the executor showed what the law never shows."""

    seed: int
    program: Concurrent
    order: str
    seen: Seen | None
    """None: nobody came to an end."""
    text: str


@dataclass(slots=True)
class Tally:
    """What was played so far."""

    programs: int = 0
    orders: int = 0
    outcomes: int = 0
    faults: list[Fault] = field(default_factory=list)


def play(program: Concurrent, order: Order) -> Seen:
    """One run. Raises WedgedError if its threads wait for one another for ever."""
    turns = Turns(order.choose)
    adapter = ThreadedAdapter(turns)
    for action in program.setup:
        adapter.apply(action)
    seen: list[list[Observation]] = [[] for _ in program.threads]
    for number, actions in enumerate(program.threads):
        turns.spawn(_thread(adapter, actions, seen[number]))
    turns.run()
    ending = [comparable(action, adapter.apply(action)) for action in program.ending]
    return (*map(tuple, seen), tuple(ending))


def _thread(
    adapter: ThreadedAdapter, actions: tuple[Action, ...], seen: list[Observation]
) -> Callable[[], None]:
    def work() -> None:
        for action in actions:
            seen.append(comparable(action, adapter.apply(action)))

    return work


def check(
    seed: int, interruptions: int | None, tally: Tally, beat: Callable[[], None] = lambda: None
) -> Fault | None:
    """Play every order of a program, with a ``beat`` before each. The first fault, if there is
    one."""
    program = programs.program(seed)
    expected = allowed(program)
    tally.programs += 1
    met = set()
    for order in orders(interruptions):
        beat()
        tally.orders += 1
        fault = judge(program, order, expected, seed)
        if isinstance(fault, Fault):
            tally.faults.append(fault)
            return fault
        met.add(fault)
    tally.outcomes += len(met)
    return None


def judge(program: Concurrent, order: Order, expected: set[Seen], seed: int) -> Fault | Seen:
    """Play one order: what was seen, or a fault. Raises IndexError if there is no such order."""
    try:
        seen = play(program, order)
    except WedgedError as error:
        return Fault(seed, program, order.name, None, f"{error}")
    if seen in expected:
        return seen
    return Fault(seed, program, order.name, seen, "no sequence of the actions explains it")
