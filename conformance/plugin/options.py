"""Options and fixtures for pytest. This module is loaded in every run of pytest where markstep is
installed: it imports nothing of markstep until it is asked for something.
"""

from typing import Any

import pytest

OPTIONS = {
    "adapter": ("NAME", None, "hold this executor to the law: a name, module:attribute or exec:…"),
    "design": ("D", "sound", "the design to hold to"),
    "profile": ("P", "tiny", "tiny, small or standard: how many programs are generated"),
    "seed": ("N", "0", "seed of the generated programs"),
    "known": ("FILE", None, "a list of known failures: shipped, or a TOML file"),
    "out": ("DIR", "markstep-out", "directory for the traces of failures"),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options."""
    group = parser.getgroup("markstep", "markstep: hold an executor to the specification")
    for name, (metavar, default, text) in OPTIONS.items():
        said = f"{text} (default: {default})" if default else text
        group.addoption(f"--markstep-{name}", metavar=metavar, default=default, help=said)


def pytest_configure(config: pytest.Config) -> None:
    """The suite takes part only where an adapter is named."""
    if config.getoption("--markstep-adapter"):
        from markstep.conformance.plugin.suite import Suite

        config.pluginmanager.register(Suite(config), "markstep-suite")


@pytest.fixture
def markstep_model(request: pytest.FixtureRequest) -> Any:
    """The law itself as an executor, under the design of --markstep-design: `apply(action)` gives
    what is observed, `observe()` every tensor, `state` is the state of the law."""
    from markstep.conformance.adapters.model import ModelAdapter
    from markstep.conformance.plugin.asking import the_design

    return ModelAdapter(the_design(request.config))


@pytest.fixture
def markstep_lockstep(request: pytest.FixtureRequest) -> Any:
    """`markstep_lockstep(program, adapter)`: a program on the law and on an executor, by default
    that of --markstep-adapter. It fails where they part, and skips what the executor cannot do."""
    from markstep.conformance.plugin.asking import lockstep

    return lockstep(request.config)
