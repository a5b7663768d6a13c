"""What is claimed of pieces, as functions that say of some numbers whether it is true of them.

They are run on numbers of which nothing is known, so what is proved holds for every size, every
number of tiles and every element. An axis at a time is enough: a tile of a tensor is one tile of
each axis, and `one_axis_more` numbers them without a clash.
"""

from markstep.spec.pieces import interval, one_axis_more, tile_length


def covers(size: int, tiles: int, element: int) -> bool:
    """Each element of an axis is in a tile."""
    if not (tiles >= 1 and 0 <= element < size):
        return True
    number = element // tile_length(size, tiles)
    start, stop = interval(size, tiles, number)
    return 0 <= number < tiles and start <= element < stop


def apart(size: int, tiles: int, one: int, other: int, element: int) -> bool:
    """No element is in two tiles."""
    if not (tiles >= 1 and size >= 0 and 0 <= one < other < tiles):
        return True
    (a, b), (c, d) = interval(size, tiles, one), interval(size, tiles, other)
    return not (a <= element < b and c <= element < d)


def inside(size: int, tiles: int, number: int) -> bool:
    """A tile has no elements but those of the axis, and no more than its length."""
    if not (tiles >= 1 and size >= 0 and 0 <= number < tiles):
        return True
    start, stop = interval(size, tiles, number)
    return 0 <= start <= stop <= size and stop - start <= tile_length(size, tiles)


def padded_last(size: int, tiles: int, number: int) -> bool:
    """Only the last tile that has elements may lack some, and a tile behind it has none."""
    if not (tiles >= 1 and size >= 0 and 0 <= number < tiles - 1):
        return True
    (start, stop), (begin, end) = (interval(size, tiles, n) for n in (number, number + 1))
    full = stop - start == tile_length(size, tiles)
    return begin == stop and (full or begin == end == size)


def padded_little(size: int, tiles: int) -> bool:
    """All tiles together have fewer zeros than there are tiles, and none if the size divides."""
    if not (tiles >= 1 and size >= 0):
        return True
    zeros = tiles * tile_length(size, tiles) - size
    return 0 <= zeros < tiles and (size % tiles != 0 or zeros == 0)


def numbered_once(before: int, number: int, tiles: int, along: int) -> bool:
    """With one more axis cut, tiles have numbers from 0 on, and the number tells which tile."""
    if not (0 <= number < before and 0 <= along < tiles):
        return True
    both = one_axis_more(number, tiles, along)
    return 0 <= both < before * tiles and both // tiles == number and both % tiles == along
