"""The rules: one function per small step of the machine."""
