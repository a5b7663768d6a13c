"""In which ways the reference executor can be built, as designs.

Source: semantics.md §5.3, the alternatives of the request for lazy loading.
"""

from dataclasses import dataclass

from markstep.impl.context import LazyLoading
from markstep.spec.design import SOUND, Design, MarkHost, TraceHost, differences


@dataclass(frozen=True, slots=True)
class Build:
    """What the executor is told when it is made."""

    lazy_loading: LazyLoading = "leaf"
    always_lazy: bool = False


LOADING: dict[tuple[MarkHost, TraceHost], LazyLoading] = {
    (MarkHost.LEAF_WITH_SOURCE, TraceHost.LAZY_LEAF): "leaf",
    (MarkHost.LOAD_NODE, TraceHost.LAZY_LEAF): "node",
    (MarkHost.KEEP_HOST, TraceHost.UPLOAD_REPLICATED): "host",
    (MarkHost.STUB, TraceHost.LAZY_LEAF): "stub",
}


def build_of(design: Design) -> Build | None:
    """How to build the executor so that it has a design, None if it cannot have it."""
    if differences(design, SOUND).keys() - {"mark_host", "trace_host", "lazy_is_asked_for"}:
        return None
    loading = LOADING.get((design.mark_host, design.trace_host))
    return None if loading is None else Build(loading, not design.lazy_is_asked_for)
