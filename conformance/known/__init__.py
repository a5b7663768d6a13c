"""Failures that are known: lists as TOML, shipped and the user's own."""
