"""Executors in processes of their own, in any language: JSON lines on standard input and output."""
