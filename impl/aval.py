"""Shapes with element types ("abstract values"), one object for each.

Interning makes the most frequent question of tracing, "do these two agree?", an identity test.

Source: xla::Shape; semantics.md §1.4.
"""

from typing import TypeAlias
from weakref import WeakValueDictionary

import jax
import numpy as np
import numpy.typing as npt

from markstep.impl.errors import bad_argument

Array: TypeAlias = npt.NDArray[np.generic] | jax.Array
"""What a buffer may hold: a device array, or a numpy array where programs are interpreted."""

HostArray: TypeAlias = npt.NDArray[np.generic]


class Aval:
    """A shape with an element type. Made only by ``aval_of``.

    ``scalar`` has the same element type and no axes.
    """

    __slots__ = ("__weakref__", "dtype", "scalar", "shape")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> None:
        self.shape = shape
        self.dtype = dtype
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


def host_array(data: npt.ArrayLike) -> HostArray:
    """Host data as an array of the element type that JAX would give it; perhaps not a copy.

    That is one of 32 bits, unless ``jax_enable_x64`` is set: fractions are rounded, as JAX rounds
    them. Raises BAD_ARGUMENT for numbers that are beyond this type.
    """
    array = np.asarray(data)
    dtype = jax.dtypes.canonicalize_dtype(array.dtype)
    if dtype == array.dtype:
        return array
    with np.errstate(over="ignore"):
        narrow = array.astype(dtype)
    kept = narrow == array if dtype.kind in "iu" else np.isfinite(narrow) == np.isfinite(array)
    if not kept.all():
        raise bad_argument(f"the data hold values that {dtype} does not")
    return narrow
