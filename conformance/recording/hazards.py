"""What a recorded program does that costs it time, memory or a value: advice, with places.

Only what a recording shows is said; how it comes about is in docs/reference/recording.md.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from markstep.conformance.logs.rawrecord import RawTensor, RawVoid
from markstep.conformance.recording.lines import BARRIERS, READS, Line, Recording

MOST_EXAMPLES = 3
"""Places or differences that are named for one hazard."""
RANDOM = ("bernoulli", "rand", "normal", "uniform", "exponential", "dropout", "multinomial")
"""Parts of the names of ops that draw random numbers."""
COMPILED = "UncachedCompile"


@dataclass(frozen=True, slots=True)
class Hazard:
    """One thing that a user wants to know."""

    kind: str
    text: str
    violates: bool = False
    """A value is lost, or the law does not explain what was seen."""

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


def hazards(recording: Recording) -> list[Hazard]:
    """Everything that a recording shows, the gravest first."""
    lines = recording.lines
    found = [*lost_values(lines), *useless_warm_ups(lines), *recompiled(lines)]
    return [*found, *uploaded_twice(lines), *host_copies(lines)]


# ---- values that are lost -----------------------------------------------------------------------


def lost_values(lines: Iterable[Line]) -> Iterator[Hazard]:
    """A tensor that had a value has none after a call that did not touch it."""
    origin: dict[str, Line] = {}
    empty: set[str] = set()
    for line in lines:
        if line.action in ("clone", "copy_", "from_host", "copy_host"):
            origin[line.tensor] = line
        elif line.action == "op":
            origin.update(dict.fromkeys((*line.names("outs"), *line.names("writes")), line))
        for name, shown in (line.tensors or {}).items():
            if not is_empty(shown):
                empty.discard(name)
            elif name not in empty:
                empty.add(name)
                yield Hazard("lost value", _loss(name, origin.get(name), line), True)


def is_empty(shown: RawTensor | RawVoid) -> bool:
    """Whether a tensor shows no source of a value: settled, it will not get one."""
    if isinstance(shown, RawVoid):
        return True
    without = shown.ir is None and shown.host is None
    return without and (shown.data is None or shown.data.state in ("placeholder", "deleted"))


def _loss(name: str, origin: Line | None, line: Line) -> str:
    what = name
    if origin is not None and origin.action == "clone":
        what = f"{name}, the clone of {origin.text('a')} made {_at(origin)},"
    elif origin is not None and origin.action == "copy_":
        what = f"{name}, a copy of {origin.text('src')} made {_at(origin)},"
    elif origin is not None:
        what = f"{name}, made {_at(origin)},"
    donated = line.counters.get("InputOutputAliasCount.sum", 0)
    if donated and line.action in BARRIERS:
        cause = f"{donated} buffers were donated there, its own among them"
    else:
        cause = "what was to compute it did not, or its buffer is gone"
    return f"{what} has no value any more after {line.action} {_at(line)}: {cause}"


# ---- programs that are compiled again -----------------------------------------------------------


@dataclass(slots=True)
class Trace:
    """The ops between two evaluations, as far as a key depends on them."""

    names: list[str] = field(default_factory=list)
    shapes: list[str] = field(default_factory=list)
    constants: list[str] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    draws: int = 0
    """Random ops since the last step barrier: each makes the chain of seeds longer."""

    def note(self, line: Line) -> None:
        """One op more."""
        name = line.text("name") or line.action
        self.names.append(name)
        self.shapes.append(str(line.args.left.get("shapes", "")))
        self.constants.append(str(line.args.left.get("constants", "")))
        self.places.append(line.at)
        self.draws += any(part in name for part in RANDOM)


def recompiled(lines: Iterable[Line]) -> Iterator[Hazard]:
    """Evaluations that compile again at a place where they have compiled before."""
    trace, before = Trace(), dict[tuple[str, str], Trace]()
    reasons: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    places: dict[tuple[str, str], str] = {}
    for line in lines:
        if line.action in ("op", "clone", "copy_"):
            trace.note(line)
        elif line.action in (*BARRIERS, *READS):
            where = line.action, line.at
            if line.counters.get(COMPILED, 0):
                if where in before:
                    kind, text = _reason(before[where], trace)
                    reasons[where][kind] += 1
                    places.setdefault((line.at, kind), text)
                before[where] = trace
            kept = 0 if line.action == "mark_step" else trace.draws
            trace = Trace(draws=kept) if _evaluated(line) else trace
    for (action, at), kinds in reasons.items():
        for kind, count in kinds.items():
            text = places[at, kind]
            yield Hazard("recompiled", f"{action} at {at or '?'}: {count} times, {kind}: {text}")


def _evaluated(line: Line) -> bool:
    """Whether anything was compiled or run: else what is pending still is."""
    names = (COMPILED, "CachedCompile", "ExecuteComputation", "MarkStep")
    return any(line.counters.get(name, 0) for name in names)


def _reason(old: Trace, new: Trace) -> tuple[str, str]:
    """Why a graph is another one than the last that was compiled at this place."""
    if old.names != new.names:
        return "other ops", _first_difference(old.names, new.names, new)
    if old.shapes != new.shapes:
        return "another shape", _first_difference(old.shapes, new.shapes, new)
    if old.constants != new.constants:
        return "a number that changes", _first_difference(old.constants, new.constants, new)
    if new.draws != old.draws:
        text = f"{new.draws} random ops since the last torch_xla.sync(), {old.draws} before"
        return "a chain of seeds", text
    return "no visible reason", "the ops, shapes and numbers are the same"


def _first_difference(old: list[str], new: list[str], trace: Trace) -> str:
    for i, (a, b) in enumerate(zip(old, new, strict=False)):
        if a != b:
            place = f" at {trace.places[i]}" if trace.places[i] else ""
            return f"{trace.names[i]}{place}: {a}, then {b}"
    return f"{len(old)} ops, then {len(new)}"


def useless_warm_ups(lines: Iterable[Line]) -> Iterator[Hazard]:
    """Warm-ups whose program the next evaluation compiles again: it asks for another key."""
    waiting: Line | None = None
    useless: list[tuple[Line, Line]] = []
    for line in lines:
        if line.action == "warm_up_cache":
            waiting = line if line.counters.get(COMPILED, 0) else None
        elif line.action in (*BARRIERS, *READS) and waiting is not None and _evaluated(line):
            if line.counters.get(COMPILED, 0):
                useless.append((waiting, line))
            waiting = None
    if useless:
        warm, line = useless[0]
        text = f"warm_up_cache {_at(warm)} compiles a program that {line.action} {_at(line)} does"
        more = f" ({len(useless)} times): the key of a warm-up is not that of an evaluation"
        yield Hazard("useless warm-up", f"{text} not find{more}")


# ---- data of the host ---------------------------------------------------------------------------


def uploaded_twice(lines: Iterable[Line]) -> Iterator[Hazard]:
    """Host data that go to the device again and again, unchanged.

    Different arrays with equal contents count only over several steps: the weights of a model may
    well begin alike.
    """
    seen: dict[object, list[Line]] = defaultdict(list)
    steps: dict[object, set[object]] = defaultdict(set)
    step = 0
    for line in lines:
        step += line.action == "mark_step"
        if line.action in ("from_host", "copy_host") and line.number("bytes"):
            seen[_what(line)].append(line)
            steps[_what(line)].add(step)
    for what, same in seen.items():
        arrays = {line.number("source") for line in same}
        if len(same) > 1 and (len(steps[what]) > 1 or len(arrays) < len(same)):
            bytes_each, places = same[0].number("bytes"), _places(same)
            wasted = bytes_each * (len(same) - 1)
            shape = same[0].args.left.get("shape")
            text = f"{shape} of {same[0].text('dtype')} at {places}: {len(same)} times"
            yield Hazard("uploaded twice", f"{text}, unchanged; {wasted} bytes too many")


def _what(line: Line) -> object:
    """The same data: equal contents sent at one place, or one array in one version."""
    if line.text("content") and line.args.left["content"] is not None and line.at:
        return line.at, line.text("content"), str(line.args.left.get("shape"))
    return line.number("source")


def host_copies(lines: Iterable[Line]) -> Iterator[Hazard]:
    """Tensors that keep their host copy beside the data on the device."""
    now: dict[str, RawTensor] = {}
    most: list[RawTensor] = []
    where: Line | None = None
    for line in lines:
        for name in line.names("tensors") if line.action == "drop" else ():
            now.pop(name, None)
        for name, shown in (line.tensors or {}).items():
            now.pop(name, None)
            if isinstance(shown, RawTensor) and shown.host is not None and shown.data is not None:
                now[name] = shown
        if len(now) > len(most):
            most, where = list(now.values()), line
    if where is not None:
        text = f"{len(most)} tensors after {where.action} {_at(where)} are on the device and still"
        yield Hazard("host copies", f"{text} on the host")


def _places(lines: list[Line]) -> str:
    places = list(dict.fromkeys(line.at or "?" for line in lines))
    more = "" if len(places) <= MOST_EXAMPLES else f" and {len(places) - MOST_EXAMPLES} more places"
    return ", ".join(places[:MOST_EXAMPLES]) + more


def _at(line: Line) -> str:
    return f"at {line.at}" if line.at else f"in line {line.line}"
