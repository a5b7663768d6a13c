"""Several devices in one process, without SPMD: an executor for each, and what they share.

Each device has its tensors, its lock on executions, its seeds and its cached numbers; programs are
the process's: what one device has compiled is a hit on the others.

Source: torch_xla::DeviceContextArena, XLAGraphExecutor's ComputationCache; semantics.md §1.6,
§1.10.
"""

import threading
from typing import Self

import jax

from markstep.impl.calls import Calls
from markstep.impl.context import Context
from markstep.impl.errors import bad_argument


class DeviceCalls(Calls):
    """Those methods of an executor."""

    def on_device(self, number: int) -> Self:
        """Another device of this process, as an executor of its own that shares the programs.

        Its tensors are its own: a call that names tensors of two devices is refused, but for
        ``copy_``, which goes through the host. Raises BAD_ARGUMENT if JAX has no such device, or in
        SPMD mode, where all devices work as one.
        """
        other = object.__new__(type(self))
        with self._ctx.lock:
            other._ctx = beside(self._ctx, number)
        return other


def beside(ctx: Context, number: int) -> Context:
    """The state of another device of the process of ``ctx``."""
    if ctx.spmd:
        raise bad_argument("in SPMD mode all devices work as one")
    present = jax.local_devices()
    if not 0 <= number < len(present):
        flag = f"XLA_FLAGS=--xla_force_host_platform_device_count={number + 1}"
        what = f"there is no device {number}: JAX has {len(present)}"
        raise bad_argument(f"{what} (on a CPU, set {flag} before JAX starts)")
    other = Context(ctx.mode, ctx.manual, ctx.cache.capacity, ctx.inline_scalars)
    other.place = present[number] if number else None  # None is what runs on the first one
    # one lock for what is traced and looked up; executions of two devices run at once all the same
    other.lock, other.idle = ctx.lock, threading.Condition(ctx.lock)
    other.cache, other.patterns, other.compilations = ctx.cache, ctx.patterns, ctx.compilations
    other.mode_for = ctx.mode_for
    other.allowed, other.donor_config, other.eager = ctx.allowed, ctx.donor_config, ctx.eager
    other.family = ctx.family
    other.family.add(other)
    return other
