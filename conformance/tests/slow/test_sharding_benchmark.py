"""What the benchmark of sharding promises holds for a small model too, each way in a process."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.slow
def test_nothing_is_sent_before_the_first_step_and_then_the_pieces_once(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    command = [sys.executable, "-m", "markstep.conformance.benchmarks.sharding"]
    command += ["--mib", "1", "--tensors", "4", "--json", str(file)]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    figures: dict[str, Any] = {row["way"]: row for row in json.loads(file.read_text())}
    assert [figures[way]["before"] for way in ("lazy", "stub")] == [0, 0]
    for row in figures.values():
        assert row["total"] == row["pieces"] and row["compiled"] == 1
