"""Damaged input for everything that reads files or messages which nobody vouches for."""
