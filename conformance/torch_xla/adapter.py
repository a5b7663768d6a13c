"""torch_xla as an adapter: a fork server in a process of its own, a fresh fork for each program.

torch_xla is not imported here: a machine without it can list the adapter and is told what to
install. `markstep.conformance.torch_xla.forks` is the other side.
"""

import sys
from importlib.util import find_spec

from markstep.conformance.adapter import AdapterError
from markstep.conformance.process.child import ProcessAdapter
from markstep.conformance.torch_xla.pytorch import as_pytorch
from markstep.conformance.torch_xla.settings import HOST_ONLY_OPTION
from markstep.spec.design import TORCH_XLA_2_9
from markstep.spec.vocabulary import Action


class TorchXlaAdapter(ProcessAdapter):
    """torch_xla on its CPU client, one device; tensors are uploaded when they are made."""

    described_by = TORCH_XLA_2_9.name
    host_only = False

    def __init__(self) -> None:
        missing = [name for name in ("torch", "torch_xla") if find_spec(name) is None]
        if missing:
            advice = "pip install 'markstep[torch-xla]'"
            raise AdapterError(f"{' and '.join(missing)} cannot be imported: {advice}")
        options = [HOST_ONLY_OPTION] if self.host_only else []
        super().__init__([sys.executable, "-m", "markstep.conformance.torch_xla.forks", *options])

    def as_code(self, program: tuple[Action, ...], title: str) -> str:
        """The program as a PyTorch script."""
        return as_pytorch(program, title, self.host_only)


class TorchXlaHostAdapter(TorchXlaAdapter):
    """The same with XLA_TENSOR_UPDATE_SYNC=0: host data can stay on the host."""

    host_only = True
