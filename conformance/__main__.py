"""`python -m markstep.conformance` is `markstep`."""

from markstep.conformance.cli.start import main

main()
