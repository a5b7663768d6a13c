"""How often generated programs do what, and the values that they use."""

from markstep.spec.vocabulary import DType

LAYOUTS = (
    (10, ((2, 2), DType.F32)),
    (3, ((4,), DType.F32)),
    (3, ((2, 2), DType.S32)),
    (3, ((), DType.F32)),
)
LAYOUTS_OF_ARRAYS = LAYOUTS[:-1]
SCALARS = (2, 1, 0, -1, 3, 2.5)
BOUNDS = (4, 100, 1)
SEEDS = (101, 0, 2**64 - 1, 24146324, 20_057)
FILLED = ((3, ((), DType.F32)), (3, ((2, 2), DType.F32)), (1, ((), DType.S32)))

HOW_MANY = (1, 1, 1, 2, 2, 2, 3, 3, 3, 0)
MAKERS = [(16, "apply"), (8, "create"), (8, "clone"), (5, "detach"), (2, "placeholder")]
MAKERS += [(4, "fill")]
OTHERS = [
    (18, "in_place"),
    (9, "copy_into"),
    (3, "copy_from_host"),
    (14, "step_barrier"),
    (9, "sync"),
    (4, "sync_live"),
    (10, "read_one"),
    (8, "read_many"),
    (6, "set_donation"),
    (4, "warm_up"),
    (3, "graph_hash"),
    (4, "run_cached"),
    (2, "clear_pending"),
    (2, "wait_device"),
    (1, "dump_graph"),
    (2, "evict_cache"),
    (3, "write_to_result"),
    (4, "random"),
    (1, "set_seed"),
    (1, "get_seed"),
]
"""Weights of the kinds of action, for each step."""

IN_PLACE_OPS = [(12, "add_scalar"), (6, "mul_scalar"), (10, "add"), (3, "sub"), (3, "mul")]
IN_PLACE_OPS += [(3, "neg"), (2, "matmul"), (1, "failing_compile")]
OPS = [*IN_PLACE_OPS, (4, "failing_execute"), (2, "failing_compile")]
