"""Traces of real reports, with what catches each."""
