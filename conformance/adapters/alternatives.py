"""The reference executor built as the alternatives A to D of the request for lazy loading.

``--adapter reference --design D`` holds such an executor to its own design. These adapters say
which design they have: ``--adapter markstep.conformance.adapters.alternatives:ir_node`` shows what
it breaks of `sound`, or of any other design that is asked for.
"""

from collections.abc import Sequence

from markstep.conformance.adapters.builds import build_of
from markstep.conformance.adapters.reference import ReferenceAdapter
from markstep.conformance.claims import ClaimWatch
from markstep.conformance.lockstep.session import run_program
from markstep.spec.design import Design
from markstep.spec.invariants import CLAIMS
from markstep.spec.named_designs import DESIGNS
from markstep.spec.vocabulary import Action


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


def shows(program: Sequence[Action], claim: str, design: Design) -> bool:
    """Whether a program breaks a claim on the executor built as the design, which agrees with the
    law of that design all the way. False also if the executor cannot be built so."""
    if build_of(design) is None:
        return False
    adapter = ReferenceAdapter("interpret", design=design)
    result = run_program(program, adapter, design, ClaimWatch([CLAIMS[claim]]))
    return result.divergence is not None and result.divergence.id == claim
