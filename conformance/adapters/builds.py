"""In which ways the reference executor can be built, as designs.

Source: semantics.md §3 (18-25) for scalars, §5.3 for lazy loading.
"""

from dataclasses import dataclass

from markstep.impl.context import InlineScalars, LazyLoading
from markstep.spec.design import (
    SOUND,
    Design,
    MarkHost,
    SpecialScalars,
    TraceHost,
    differences,
)


@dataclass(frozen=True, slots=True)
class Build:
    """What the executor is told when it is made."""

    inline_scalars: InlineScalars = "special"
    lazy_loading: LazyLoading = "leaf"
    always_lazy: bool = False


INLINE: dict[SpecialScalars, InlineScalars] = {
    SpecialScalars.ZERO_AND_ONES: "special",
    SpecialScalars.EVERY_NUMBER: "all",
    SpecialScalars.NONE: "none",
}
LOADING: dict[tuple[MarkHost, TraceHost], LazyLoading] = {
    (MarkHost.LEAF_WITH_SOURCE, TraceHost.LAZY_LEAF): "leaf",
    (MarkHost.LOAD_NODE, TraceHost.LAZY_LEAF): "node",
    (MarkHost.KEEP_HOST, TraceHost.UPLOAD_REPLICATED): "host",
    (MarkHost.STUB, TraceHost.LAZY_LEAF): "stub",
}
CHOSEN = {"special_scalars", "mark_host", "trace_host", "lazy_is_asked_for"}
"""The fields of a design in which executors can differ from one that is sound."""


def build_of(design: Design) -> Build | None:
    """How to build the executor so that it has a design, None if it cannot have it."""
    loading = LOADING.get((design.mark_host, design.trace_host))
    if loading is None or differences(design, SOUND).keys() - CHOSEN:
        return None
    return Build(INLINE[design.special_scalars], loading, not design.lazy_is_asked_for)
