"""The TorchScript lazy backend as an adapter: a fork server, a fresh fork for each program.

torch is not imported here: a machine without it can list the adapter, and is told what to install.
"""

import sys
from importlib.util import find_spec

from markstep.conformance.adapter import AdapterError
from markstep.conformance.process.child import ProcessAdapter
from markstep.spec.named_designs import TORCH_LAZY_2_9


class TorchLazyAdapter(ProcessAdapter):
    """`torch._lazy` with `torch._lazy.ts_backend`, on the CPU."""

    described_by = TORCH_LAZY_2_9.name

    def __init__(self) -> None:
        if find_spec("torch") is None:
            raise AdapterError("torch cannot be imported: pip install torch==2.9.1")
        super().__init__([sys.executable, "-m", "markstep.conformance.torch_lazy.server"])
