"""What all tensors of one device share: live records, counters, caches, switches, the lock.

Source: torch_xla::DeviceContextArena; semantics.md §1.6, §1.10-1.12.
"""

import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from operator import attrgetter
from typing import Final, Literal, TypeAlias
from weakref import ReferenceType, WeakSet, ref

import jax

from markstep.impl.aval import Aval
from markstep.impl.cache import ProgramCache
from markstep.impl.execution import Execution
from markstep.impl.explaining import Compilation
from markstep.impl.graph import Key
from markstep.impl.lower import CompileMode, Program
from markstep.impl.metrics import Metrics
from markstep.impl.node import Buffer, Node
from markstep.impl.pattern import Patterns
from markstep.impl.record import Record
from markstep.impl.regions import Regions
from markstep.impl.seeds import Seeds
from markstep.impl.serialized import Stored

COUNTERS: Final = (
    "CachedCompile",
    "CreateCompileHandles",
    "CreateDataHandles",
    "DeviceDataCacheMiss",
    "ExecuteComputation",
    "ExecuteReplicated",
    "InputOutputAliasCount.n",
    "InputOutputAliasCount.sum",
    "MarkStep",
    "OutboundData",
    "PersistentCacheDeserializeFailure",
    "PersistentCacheHit",
    "PersistentCacheMiss",
    "ReplicateShardedData",
    "SyncTensorsToData",
    "UncachedCompile",
    "VirtualDeviceUsage",
    "XlaAnnotateCustomSharding",
    "XlaMarkSharding",
    "XlaSetBufferDonation",
)
"""Counters under torch_xla's names. A value metric has a count and a sum of its samples. The two
counters of records are derived, see ``snapshot``."""


InlineScalars: TypeAlias = Literal["special", "all", "none"]
"""Which numbers are constants of the program: 0, 1 and -1, all of them, or none."""

LazyLoading: TypeAlias = Literal["leaf", "node", "host", "stub"]
"""What data on the host become by a lazy mark: a leaf that the first execution fills, a node that
every execution computes by sending it anew, host data as before, which tracing sends whole to each
device, or a leaf without data, until some are bound. Source: semantics.md §5.3 (E, A, B, D)."""

COMPILATIONS_KEPT: Final = 64

by_id = attrgetter("id")


@dataclass(slots=True)
class Inject:
    """Faults to come: how many of the next compilations and executions fail."""

    compile: int = 0
    execution: int = 0

    def take_compile(self) -> bool:
        """Whether the compilation that begins now is to fail."""
        hit = self.compile > 0
        self.compile -= hit
        return hit

    def take_execution(self) -> bool:
        """Whether the execution that is scheduled now is to fail when it runs."""
        hit = self.execution > 0
        self.execution -= hit
        return hit


class Context:
    """The state of one device. ``lock`` guards everything in it; ``idle`` is told of each end.

    ``running`` is the execution that owns the device, if any (torch_xla's device locker).
    ``spmd``: programs run on all of ``devices``, which are known from then on. Without it they run
    on ``place``; None: the first device. ``family``: the devices of the process that are in use;
    they share programs and switches.
    """

    def __init__(
        self,
        mode: CompileMode,
        manual: bool,
        cache_size: int,
        inline_scalars: InlineScalars = "special",
        devices: int | None = None,
        lazy_loading: LazyLoading = "leaf",
        always_lazy: bool = False,
    ) -> None:
        self.lock = threading.RLock()
        self.idle = threading.Condition(self.lock)
        self.mode: CompileMode = mode
        self.mode_for: Callable[[Key], CompileMode] | None = None
        self.manual = manual
        self.wanted_devices = devices
        self.spmd = False
        self.devices: tuple[jax.Device, ...] = ()
        self.place: jax.Device | None = None
        self.family: WeakSet[Context] = WeakSet((self,))
        self.last_program: Program | None = None
        self.created = 0
        self.live: dict[ReferenceType[Record], None] = {}
        self.forget = self.live.pop
        self.counters = dict.fromkeys(COUNTERS, 0)
        self.metrics = Metrics()
        self.cache = ProgramCache(cache_size)
        self.stored: Stored | None = None
        self.patterns: Patterns = {}
        self.compilations: deque[Compilation] = deque(maxlen=COMPILATIONS_KEPT)
        self.scalars: OrderedDict[object, Buffer] = OrderedDict()
        self.last_scalar: tuple[object, Node | None] = (None, None)
        self.constants: dict[object, Node] = {}
        self.inline_scalars: InlineScalars = inline_scalars
        self.lazy_loading: LazyLoading = lazy_loading
        self.always_lazy = always_lazy
        self.seeds = Seeds()
        self.running: Execution | None = None
        self.executions = 0
        self.failures = 0
        self.allowed = True
        self.compiling = False
        self.regions = Regions()
        self.donor_config = False
        self.eager = False
        self.inject = Inject()
        self.pool: ThreadPoolExecutor | None = None

    def new_record(self, aval: Aval, ir: Node | None = None) -> Record:
        """A live record with a fresh id. Without ``ir`` the caller gives it contents at once."""
        self.created = number = self.created + 1
        record = Record(number, aval, ir)
        # the bound C method is the callback: when a record dies no Python code runs
        self.live[ref(record, self.forget)] = None
        return record

    def live_records(self) -> list[Record]:
        """Every live record in order of id; holding the list keeps them alive."""
        return sorted(self.unsorted_records(), key=by_id)

    def unsorted_records(self) -> list[Record]:
        """Every live record in any order. The copy: records may die while they are listed."""
        return [record for cell in list(self.live) if (record := cell()) is not None]

    def count(self, name: str, times: int = 1) -> None:
        """Add to a counter."""
        self.counters[name] += times

    def snapshot(self) -> dict[str, int]:
        """All counters by torch_xla's names, those that are zero included."""
        counters = self.counters | self.metrics.counts()
        counters["CreateXlaTensor"] = self.created
        counters["DestroyXlaTensor"] = self.created - len(self.live)
        return counters
