"""The invariants: one claim per property that every reachable state keeps."""
