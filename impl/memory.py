"""Will a program fit? Asked before its donors are consumed, because afterwards it is too late.

A runtime that runs out of memory has already given the donated buffers away (observed: JAX 0.10 on
CPU). Nothing may be lost by a failure, so a program that can't fit is not even started.

Source: semantics.md §6 (32, 58); XLA's ``CompiledMemoryStats``.
"""

from typing import Any, Final

import jax

WORTH_ASKING: Final = 1 << 24
"""Bytes below which nobody runs out of memory because of one program."""


def needed(compiled: Any) -> int:
    """Bytes that a compiled program allocates besides its arguments; 0 if it doesn't say."""
    try:
        stats = compiled.memory_analysis()
        return int(
            stats.output_size_in_bytes + stats.temp_size_in_bytes - stats.alias_size_in_bytes
        )
    except (AttributeError, NotImplementedError, RuntimeError, TypeError):
        # backends without the analysis raise, or give None or fields of None; then nobody knows
        # beforehand, and the program is simply started
        return 0


def require(size: int) -> None:
    """Raise MemoryError if the device certainly cannot allocate ``size`` bytes now."""
    if size < WORTH_ASKING:
        return
    free = available()
    if free is not None and size > free:
        raise MemoryError(f"needs {size} bytes, and {free} are available")


def available() -> int | None:
    """Bytes that the default device can still allocate; None if nobody knows."""
    stats = jax.local_devices()[0].memory_stats()
    if stats and "bytes_limit" in stats:
        return int(stats["bytes_limit"]) - int(stats.get("bytes_in_use", 0))
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None
