"""markstep.impl: a real lazy executor on JAX, with the sound semantics.

    from markstep import impl

    x = impl.tensor([1.0, 2.0])
    x += 1                      # traced, not run
    impl.mark_step()            # one program; the old buffer of x is reused
    print(x.numpy())

The functions of this module are those of one default ``Executor``. Importing it starts no
thread and initialises no device.
"""

from markstep.impl.errors import ExecutorError
from markstep.impl.executor import Executor
from markstep.impl.inspection import Description
from markstep.impl.randomness import RngState
from markstep.impl.tensors import Tensor

default = Executor()

allow_execution = default.allow_execution
apply = default.apply
call = default.call
clear_cache = default.clear_cache
clear_pending = default.clear_pending
describe = default.describe
dump_graph = default.dump_graph
evict = default.evict
full = default.full
get_seed = default.get_seed
graph_hash = default.graph_hash
mark_step = default.mark_step
normal = default.normal
placeholder = default.placeholder
randint = default.randint
read = default.read
read_many = default.read_many
rng_state = default.rng_state
run_cached = default.run_cached
run_stablehlo = default.run_stablehlo
set_donation = default.set_donation
set_donor_config = default.set_donor_config
set_rng_state = default.set_rng_state
set_seed = default.set_seed
stablehlo = default.stablehlo
sync = default.sync
sync_live = default.sync_live
tensor = default.tensor
uniform = default.uniform
wait_device = default.wait_device
warm_up = default.warm_up

__all__ = [
    "Description",
    "Executor",
    "ExecutorError",
    "RngState",
    "Tensor",
    "allow_execution",
    "apply",
    "call",
    "clear_cache",
    "clear_pending",
    "default",
    "describe",
    "dump_graph",
    "evict",
    "full",
    "get_seed",
    "graph_hash",
    "mark_step",
    "normal",
    "placeholder",
    "randint",
    "read",
    "read_many",
    "rng_state",
    "run_cached",
    "run_stablehlo",
    "set_donation",
    "set_donor_config",
    "set_rng_state",
    "set_seed",
    "stablehlo",
    "sync",
    "sync_live",
    "tensor",
    "uniform",
    "wait_device",
    "warm_up",
]
