"""All orders of a run's decisions, one after the other: depth first, each exactly once.

With a bound, a thread that could go on is interrupted at most so often in one run: most faults of
concurrent programs need one or two interruptions at the wrong place.
"""

from collections.abc import Iterator


class Order:
    """The decisions of one run: first those that are given, then always the first possible one."""

    def __init__(self, given: tuple[int, ...], interruptions: int | None) -> None:
        self.given = given
        self.left = interruptions
        self.made: list[tuple[int, int]] = []
        """For each decision how many possibilities there were, and which was taken."""

    def choose(self, ready: list[int], last: int) -> int:
        """The next decision. To go on with the same task comes first and interrupts nobody."""
        options = ready
        if last in ready:
            others = [number for number in ready if number != last]
            options = [last] if self.left == 0 else [last, *others]
        place = len(self.made)
        taken = self.given[place] if place < len(self.given) else 0
        self.made.append((len(options), taken))
        if self.left is not None and last in ready and options[taken] != last:
            self.left -= 1
        return options[taken]

    def following(self) -> tuple[int, ...] | None:
        """How the next run has to begin; None if this was the last one."""
        made = list(self.made)
        while made:
            count, taken = made.pop()
            if taken + 1 < count:
                return (*(choice for _, choice in made), taken + 1)
        return None

    @property
    def name(self) -> str:
        """The decisions as text, to play the same run again."""
        return "".join(str(taken) for _, taken in self.made).rstrip("0") or "0"


def orders(interruptions: int | None) -> Iterator[Order]:
    """Every order. Each has to be played before the next one is asked for."""
    given: tuple[int, ...] | None = ()
    while given is not None:
        order = Order(given, interruptions)
        yield order
        given = order.following()


def named(name: str, interruptions: int | None = None) -> Order:
    """The order that was printed under this name. Raises ValueError if it is no such name."""
    if not name.isdecimal():
        raise ValueError(f"{name!r} is not the name of an order: digits")
    return Order(tuple(map(int, name)), interruptions)
