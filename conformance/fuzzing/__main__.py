"""Damaged files and messages for every reader, as many as you like.

    python -m markstep.conformance.fuzzing [--inputs 100000] [--reader trace] [--seed 0]

Prints one line for each reader. An input that a reader does not withstand is written to a file,
and the exit code is 1.
"""

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from markstep.conformance.exit_codes import ExitCode
from markstep.conformance.fuzzing.campaign import Outcome, campaign_of, limit_memory
from markstep.conformance.fuzzing.readers import READERS


def main(arguments: Sequence[str] | None = None) -> ExitCode:
    """Run campaigns, several at a time, and print what came of each."""
    names = [reader.name for reader in READERS if reader.examples()]
    parser = argparse.ArgumentParser(prog="python -m markstep.conformance.fuzzing")
    parser.add_argument("--inputs", type=int, default=100_000, help="for each reader")
    parser.add_argument("--reader", choices=names, action="append", help="only these")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first input")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("markstep-out"))
    given = parser.parse_args(arguments)
    chosen = given.reader or names
    run = partial(campaign_of, inputs=given.inputs, seed=given.seed, first=given.first)
    context = get_context("forkserver")
    with ProcessPoolExecutor(given.processes, context, initializer=limit_memory) as pool:
        ends = zip(chosen, pool.map(run, chosen), strict=True)
        results = [report(name, last, given.out) for name, last in ends]
    return ExitCode.CONFORMS if all(results) else ExitCode.VIOLATES


def report(name: str, last: Outcome, out: Path) -> bool:
    """Print what became of one reader; whether it withstood everything."""
    refused = last.inputs - last.read
    rate = last.inputs / max(last.seconds, 1e-9)
    print(
        f"{name:<10} {last.inputs:>10,} inputs, {refused:,} refused, {last.read:,} read,"
        f" {last.seconds:.1f} s ({rate:,.0f}/s)",
        flush=True,
    )
    if last.found is None:
        return True
    out.mkdir(parents=True, exist_ok=True)
    file = out / f"fuzz-{name}-{last.found.number}"
    file.write_bytes(last.found.data)
    print(f"{name}: input {last.found.number}: {last.found.what}; it is in {file}", file=sys.stderr)
    return False


if __name__ == "__main__":
    sys.exit(main())
