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
graph_hash = default.graph_hash
mark_step = default.mark_step
placeholder = default.placeholder
read = default.read
read_many = default.read_many
run_cached = default.run_cached
set_donation = default.set_donation
set_donor_config = default.set_donor_config
sync = default.sync
sync_live = default.sync_live
tensor = default.tensor
wait_device = default.wait_device
warm_up = default.warm_up

__all__ = [
    "Description",
    "Executor",
    "ExecutorError",
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
    "graph_hash",
    "mark_step",
    "placeholder",
    "read",
    "read_many",
    "run_cached",
    "set_donation",
    "set_donor_config",
    "sync",
    "sync_live",
    "tensor",
    "wait_device",
    "warm_up",
]
