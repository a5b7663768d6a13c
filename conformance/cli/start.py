"""The console script: from its first line on, Ctrl-C is one line and exit code 130."""

import signal
import sys

from markstep.conformance.cli.interrupts import end, leave


def main() -> None:
    """Import the command line and run it; until then there is nothing to save. An adapter of
    somebody else must not be able to end the process in our name."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, leave)
    from markstep.conformance.cli import app, supervisor

    if supervisor.foreign(sys.argv[1:]):
        supervisor.supervise(app.run_to_code)
    end(app.run_to_code())
