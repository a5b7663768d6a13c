"""Shapes with element types ("abstract values"), one object for each.

Interning makes the most frequent question of tracing, "do these two agree?", an identity test.

Source: xla::Shape; semantics.md §1.4.
"""

from operator import index
from typing import Any, TypeAlias
from weakref import WeakValueDictionary

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from markstep.impl.errors import bad_argument

Array: TypeAlias = npt.NDArray[np.generic] | jax.Array
"""What a buffer may hold: a device array, or a numpy array where programs are interpreted."""

HostArray: TypeAlias = npt.NDArray[np.generic]


class Aval:
    """A shape with an element type. Made only by ``aval_of``.

    ``scalar`` has the same element type and no axes. ``numeric``: the elements are numbers, which
    truth values are not.
    """

    __slots__ = ("__weakref__", "dtype", "numeric", "scalar", "shape")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> None:
        self.shape = shape
        self.dtype = dtype
        self.numeric = dtype.kind != "b"
        self.scalar: Aval = aval_of((), dtype) if shape else self

    def __repr__(self) -> str:
        return f"{self.dtype.name}[{','.join(map(str, self.shape))}]"

    def struct(self) -> jax.ShapeDtypeStruct:
        """The same as JAX wants it for lowering."""
        return jax.ShapeDtypeStruct(self.shape, self.dtype)  # type: ignore[no-untyped-call]


class TupleAval(Aval):
    """The abstract value of an op with several results; no tensor ever has it."""

    __slots__ = ("elements",)

    def __init__(self, elements: tuple[Aval, ...]) -> None:
        super().__init__((), np.dtype(object))
        self.elements = elements

    def __repr__(self) -> str:
        return f"({', '.join(map(repr, self.elements))})"


_avals: WeakValueDictionary[tuple[tuple[int, ...], np.dtype[np.generic]], Aval] = (
    WeakValueDictionary()
)


def aval_of(shape: tuple[int, ...], dtype: npt.DTypeLike) -> Aval:
    """The one ``Aval`` with this shape and dtype."""
    key = (shape, np.dtype(dtype))
    found = _avals.get(key)
    if found is None:
        # setdefault: two threads may come here at once and must leave with the same object
        found = _avals.setdefault(key, Aval(*key))
    return found


def element_type(dtype: npt.DTypeLike) -> np.dtype[np.generic]:
    """The element type that JAX would give: of 32 bits, unless ``jax_enable_x64`` is set.

    Raises BAD_ARGUMENT if no device has such elements.
    """
    try:
        wanted = np.dtype(dtype)
        if not jnp.issubdtype(wanted, np.number) and wanted.kind != "b":
            raise TypeError(f"{wanted} elements are no numbers")
        return np.dtype(jax.dtypes.canonicalize_dtype(wanted))
    except TypeError as cause:
        first = (str(cause).splitlines() or [""])[0]
        raise bad_argument(f"no device has elements of type {dtype!r}: {first}") from None


def lengths(shape: Any) -> tuple[int, ...]:
    """A shape as whole numbers from 0 on. Raises BAD_ARGUMENT."""
    try:
        whole = tuple([index(length) for length in shape])
    except TypeError:
        raise bad_argument(f"{shape!r} is not a shape: a tuple of whole numbers") from None
    if any(length < 0 for length in whole):
        raise bad_argument(f"{whole} is not a shape: a length is negative")
    return whole


def in_range(value: float, dtype: np.dtype[np.generic]) -> HostArray:
    """A number as a 0-d array. Raises BAD_ARGUMENT if the element type does not have it.

    A fraction is rounded to what the type has; it does not become infinite.
    """
    try:
        with np.errstate(all="ignore"):
            array = np.array(value).astype(dtype)
            whole = dtype.kind in "iub"
            fits = bool(array == value) if whole else _finite(array) == _finite(value)
    except (OverflowError, ValueError, TypeError):
        fits = False
    if not fits:
        raise bad_argument(f"{value!r} is not a value of {dtype.name}")
    return array


def _finite(value: Any) -> bool:
    return bool(np.isfinite(np.float64(value)))


def host_array(data: npt.ArrayLike) -> HostArray:
    """Host data as an array of the element type that JAX would give it; perhaps not a copy.

    That is one of 32 bits, unless ``jax_enable_x64`` is set: fractions are rounded, as JAX rounds
    them. Raises BAD_ARGUMENT for numbers that are beyond this type.
    """
    if np.ma.is_masked(data):
        raise bad_argument("masked elements have no values: fill them first")
    try:
        array = np.asarray(data)
    except (ValueError, TypeError) as cause:
        raise bad_argument(f"the data are no array: {cause}") from cause
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    dtype = element_type(array.dtype)
    if dtype == array.dtype:
        return array
    with np.errstate(over="ignore"):
        narrow = array.astype(dtype)
    kept = narrow == array if dtype.kind in "iu" else np.isfinite(narrow) == np.isfinite(array)
    if not kept.all():
        raise bad_argument(f"the data hold values that {dtype} does not")
    return narrow
