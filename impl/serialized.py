"""Programs of XLA as bytes, without pickle: what a directory of programs keeps.

The name of a program is a digest of its StableHLO text, in which the shapes of its parameters, its
donors and its constants stand: equal name, equal program, whatever its functions are called.

Source: XLAGraphExecutor's CreateComputationCache (serialize, deserialize); semantics.md §3 (3).
"""

import hashlib
import os
import platform
from collections.abc import Callable
from importlib.metadata import version
from typing import Any, Final

import jax

from markstep.impl.graph import Key
from markstep.impl.lower import Lowered, Program
from markstep.impl.persistent import Directory

Count = Callable[[str], None]
"""Adds one to a counter."""
HIT: Final = "PersistentCacheHit"
MISS: Final = "PersistentCacheMiss"
UNUSABLE: Final = "PersistentCacheDeserializeFailure"


class Stored:
    """The programs in a directory; what calls Python is of one process only and never there."""

    def __init__(self, path: str | os.PathLike[str], readonly: bool, count: Count) -> None:
        self.directory = Directory(path, readonly, environment())
        self.count = count
        self.missed: tuple[Key, Lowered] | None = None

    def load(self, name: str) -> "Loaded | None":
        """The program of a name, ready to run; None if it has to be compiled."""
        found = self.directory.file(name).exists()
        body = self.directory.load(name)
        if body is not None:
            try:
                program = Loaded(body)
            except Exception as cause:  # whatever the runtime raises, the program can be compiled
                self.directory.reject(name, f"cannot be loaded: {_first_line(cause)}")
            else:
                self.count(HIT)
                return program
        self.count(UNUSABLE if found else MISS)
        return None

    def find(self, key: Key, lowered: Lowered) -> Program | None:
        """The program of a graph that was lowered."""
        found = self.load(name_of(lowered.stages)) if lowered.portable else None
        self.missed = (key, lowered) if found is None else None
        return None if found is None else lowered.program(found)

    def compile(self, key: Key) -> Program | None:
        """Compile the program that was not found last, and keep it; None if that is another."""
        if self.missed is None or self.missed[0] != key:
            return None
        lowered, self.missed = self.missed[1], None
        compiled = lowered.stages.compile()
        if lowered.portable:
            self.store(name_of(lowered.stages), compiled)
        return lowered.program(compiled)

    def store(self, name: str, compiled: Any) -> None:
        """Keep a program that JAX has compiled."""
        try:
            executable = compiled.runtime_executable()
            body = executable.client.serialize_executable(executable)
        except Exception as cause:  # it may not be able to; the program runs all the same
            self.directory.reject(name, f"cannot be kept: {_first_line(cause)}")
            return
        self.directory.store(name, bytes(body))


def name_of(lowered: Any) -> str:
    """The name of a program that JAX has lowered."""
    text = f"{jax.default_backend()}\n{lowered.as_text()}"
    return hashlib.sha256(text.encode()).hexdigest()


def environment() -> str:
    """All that decides whether a compiled program can be loaded: versions, device, processor."""
    device = jax.local_devices()[0]
    parts = [f"jax {jax.__version__}", f"jaxlib {version('jaxlib')}", device.device_kind]
    parts += [str(device.client.platform_version), platform.machine(), _processor()]
    parts.append(os.environ.get("XLA_FLAGS", ""))
    return "; ".join(filter(None, parts))


def _processor() -> str:
    """A digest of what the processor can do: machine code for another one may not run."""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as lines:
            flags = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    except OSError:
        return platform.processor()
    return "processor " + hashlib.sha256(flags.encode()).hexdigest()[:12]


class Loaded:
    """A program that was serialized, called as one that JAX has compiled."""

    def __init__(self, body: bytes) -> None:
        """Raises what the runtime raises about bytes that it cannot load."""
        devices = jax.local_devices()[:1]
        self.executable = devices[0].client.deserialize_executable(body, tuple(devices), None)

    def __call__(self, *arguments: jax.Array) -> list[jax.Array]:
        results = self.executable.execute_sharded(list(arguments))
        return [pieces[0] for pieces in results.disassemble_into_single_device_arrays()]

    def memory_analysis(self) -> Any:
        """What it allocates."""
        return self.executable.get_compiled_memory_stats()


def _first_line(cause: BaseException) -> str:
    return (str(cause).splitlines() or [type(cause).__name__])[0]
