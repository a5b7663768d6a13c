"""Adapters: executors behind the one protocol that the court speaks."""
