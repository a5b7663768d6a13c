"""Proofs about the law: its rules run on symbols, and z3 decides what is left."""
