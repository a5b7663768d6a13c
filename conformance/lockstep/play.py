"""Playing programs against an executor on a thread that may be given up."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from markstep.conformance.adapter import Adapter, Factory, make, one_line
from markstep.conformance.claims import ClaimWatch
from markstep.conformance.lockstep.deadline import Hang, Worker
from markstep.conformance.lockstep.session import Counts, ProgramResult, Session, drive, ended
from markstep.conformance.programs.generate import MAX_ACTIONS, Chooser
from markstep.conformance.programs.roles import Motif
from markstep.conformance.programs.source import Source
from markstep.conformance.verdict import Verdict
from markstep.spec.design import Design
from markstep.spec.vocabulary import Action


class Player:
    """Holds one executor; when it breaks, the next program gets a fresh one."""

    def __init__(self, factory: Factory, design: Design, limit_s: float) -> None:
        self.factory, self.design, self.worker = factory, design, Worker(limit_s)
        self.notes: list[str] = []
        """What the report should say: an executor's remark, and that one does not close."""
        self.adapter: Adapter = self.worker.call(lambda _: make(factory, design))

    def generated(
        self, data: bytes, watch: ClaimWatch, counts: Counts, opening: Motif | None = None
    ) -> ProgramResult:
        """The program that the bytes mean after its opening, chosen while it runs."""

        def choose(session: Session) -> Iterator[Action]:
            capabilities = session.adapter.capabilities
            chooser = Chooser(Source(data), self.design, capabilities, opening)
            for _ in range(MAX_ACTIONS):
                if chooser.done:
                    return
                yield chooser.choose(session.state)

        return self._play(choose, watch, counts)

    def given(
        self, program: tuple[Action, ...], watch: ClaimWatch, counts: Counts
    ) -> ProgramResult:
        """A program as it is."""
        return self._play(lambda _: iter(program), watch, counts)

    def _play(
        self,
        actions: Callable[[Session], Iterator[Action]],
        watch: ClaimWatch,
        counts: Counts,
    ) -> ProgramResult:
        taken: list[Action] = []
        adapter, design = self.adapter, self.design
        try:
            result = self.worker.call(
                lambda pulse: drive(actions, adapter, design, watch, counts, taken, pulse.beat)
            )
        except Hang as hang:
            self._renew()
            return replace(ended(taken, Verdict.ERROR, message=str(hang)), hung=True)
        if result.verdict == Verdict.ERROR:
            self._release(adapter)
            self._renew()
        return result

    def _renew(self) -> None:
        self.adapter = self.worker.call(lambda _: make(self.factory, self.design))

    def close(self) -> None:
        """Release the executor and the thread."""
        self._try("has no remark", lambda: self._note(getattr(self.adapter, "remark", "")))
        self._release(self.adapter)
        self.worker.close()

    def _release(self, adapter: Adapter) -> None:
        self._try("does not close", adapter.close)

    def _try(self, fault: str, work: Callable[[], None]) -> None:
        try:
            self.worker.call(lambda _: work())
        except Exception as error:
            self._note(f"the adapter {fault}: {one_line(error)}")

    def _note(self, text: str) -> None:
        if text and text not in self.notes:
            self.notes.append(text)
