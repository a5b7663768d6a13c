"""The named designs: what there is, what was proposed, and what each is like.

The first two, `sound` and `torch_xla_2_9`, stand beside the choices in `design`.
"""

from dataclasses import replace

from markstep.spec.design import (
    SOUND,
    TORCH_XLA_2_9,
    Design,
    DonorSafety,
    DonorScope,
    ErrorDelivery,
    MarkHost,
    SpecialScalars,
    TraceHost,
    Truncation,
    UserDonors,
    Validation,
)

SEED_2025_03 = replace(TORCH_XLA_2_9, name="seed_2025_03", user_donors=UserDonors.CONFIG)

TORCH_LAZY_2_9 = replace(
    TORCH_XLA_2_9,
    name="torch_lazy_2_9",
    donor_safety=DonorSafety.UNNEEDED,
    key_has_force=False,
    special_scalars=SpecialScalars.NONE,
)
"""PyTorch's TorchScript lazy backend, from which torch_xla took the executor. It never donates, so
that nothing that is needed is consumed (D03); sync, read and run by key share one key (D10); every
number is a parameter (D22). A read keeps its value beside the ir, and clones have no mark: no value
shows either."""

FIXES: tuple[Design, ...] = (
    replace(TORCH_XLA_2_9, name="fixed_F1", truncation=Truncation.AT_SCHEDULE),
    replace(TORCH_XLA_2_9, name="fixed_F2", donor_safety=DonorSafety.UNNEEDED),
    replace(TORCH_XLA_2_9, name="fixed_F3", donor_scope=DonorScope.FULL_BARRIER),
    replace(TORCH_XLA_2_9, name="fixed_F4", validation=Validation.BEFORE_EFFECTS),
    replace(TORCH_XLA_2_9, name="fixed_F5", key_has_mode=True),
    replace(TORCH_XLA_2_9, name="fixed_F6", sharded_stubs_have_numbers=True),
    replace(TORCH_XLA_2_9, name="fixed_F7", error_delivery=ErrorDelivery.NEXT_LOCKER_ONCE),
    replace(
        TORCH_XLA_2_9,
        name="fixed_F8",
        spec_reads_are_pure=True,
        trace_host=TraceHost.UPLOAD_BY_SPEC,
    ),
    replace(TORCH_XLA_2_9, name="fixed_F9", trace_host=TraceHost.LAZY_LEAF),
)
"""torch_xla 2.9 with one fix of semantics.md §8.3 each; F10 is about a switch that is left out."""

ALTERNATIVES: tuple[Design, ...] = (
    replace(TORCH_XLA_2_9, name="rfc_ir_node", mark_host=MarkHost.LOAD_NODE),
    replace(TORCH_XLA_2_9, name="rfc_host_state", mark_host=MarkHost.KEEP_HOST),
    replace(TORCH_XLA_2_9, name="rfc_option", mark_host=MarkHost.KEEP_HOST, lazy_is_asked_for=True),
    replace(TORCH_XLA_2_9, name="rfc_stub_leaf", mark_host=MarkHost.STUB, marks_stubs=True),
    replace(
        TORCH_XLA_2_9,
        name="rfc_lazy_leaf",
        mark_host=MarkHost.LEAF_WITH_SOURCE,
        trace_host=TraceHost.LAZY_LEAF,
    ),
)
"""The alternatives A to E of semantics.md §5.3, each as the smallest patch of torch_xla 2.9."""

_ON_HOST = replace(
    SOUND,
    name="sound_option",
    mark_host=MarkHost.KEEP_HOST,
    trace_host=TraceHost.UPLOAD_REPLICATED,
)
LAZY_LOADING: tuple[Design, ...] = (
    replace(SOUND, name="sound_ir_node", mark_host=MarkHost.LOAD_NODE, lazy_is_asked_for=False),
    replace(_ON_HOST, name="sound_host_state", lazy_is_asked_for=False),
    _ON_HOST,
    replace(SOUND, name="sound_stub_leaf", mark_host=MarkHost.STUB, lazy_is_asked_for=False),
)
"""The alternatives A to D as what they change in `sound`, which is E with the option of C: so each
breaks what itself is the cause of. The reference executor is built in each of these ways."""

DESIGNS: dict[str, Design] = {
    design.name: design
    for design in (
        SOUND,
        TORCH_XLA_2_9,
        SEED_2025_03,
        TORCH_LAZY_2_9,
        *FIXES,
        *ALTERNATIVES,
        *LAZY_LOADING,
    )
}
