"""The court: compares executors with the law."""
