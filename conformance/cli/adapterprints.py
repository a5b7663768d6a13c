"""What an adapter prints goes to standard error: standard output has the report alone."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress


@contextmanager
def prints_to_stderr() -> Iterator[None]:
    """While it is entered, whatever prints does so on standard error, native code too."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        flush_native()
        os.dup2(kept, 1)
        os.close(kept)


def flush_native() -> None:
    """Write out what C's printf still holds, where it belongs."""
    with suppress(ImportError, OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None).fflush(None)
