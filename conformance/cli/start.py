"""The console script: from its first line on, Ctrl-C is one line and exit code 130."""

import signal

from markstep.conformance.cli.interrupts import leave


def main() -> None:
    """Import the command line and run it. Until it works there is nothing to save."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, leave)
    from markstep.conformance.cli import app

    app.main()
