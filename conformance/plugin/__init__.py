"""The suite as tests of pytest: `pytest --markstep-adapter NAME`."""
