"""`python -m markstep.conformance` is `markstep`."""

from markstep.conformance.cli import main

main()
