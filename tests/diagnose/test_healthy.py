"""Groups that do what groups do: whoever comes and goes in peace, nobody is blamed."""

from __future__ import annotations

import random

import pytest

from tests.diagnose.traces import faults, plan, script, sections_of
from tests.simulation.script import Action, Script, Shut, Start


def peaceful(seed: int) -> Script:
    """Members join, static and dynamic; some restart, one after the other; some are scaled down at the end."""
    chance = random.Random(seed)
    names = "abcde"[: chance.randint(1, 5)]
    plans = [plan(name, instance_id=f"till-{name}" if chance.random() < 0.5 else None) for name in names]
    actions: list[Action] = [Start(chance.uniform(0, 20), name) for name in names]
    now = 100.0
    for _ in range(chance.randint(0, 4)):
        name = chance.choice(names)
        actions += [Shut(now, name, reason="new version"), Start(now + chance.uniform(1, 8), name)]
        now += chance.uniform(61, 90)
    actions += [Shut(now + chance.uniform(1, 30), name) for name in names if chance.random() < 0.3]
    return script(plans, sorted(actions, key=lambda action: action.at), calm_at=now + 40)


@pytest.mark.parametrize("seed", range(30))
def test_peace_gives_no_fault(seed: int) -> None:
    """Only rebalances, which are how a group works."""
    assert faults(sections_of(peaceful(seed))) == []
