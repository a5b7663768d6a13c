"""Environment variables of torch_xla; they count only before its client exists."""

import os

HOST_ONLY_OPTION = "--host-only"


def set_environment(host_only: bool) -> None:
    """The CPU client, quiet, with one device."""
    os.environ["PJRT_DEVICE"] = "CPU"
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.pop("CPU_NUM_DEVICES", None)
    if host_only:
        os.environ["XLA_TENSOR_UPDATE_SYNC"] = "0"
