"""Running the rules on symbols: the same as running them on values, for every rule."""

import random

import pytest

from markstep.spec import machine
from markstep.spec.design import SOUND, TORCH_XLA_2_9, Design
from markstep.spec.machine import step
from markstep.spec.proofs import states
from markstep.spec.proofs.expressions import evaluate
from markstep.spec.proofs.instances import actions_in, at, cases
from markstep.spec.proofs.merging import merging
from markstep.spec.proofs.states import OPENED, Case, build, concrete, fields_of, unknown
from markstep.spec.proofs.symbolic import Run, follow, lift
from markstep.spec.state import State
from markstep.spec.vocabulary import FailExecution

RECORDS, BUFFERS, SAMPLES = 2, 2, 6


def sample(case: Case, random_: random.Random) -> dict[str, int]:
    """Values for every control field of a case."""
    given: dict[str, int] = {}

    def get(path: str, domain: tuple[int, ...]) -> int:
        given[path] = random_.choice(domain)
        return given[path]

    build(case, get)
    return given


def symbolic_step(case: Case, action: object, design: Design, given: dict[str, int]) -> dict | None:
    """The fields after a step along the one path that given values take on symbols."""

    class Follower(Run):
        def _choose(self, e) -> bool:
            return bool(evaluate(e, {v: given[v.name] for v in e.variables}))

    def code() -> dict | None:
        state = unknown(case)
        if not machine.enabled(state, action, design):
            return None
        machine.take(state, action, design)
        return fields_of(state)

    try:
        after = follow(Follower([]), code)
    except states.OutOfBound:
        return {}
    if after is None:
        return None
    return {
        path: evaluate(e, {v: given[v.name] for v in e.variables})
        for path, e in ((path, lift(value)) for path, value in after.items())
        if not path.startswith("tensor")
    }


@pytest.mark.parametrize("modes", [(), OPENED], ids=["", "modes"])
@pytest.mark.parametrize("design", [SOUND, TORCH_XLA_2_9], ids=lambda d: d.name)
def test_a_rule_on_symbols_is_the_rule_on_values(design: Design, modes: tuple[str, ...]) -> None:
    random_, compared = random.Random(3), set()
    with merging(RECORDS, BUFFERS, modes):
        for case in cases(RECORDS, BUFFERS, modes):
            for action in actions_in(case):
                action = at(action, {})
                for _ in range(3 if modes else SAMPLES):
                    given = sample(case, random_)
                    after = step(concrete(case, given), action, design)
                    found = symbolic_step(case, action, design, given)
                    if found == {}:
                        assert after is not None
                        assert len(after.records) > RECORDS or len(after.buffers) > BUFFERS
                    elif found is None or after is None:
                        assert found is None and after is None
                    else:
                        assert found == values_of(after, found), (case, action, given)
                        compared.add(type(action))
    assert FailExecution in compared and len(compared) > 25


def values_of(state: State, like: dict[str, int]) -> dict[str, int]:
    """The control fields of a plain state as numbers."""
    found = {path: lift(value).value for path, value in fields_of(state).items() if path in like}
    blank = fields_of(State()) | found
    return {path: lift(blank[path]).value for path in like}
