"""Reports: the outcome of a run for a terminal, for CI and for scripts."""
