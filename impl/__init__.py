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
from markstep.impl.layout import Layout
from markstep.impl.mesh import Mesh
from markstep.impl.randomness import RngState
from markstep.impl.tensors import Tensor

default = Executor()

allow_execution = default.allow_execution
apply = default.apply
bind_data = default.bind_data
call = default.call
clear_cache = default.clear_cache
explain_donation = default.explain_donation
explain_key = default.explain_key
forbid = default.forbid
forked_rng = default.forked_rng
live_buffers = default.live_buffers
pin = default.pin
clear_pending = default.clear_pending
clear_sharding = default.clear_sharding
describe = default.describe
donate = default.donate
dump_graph = default.dump_graph
evict = default.evict
full = default.full
get_seed = default.get_seed
graph_hash = default.graph_hash
initialize_cache = default.initialize_cache
load_shards = default.load_shards
mark_sharding = default.mark_sharding
mark_step = default.mark_step
metrics_report = default.metrics_report
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
set_eager = default.set_eager
set_rng_state = default.set_rng_state
set_seed = default.set_seed
sharding_of = default.sharding_of
stablehlo = default.stablehlo
sync = default.sync
sync_live = default.sync_live
tensor = default.tensor
uniform = default.uniform
use_spmd = default.use_spmd
wait_device = default.wait_device
warm_up = default.warm_up

__all__ = [
    "Description",
    "Executor",
    "ExecutorError",
    "Layout",
    "Mesh",
    "RngState",
    "Tensor",
    "allow_execution",
    "apply",
    "bind_data",
    "call",
    "clear_cache",
    "clear_pending",
    "clear_sharding",
    "default",
    "describe",
    "donate",
    "dump_graph",
    "evict",
    "explain_donation",
    "explain_key",
    "forbid",
    "forked_rng",
    "full",
    "get_seed",
    "graph_hash",
    "initialize_cache",
    "live_buffers",
    "load_shards",
    "mark_sharding",
    "mark_step",
    "metrics_report",
    "normal",
    "pin",
    "placeholder",
    "randint",
    "read",
    "read_many",
    "rng_state",
    "run_cached",
    "run_stablehlo",
    "set_donation",
    "set_donor_config",
    "set_eager",
    "set_rng_state",
    "set_seed",
    "sharding_of",
    "stablehlo",
    "sync",
    "sync_live",
    "tensor",
    "uniform",
    "use_spmd",
    "wait_device",
    "warm_up",
]
