"""What all tests share: Hypothesis draws the same examples every time; a command line to call;
the executor."""

import os
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# JAX reads it when it starts: sharding is tested on virtual devices
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")

settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    database=None,
    print_blob=False,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("ci")

# As with `python -m pytest`: the processes that a search starts do not run the start script of
# pytest again, which need not be made for that.
if sys.modules["__main__"].__spec__ is None:
    sys.modules["__main__"].__spec__ = ModuleSpec("pytest.__main__", None)


@pytest.fixture
def markstep(capsys: Any, tmp_path: Path, monkeypatch: Any) -> Callable[..., tuple[int, str, str]]:
    """Runs a command line in an empty directory: exit code, standard output, standard error."""
    from markstep.conformance.cli import app as cli

    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            cli.main(list(arguments))
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return run


@pytest.fixture(params=["interpret", "xla"])
def ex(request: Any) -> Any:
    """The reference executor, in both of its modes; its executions end when they are told to."""
    from markstep.impl import Executor

    return Executor(request.param, manual=True)
