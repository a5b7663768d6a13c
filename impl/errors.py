"""The one exception of the executor, and the failure that a record carries until it is told.

Source: spec/vocabulary.py (ErrorKind); semantics.md §1.7 (stored errors).
"""

from collections.abc import Iterable
from dataclasses import dataclass

from markstep.spec.vocabulary import ErrorKind


class ExecutorError(RuntimeError):
    """A call of the executor was refused or failed; ``kind`` says why in a stable way."""

    def __init__(self, kind: ErrorKind, message: str) -> None:
        super().__init__(f"{kind.value}: {message}")
        self.kind = kind


@dataclass(eq=False, slots=True)
class Failure:
    """One failed execution, as stored on the records that lost their result by it."""

    number: int
    message: str
    cause: BaseException | None

    def error(self) -> ExecutorError:
        """A fresh exception to raise; the original one becomes its cause."""
        error = ExecutorError(ErrorKind.EXECUTION_FAILED, self.message)
        error.__cause__ = self.cause
        return error


def bad_argument(message: str) -> ExecutorError:
    """The exception for a call that has no meaning (shapes, dtypes, foreign tensors)."""
    return ExecutorError(ErrorKind.BAD_ARGUMENT, message)


def names(ids: Iterable[int]) -> str:
    """Tensors as messages name them: ``tensor 3`` or ``tensors 3, 5``."""
    listed = sorted(set(ids))
    shown = ", ".join(map(str, listed[:8])) + (", ..." if len(listed) > 8 else "")
    return f"tensor {shown}" if len(listed) == 1 else f"tensors {shown}"
