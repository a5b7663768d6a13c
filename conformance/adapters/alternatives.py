"""The reference executor built as the alternatives A to D of the request for lazy loading.

``--adapter reference --design D`` holds such an executor to its own design. These adapters say which
design they have, so that ``--adapter markstep.conformance.adapters.alternatives:ir_node`` shows what
it breaks of `sound`, or of any other design that is asked for.
"""

from markstep.conformance.adapters.reference import ReferenceAdapter
from markstep.spec.design import DESIGNS


def ir_node() -> ReferenceAdapter:
    """A: marked data are a node, which every execution that reaches it computes by sending."""
    return ReferenceAdapter(design=DESIGNS["sound_ir_node"])


def host_state() -> ReferenceAdapter:
    """B: marked data stay on the host; tracing over them sends them whole to each device."""
    return ReferenceAdapter(design=DESIGNS["sound_host_state"])


def option() -> ReferenceAdapter:
    """C: as B for marks with ``lazy``; others send the pieces at once."""
    return ReferenceAdapter(design=DESIGNS["sound_option"])


def stub_leaf() -> ReferenceAdapter:
    """D: marked data are a leaf without data, until some are bound."""
    return ReferenceAdapter(design=DESIGNS["sound_stub_leaf"])
