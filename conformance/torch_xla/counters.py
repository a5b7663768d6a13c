"""The counters of torch_xla that are compared."""

import torch_xla

X = torch_xla._XLAC

COUNTERS = (
    "CachedCompile",
    "UncachedCompile",
    "ExecuteComputation",
    "CreateDataHandles",
    "CreateCompileHandles",
    "SyncTensorsToData",
    "DeviceDataCacheMiss",
    "XlaSetBufferDonation",
    "MarkStep",
)
DONORS = "InputOutputAliasCount"


def counters() -> dict[str, int]:
    """Every compared counter, under the name that the law gives it."""
    known, metrics = set(X._xla_counter_names()), set(X._xla_metric_names())
    found = {name: int(X._xla_counter_value(name)) if name in known else 0 for name in COUNTERS}
    found[f"{DONORS}.sum"] = int(X._xla_metric_data(DONORS)[1]) if DONORS in metrics else 0
    return found
