"""The other side: imports torch once, and runs every program in a fresh fork.

    python -m markstep.conformance.torch_lazy.server

The backend is made in the fork: its threads do not live on behind one.
"""

import os
import sys

from markstep.conformance.process.messages import Hello
from markstep.conformance.process.serve import own_output
from markstep.conformance.torch_xla.forks import serve_forks


def main() -> int:
    """Serve the backend until the end of the input."""
    from markstep.conformance.torch_lazy.executor import TorchLazy, about

    # unbuffered: a fork must not read what is meant for the next one
    given = os.fdopen(os.dup(0), "rb", buffering=0)
    return serve_forks(TorchLazy, Hello(*about()), given, own_output())


if __name__ == "__main__":
    sys.exit(main())
