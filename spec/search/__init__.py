"""Searching all states within a bound, and comparing designs by it."""
