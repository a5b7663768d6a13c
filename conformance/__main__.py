"""`python -m markstep.conformance` is `markstep`."""

from markstep.conformance.cli.app import main

main()
