"""With what the programs of a seeded run begin."""

from random import Random

from markstep.conformance.programs.motifs import MOTIFS
from markstep.conformance.programs.roles import Motif
from markstep.conformance.programs.source import program_bytes

ALONE = 12
"""Bytes that two tensors and the roles of a motif take."""


def opening_of(seed: int, number: int) -> Motif | None:
    """With what a program of a seeded run begins: a run goes round all motifs, and none."""
    openings: list[Motif | None] = [*MOTIFS, None]
    Random(f"{seed}:openings").shuffle(openings)
    return openings[number % len(openings)]


def beginning_of(seed: int, number: int) -> tuple[bytes, Motif | None]:
    """The bytes of a program of a seeded run, and its opening. In the first round openings stand
    almost alone: all of them come soon, and after that in company."""
    data = program_bytes(seed, number)
    return data[:ALONE] if number <= len(MOTIFS) else data, opening_of(seed, number)
