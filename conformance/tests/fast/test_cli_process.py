"""The command as a process of its own: help, pipes, Ctrl-C."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from markstep.spec.trace import Trace, dumps
from markstep.spec.vocabulary import AssignInPlace, CreateFromHost, ReadOne, TensorName

T0 = TensorName(0)
GOOD = (CreateFromHost(T0, (1, 2), (2,)), AssignInPlace(T0, "neg"), ReadOne(T0))


HEAVY = {
    "jax",
    "numpy",
    "z3",
    "hypothesis",
    "torch",
    "junitparser",
    "rich.progress",
    "markstep.spec.machine",
    "markstep.impl",
}
"""What help does not need."""


def test_help_tells_the_exit_codes_and_loads_nothing_heavy() -> None:
    program = (
        "import sys\n"
        "from markstep.conformance.cli.app import main\n"
        "try: main(['--help'])\n"
        f"finally: print(sorted({HEAVY} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert "Exit codes: 0 conforms" in done.stdout
    assert done.stdout.rstrip().endswith("[]")


def test_python_m_is_the_command() -> None:
    command = [sys.executable, "-m", "markstep.conformance", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "0.1.0"


@pytest.mark.parametrize(("verb", "code"), [("list", 0), ("explore --max-states 50", 3)])
def test_a_reader_that_leaves_changes_nothing(tmp_path: Path, verb: str, code: int) -> None:
    command = f"{sys.executable} -m markstep.conformance {verb} | true; exit ${{PIPESTATUS[0]}}"
    bash = ["bash", "-c", command]
    done = subprocess.run(bash, capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert (done.returncode, done.stderr) == (code, "")


INTERRUPTED = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
from markstep.conformance.cli import app as cli
from markstep.conformance.cli import progress

calls = []

def tell(self, done, total=None):
    calls.append(done)
    if len(calls) == int(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGINT)

progress.Progress.__call__ = tell
cli.main(sys.argv[2:])
"""


@pytest.mark.parametrize(
    "verb",
    [
        "1 explore",
        "2 run --adapter model --profile standard",
        "2 replay a b c d",
    ],
)
def test_ctrl_c_leaves_a_valid_partial_report(tmp_path: Path, verb: str) -> None:
    for name in "abcd":
        (tmp_path / name).write_text(dumps(Trace(GOOD)), encoding="utf-8")
    command = [sys.executable, "-c", INTERRUPTED, *verb.split()]
    command += ["--json", "r.json", "--summary", "r.md", "--junit-xml", "r.xml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (130, "")
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["interrupted"] is True
    assert report["exit_code"] == 130
    assert report["steps"] > 0
    assert "interrupted" in done.stdout
    assert ": interrupted\n" in (tmp_path / "r.md").read_text("utf-8")
    assert "the report is partial" in (tmp_path / "r.xml").read_text("utf-8")


@pytest.mark.parametrize(
    ("where", "code", "said"),
    [
        (">&-", 0, ""),
        (">&- 2>&-", 0, ""),
        (
            ">/dev/full",
            2,
            "markstep: standard output: cannot be written: no space left on device; "
            "give another place\n",
        ),
    ],
)
def test_a_standard_output_that_takes_nothing(where: str, code: int, said: str) -> None:
    command = f"{sys.executable} -m markstep.conformance list claims {where}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", said)


BEFORE = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
from markstep.conformance.cli import interrupts, start
"""

SLOW_START = (
    BEFORE
    + """
import sys

class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "cyclopts":
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Slow())
start.main()
"""
)

LOST = (
    BEFORE
    + """
import gc, sys
from markstep.conformance.threads import play

def orders(interruptions):
    while True:  # until Ctrl-C is heard
        yield "an order"

def judge(*given):
    def lose(phase, info):
        if phase == "start":
            signal.raise_signal(signal.SIGINT)
    gc.callbacks.append(lose)
    gc.collect()
    gc.callbacks.remove(lose)
    return ()

play.orders, play.judge = orders, judge
sys.unraisablehook = lambda about: None
sys.argv = ["markstep", "threads", "--programs", "1"]
start.main()
"""
)

DEAF = (
    BEFORE
    + """
import sys, time
from markstep.conformance.cli import listing

def claims():
    for _ in range(2):
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            pass  # a library that swallows it
    time.sleep(60)

listing.LISTS["claims"] = claims
sys.argv = ["markstep", "list", "claims"]
start.main()
"""
)


@pytest.mark.parametrize("program", [SLOW_START, LOST, DEAF], ids=["start", "lost", "twice"])
def test_ctrl_c_is_one_line_whenever_it_comes(program: str) -> None:
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "markstep: interrupted\n"


LEFT_BEHIND = """
import threading, time
import jax, jax.numpy as jnp
from markstep.conformance.cli.interrupts import end

begun = threading.Barrier(9)

def compile_for_ever():
    jax.jit(jnp.sin)(1.0)
    begun.wait()
    while True:
        jax.jit(lambda x: sum(jnp.sin(x + i) for i in range(30)))(1.0)

for _ in range(8):
    threading.Thread(target=compile_for_ever, daemon=True).start()
begun.wait()
time.sleep(0.2)
end(7)
"""


def test_a_thread_that_is_left_inside_native_code_does_not_change_the_end() -> None:
    command = [sys.executable, "-c", LEFT_BEHIND]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (7, "", "")


PROVING = (
    BEFORE
    + """
import os, sys, threading, time
from multiprocessing import active_children

number = getattr(signal, sys.argv.pop(1))

def press():
    while len(active_children()) < 2:
        time.sleep(0.01)
    print(*[child.pid for child in active_children()], flush=True)
    os.kill(os.getpid(), number)

threading.Thread(target=press, daemon=True).start()
start.main()
"""
)


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", -15), ("SIGKILL", -9)])
def test_no_worker_outlives_the_proof(name: str, code: int) -> None:
    command = [sys.executable, "-c", PROVING, name, "prove", "I01"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == code
    # a worker that is just being born may complain that nobody is there any more
    assert done.stderr.startswith("markstep: interrupted\n" * (code == 130))
    patience = time.monotonic() + 20
    for worker in map(int, done.stdout.split()):
        while Path(f"/proc/{worker}").exists() and time.monotonic() < patience:
            time.sleep(0.05)
        assert not Path(f"/proc/{worker}").exists()


ADAPTERS = """
import ctypes, os, signal
from markstep.conformance.adapters.model import ModelAdapter

class Quits(ModelAdapter):
    def apply(self, action):
        os._exit(0)

class QuitsNative(ModelAdapter):
    def apply(self, action):
        ctypes.CDLL(None).exit(0)

class Crashes(ModelAdapter):
    def apply(self, action):
        os.kill(os.getpid(), signal.SIGSEGV)

class Talks(ModelAdapter):
    def apply(self, action):
        print("python")
        os.write(1, b"descriptor\\n")
        ctypes.CDLL(None).puts(b"native")
        return super().apply(action)
"""


def run_adapter(folder: Path, name: str) -> "subprocess.CompletedProcess[str]":
    (folder / "theirs.py").write_text(ADAPTERS)
    (folder / "good.itf.json").write_text(dumps(Trace(GOOD)), encoding="utf-8")
    command = [sys.executable, "-m", "markstep.conformance", "replay", "good.itf.json"]
    command += ["--adapter", f"theirs:{name}", "--quiet"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("Quits", "exit status 0"),
        ("QuitsNative", "exit status 0"),
        ("Crashes", "killed by SIGSEGV"),
    ],
)
def test_an_adapter_that_ends_the_process_is_an_error(tmp_path: Path, name: str, how: str) -> None:
    done = run_adapter(tmp_path, name)
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.endswith(
        f"markstep: adapter: it ended the process ({how}) before there was a verdict\n"
    )


def test_what_an_adapter_prints_is_not_in_the_report(tmp_path: Path) -> None:
    done = run_adapter(tmp_path, "Talks")
    assert done.returncode == 0
    assert done.stdout.startswith("conforms") and done.stdout.count("\n") == 1
    for said in ("python\n", "descriptor\n", "native\n"):
        assert done.stderr.count(said) == len(GOOD)


LOSES = """
from markstep.conformance.cli.interrupts import interruptible

class Callback:
    def __init__(self, error):
        self.error = error

    def __del__(self):
        raise self.error

with interruptible():
    Callback(KeyboardInterrupt())
    Callback(ValueError("heard"))
"""


def test_an_interrupt_that_gets_lost_in_a_callback_is_not_told_and_other_errors_are() -> None:
    """JAX runs callbacks while Python collects garbage: Ctrl-C may come there."""
    done = subprocess.run([sys.executable, "-c", LOSES], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert "KeyboardInterrupt" not in done.stderr
    assert "ValueError: heard" in done.stderr
