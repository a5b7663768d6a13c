"""Recorded logs of real executors, held against the law."""
