"""The lines of a `markstep-raw-log`, version 1, as typed values: one header, then steps.

What the fields mean: docs/reference/raw-log-format.md. A line is taken as it is or not at all: a
missing field, an unknown one or a wrong type is a FieldError.
"""

from dataclasses import dataclass, field
from typing import Final, TypeAlias

from markstep.conformance.logs.strictjson import (
    FieldError,
    Fields,
    TypeOfFieldError,
    anything,
    count,
    exactly,
    flag,
    integer,
    listed,
    mapped,
    nullable,
    text,
)

FORMAT: Final = "markstep-raw-log"
VERSION: Final = 1

MAX_TENSORS = 256
"""Tensors alive after one step."""


@dataclass(frozen=True, slots=True)
class Header:
    """Line 1: the system that was recorded, and how it was set up."""

    system: str
    system_version: str
    torch: str
    profile: str
    seed: int
    devices: int
    devices_used: int
    spmd: bool
    functionalization: bool
    env: dict[str, str]
    eager: bool
    initial_seed: int


@dataclass(frozen=True, slots=True)
class Ok:
    """The call returned. ``expected``: the right value where the value read is wrong."""

    value: object
    expected: object = None
    late_mismatch: tuple[object, ...] = ()


@dataclass(frozen=True, slots=True)
class Raised:
    """The call raised; the first line of the message."""

    type: str
    message: str


@dataclass(frozen=True, slots=True)
class Crashed:
    """The process died."""

    signal: str
    message: str | None


@dataclass(frozen=True, slots=True)
class Hung:
    """No step ended for a minute."""


Outcome: TypeAlias = Ok | Raised | Crashed | Hung


@dataclass(frozen=True, slots=True)
class RawVoid:
    """A tensor that cannot be looked at, because it has no source of a value."""

    message: str


@dataclass(frozen=True, slots=True)
class RawData:
    """The data behind a tensor; sharded data shows neither state nor handle."""

    kind: str
    state: str | None
    handle: int | None
    sharding: str | None = None
    num_shards: int | None = None


@dataclass(frozen=True, slots=True)
class RawTensor:
    """What one tensor shows after a step."""

    id: int
    alias: int
    view: bool
    ir: str | None
    data: RawData | None
    host: tuple[int, ...] | None
    sharding_spec: str | None
    shape: tuple[int, ...]
    dtype: str
    device: str | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """How much a value metric grew: samples, and their sum."""

    n: int
    sum: int


@dataclass(frozen=True, slots=True)
class RawStep:
    """One step: what was done, how it ended, and everything that can be seen afterwards."""

    line: int
    step: int
    action: str
    args: dict[str, object]
    outcome: Outcome
    tensors: dict[str, RawTensor | RawVoid] = field(default_factory=dict)
    counters: dict[str, int | Sample] = field(default_factory=dict)
    transient: tuple[str, ...] = ()
    """Tensors that were a placeholder for a moment; whether one is noticed depends on timing."""
    seed: int | None = None
    """The running random seed, if it changed."""
    seeds: dict[str, int] | None = None

    @property
    def last(self) -> bool:
        """The process did not live on after this step."""
        return isinstance(self.outcome, Crashed | Hung)


def parse_header(value: object) -> Header:
    """Line 1. The version is looked at before anything that a version may change."""
    fields = Fields(value)
    fields.take("format", exactly(FORMAT))
    version = fields.take("version", integer)
    if version > VERSION:
        newer = f"of version {version}, written by a newer markstep; this one reads version"
        raise FieldError(f"the log is {newer} {VERSION}")
    if version < VERSION:
        raise FieldError(f"the log is of version {version}; the first version is {VERSION}")
    header = Header(
        system=fields.take("system", text),
        system_version=fields.take("system_version", text),
        torch=fields.take("torch", text),
        profile=fields.take("profile", text),
        seed=fields.take("seed", integer),
        devices=fields.take("devices", count),
        devices_used=fields.take("devices_used", count),
        spmd=fields.take("spmd", flag),
        functionalization=fields.take("functionalization", flag),
        env=fields.take("env", mapped(text)),
        eager=fields.take("eager", flag),
        initial_seed=fields.take("initial_seed", integer),
    )
    fields.end()
    return header


def parse_step(value: object, line: int, expected: int) -> RawStep:
    """Any further line; ``expected``: the number that its step must have."""
    fields = Fields(value)
    step = fields.take("step", count)
    if step != expected:
        raise FieldError(f"step {step} where step {expected} must be: the log has a gap")
    action = fields.take("action", text)
    args = fields.take("args", mapped(anything))
    outcome = fields.take("outcome", parse_outcome)
    if isinstance(outcome, Crashed | Hung):
        fields.end()
        return RawStep(line, step, action, args, outcome)
    found = RawStep(
        line,
        step,
        action,
        args,
        outcome,
        fields.take("tensors", parse_tensors),
        fields.take("counters", mapped(parse_counter)),
        fields.optional("transient", listed(text)) or (),
        fields.optional("seed", nullable(integer)),
        fields.optional("seeds", mapped(integer)),
    )
    fields.end()
    return found


def parse_outcome(value: object) -> Outcome:
    """How the step ended: exactly one of four forms."""
    fields = Fields(value)
    outcome: Outcome
    if "ok" in fields.left:
        fields.take("ok", exactly(True))
        returned = fields.take("value", anything)
        expected = fields.optional("expected", anything)
        outcome = Ok(returned, expected, fields.optional("late_mismatch", listed(anything)) or ())
    elif "error" in fields.left:
        outcome = fields.take("error", _raised)
    elif "crash" in fields.left:
        signal = fields.take("crash", exactly("SIGSEGV", "SIGABRT"))
        outcome = Crashed(str(signal), fields.optional("message", nullable(text)))
    else:
        fields.take("hang", exactly(True))
        outcome = Hung()
    fields.end()
    return outcome


def _raised(value: object) -> Raised:
    fields = Fields(value)
    raised = Raised(fields.take("type", text), fields.take("message", text))
    fields.end()
    return raised


def parse_tensors(value: object) -> dict[str, RawTensor | RawVoid]:
    """What every live tensor shows."""
    tensors = mapped(parse_tensor)(value)
    if len(tensors) > MAX_TENSORS:
        raise TypeOfFieldError(f"has more than {MAX_TENSORS} tensors")
    return tensors


def parse_tensor(value: object) -> RawTensor | RawVoid:
    """What one tensor shows."""
    fields = Fields(value)
    shows: RawTensor | RawVoid
    if "void" in fields.left:
        shows = RawVoid(fields.take("void", text))
    else:
        shows = RawTensor(
            fields.take("id", integer),
            fields.take("alias", integer),
            fields.take("view", flag),
            fields.take("ir", nullable(_ir)),
            fields.take("data", nullable(parse_data)),
            fields.take("host", nullable(listed(count))),
            fields.take("sharding_spec", nullable(text)),
            fields.take("shape", listed(count)),
            fields.take("dtype", text),
            fields.optional("device", text),
        )
    fields.end()
    return shows


def _ir(value: object) -> str:
    fields = Fields(value)
    name = fields.take("kind", text)
    fields.end()
    return name


def parse_data(value: object) -> RawData:
    """The data behind a tensor, plain or sharded."""
    fields = Fields(value)
    kind = fields.take("kind", exactly("plain", "sharded"))
    state = fields.take("state", nullable(exactly("value", "placeholder", "deleted")))
    handle = fields.take("handle", nullable(count))
    if kind == "plain":
        data = RawData("plain", str(state), handle)
    elif (state, handle) != (None, None):
        raise TypeOfFieldError("is sharded, so that it shows neither state nor handle")
    else:
        sharding = fields.take("sharding", text)
        data = RawData("sharded", None, None, sharding, fields.take("num_shards", count))
    fields.end()
    return data


def parse_counter(value: object) -> int | Sample:
    """How much a counter or a metric grew."""
    if not isinstance(value, dict):
        return integer(value)
    fields = Fields(value)
    sample = Sample(fields.take("n", integer), fields.take("sum", integer))
    fields.end()
    return sample
