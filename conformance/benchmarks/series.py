"""Times of one executor against the size of a step."""

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Series:
    """The times of one executor."""

    name: str
    what: str
    """What a step is there."""
    version: str
    seconds: dict[int, float] = field(default_factory=dict)
    """By size: the best of all rounds."""
    failed: str = ""
    """Why it was not asked for more."""

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        times = {str(size): seconds for size, seconds in self.seconds.items()}
        return {**vars(self), "seconds": times}
