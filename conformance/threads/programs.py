"""Programs of several threads that get in one another's way: shared tensors, few kinds of action.

A18 is not among them: what it forgets depends on whether a call that waits has begun its execution,
and the law has one call at a time.
"""

from collections.abc import Callable
from random import Random

from markstep.conformance.threads.outcomes import Concurrent
from markstep.spec.vocabulary import (
    Action,
    Apply,
    AssignInPlace,
    Clone,
    CopyFromHost,
    CopyInto,
    CreateFromHost,
    Detach,
    EvictCache,
    GraphHash,
    ReadMany,
    ReadOne,
    SetDonation,
    StepBarrier,
    Sync,
    SyncLive,
    TensorName,
    WaitDevice,
    WarmUp,
)

SHARED = tuple(map(TensorName, (1, 2, 3)))
"""Tensors that every thread uses."""
APART = 10
"""Thread number n names its own tensors from (n + 1) · APART on."""


class Author:
    """Writes the actions of one thread. ``mine``: the tensors that it has made so far."""

    def __init__(self, random: Random, thread: int) -> None:
        self.random = random
        self.mine: list[TensorName] = []
        self.first = (thread + 1) * APART

    def any(self) -> TensorName:
        """A tensor that exists whatever the other threads do."""
        return self.random.choice([*SHARED, *self.mine])

    def some(self) -> tuple[TensorName, ...]:
        """One or two such tensors."""
        return tuple(dict.fromkeys((self.any(), self.any())))

    def new(self) -> TensorName:
        """A name that is nobody else's."""
        self.mine.append(TensorName(self.first + len(self.mine)))
        return self.mine[-1]

    def tracing(self) -> Action:
        """An action that runs nothing."""
        a, b = self.any(), self.any()
        makers: list[Callable[[], Action]] = [
            lambda: AssignInPlace(a, "add", (b,)),
            lambda: AssignInPlace(a, "add_scalar", (), 1),
            lambda: CopyInto(a, b),
            lambda: Apply(self.new(), "mul", (a, b)),
            lambda: Clone(self.new(), a),
            lambda: Detach(self.new(), a),
            lambda: Apply(self.new(), "failing_compile", (a,)),
            lambda: SetDonation(a),
            lambda: CopyFromHost(a, (5.0, 6.0), upload=False),
        ]
        return self.random.choice(makers)()

    def syncing(self) -> Action:
        """An action that may compile, run or wait."""
        flag = self.random.random() < 0.5
        makers: list[Callable[[], Action]] = [
            lambda: Sync(self.some(), sync=self.random.random() < 0.5, wait=flag),
            lambda: SyncLive(wait=flag),
            lambda: StepBarrier(wait=flag),
            lambda: ReadOne(self.any()),
            lambda: ReadMany(self.some()),
            lambda: WarmUp(self.some(), sync=flag),
            lambda: GraphHash(self.some()),
            WaitDevice,
            EvictCache,
        ]
        weights = (4, 3, 3, 3, 3, 1, 1, 1, 1)
        return self.random.choices(makers, weights)[0]()

    def failing(self) -> Action:
        """Work that will fail on the device."""
        return Apply(TensorName(self.first + APART // 2), "failing_execute", (self.any(),))


def program(seed: int, syncs: tuple[int, ...] = (2, 1)) -> Concurrent:
    """A program with so many syncs (or reads) in each thread, each after zero to two ops."""
    random = Random(seed)
    setup: list[Action] = [
        CreateFromHost(name, (float(name), float(name + 1)), (2,), upload=random.random() < 0.7)
        for name in SHARED
    ]
    setup += [AssignInPlace(SHARED[0], "add_scalar", (), 2)]
    if random.random() < 0.5:
        setup.append(StepBarrier(wait=True))
    threads = []
    for number, count in enumerate(syncs):
        author = Author(random, number)
        actions: list[Action] = []
        if random.random() < 0.25:
            actions.append(author.failing())
        for _ in range(count):
            actions += [author.tracing() for _ in range(random.randint(0, 2))]
            actions.append(author.syncing())
        threads.append(tuple(actions))
    return Concurrent(tuple(setup), tuple(threads))
