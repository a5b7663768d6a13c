"""The annotation of a record and the sharding on its ir node: two places for one wish.

Getters and setters that the rules go through; the actions are in `sharding`. To the law, leaves
over one buffer record are one node, as they are in torch_xla unless a sync came between them.
Source: semantics.md §2.3.4 (read_spec), §2.4 (set_spec, clear_spec, hint), §3.55 (propagation).
"""

from markstep.spec.design import Design
from markstep.spec.rules.transfer import drop_host, get_ir, set_ir_none
from markstep.spec.state import NONE, Record, State
from markstep.spec.vocabulary import IrKind, Sharding

OPEN = (Sharding.NONE, Sharding.REPLICATED)
"""Annotations that another one may replace."""


def set_hint(s: State, record: Record, sharding: Sharding) -> None:
    """Put a sharding on the node of a record's ir, or take it off."""
    record.hint = sharding
    if record.ir != IrKind.LEAF:
        return
    for other in s.records:
        if other.live and other.ir == IrKind.LEAF and other.leaf == record.leaf:
            other.hint = sharding


def read_spec(s: State, r: int, design: Design) -> Sharding:
    """The annotation (C++: XLATensor::sharding_spec). Without D35 the sharding of the node replaces
    it, or it is put on the node; what is given is the old one."""
    record = s.records[r]
    old = record.spec
    if design.spec_reads_are_pure or record.ir == IrKind.NONE:
        return old
    if record.hint != Sharding.NONE:
        record.spec = record.hint
    elif old != Sharding.NONE:
        set_hint(s, record, old)
    return old


def set_spec(s: State, r: int, sharding: Sharding, design: Design, overwrite: bool = False) -> bool:
    """Annotate a record and the node of its ir, which is made if there is none (C++:
    SetShardingSpec). False: another annotation has to be cleared first."""
    record = s.records[r]
    if overwrite or read_spec(s, r, design) in OPEN:
        record.spec = sharding
        s.payload.count("SetShardingSpec")
    elif read_spec(s, r, design) != sharding:
        return False
    get_ir(s, r, design)
    set_hint(s, record, record.spec)
    return True


def contradicts(old: Sharding, new: Sharding) -> bool:
    """Whether an annotation must be cleared before another one is made."""
    return old not in OPEN and old != new


def trace_hint(s: State, r: int, sharding: Sharding, design: Design) -> bool:
    """Wrap a record's ir in a hint (C++: custom_sharding_). False: the annotation contradicts it,
    which is found out after the ir has been wrapped."""
    record = s.records[r]
    get_ir(s, r, design)
    node = s.payload.hinted(record.node, record.hint, sharding)
    deps = record.reads
    record.handle = NONE
    drop_host(record)
    set_ir_none(record)
    record.ir, record.deps, record.node = IrKind.OP, deps, node
    return set_spec(s, r, sharding, design)


def hand_on_spec(s: State, old: Record, r: int, design: Design) -> None:
    """What an in-place op makes lies as its target is annotated (C++: _propagate_xla_data)."""
    if not s.device.spmd or old.spec == Sharding.NONE:
        return
    replaced = old.hint != Sharding.NONE and not design.spec_reads_are_pure
    trace_hint(s, r, old.hint if replaced else old.spec, design)
    s.records[r].asked = old.asked


def copy_specs(s: State, source: int, r: int, design: Design) -> None:
    """A new record over the ir of another: the sharding of the node, then the annotation."""
    record, old = s.records[r], s.records[source]
    if record.hint != Sharding.NONE and not design.spec_reads_are_pure:
        set_spec(s, r, record.hint, design)
    if read_spec(s, source, design) != Sharding.NONE:
        set_spec(s, r, old.spec, design)


def copy_annotated(s: State, target: int, source: int, design: Design) -> None:
    """The target takes over the source's annotation, if it may; then a hint follows its own, which
    without D35 is the source's by now. The node under the hint belongs to both."""
    record, old = s.records[target], s.records[source]
    free = record.spec == Sharding.NONE or not design.spec_reads_are_pure
    if read_spec(s, source, design) != Sharding.NONE and free:
        set_spec(s, target, old.spec, design)
    if read_spec(s, target, design) == Sharding.NONE:
        return
    read_spec(s, target, design)
    if target != source and record.ir == IrKind.OP:
        old.hint = record.hint
    trace_hint(s, target, record.spec, design)
