"""Lies, one change each, and how long it takes until each is found out."""
