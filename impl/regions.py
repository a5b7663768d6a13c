"""Stretches of a program in which nothing may be compiled, executed or transferred.

A refused call says what it would have done, on which line, and who forbade it; it is refused
before it changes anything. Source: users of torch_xla (pytorch/xla#9057, #9171, #9258).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Literal, TypeAlias, get_args

from markstep.impl.errors import ExecutorError, bad_argument
from markstep.impl.explaining import users_line
from markstep.spec.vocabulary import ErrorKind

Deed: TypeAlias = Literal["compile", "execute", "transfer"]
DEEDS: Final = get_args(Deed)


class Regions:
    """What is forbidden now, with the line that forbade it. Regions may nest."""

    __slots__ = ("entered",)

    def __init__(self) -> None:
        self.entered: list[tuple[frozenset[str], str]] = []

    @contextmanager
    def forbid(self, deeds: tuple[Deed, ...]) -> Iterator[None]:
        """A region without these deeds; without any of the three if none is named."""
        unknown = [deed for deed in deeds if deed not in DEEDS]
        if unknown:
            raise bad_argument(f"{unknown[0]!r} cannot be forbidden: {', '.join(DEEDS)}")
        region = (frozenset(deeds or DEEDS), users_line())
        self.entered.append(region)
        try:
            yield
        finally:
            self.entered.remove(region)

    def require(self, deed: Deed, what: str) -> None:
        """Raises REFUSED if the deed is forbidden; ``what`` would be done."""
        for forbidden, where in self.entered:
            if deed in forbidden:
                text = f"{what}, asked for at {users_line()}; forbidden at {where}"
                raise ExecutorError(ErrorKind.REFUSED, text)
