"""What a developer gets to see when the simulation fails."""

from __future__ import annotations

import pytest

from membership_client.core import leaving
from tests.simulation.generate import script_of
from tests.simulation.play import FailedRunError, play
from tests.simulation.record import describe_action
from tests.simulation.report import describe_failure
from tests.simulation.script import Crash, Plan, Script, Shut, Start, Weather
from tests.simulation.shrink import shrink


def _fail() -> FailedRunError:
    """The first seed that fails."""
    for seed in range(100):
        try:
            play(script_of(seed))
        except FailedRunError as failure:
            return failure
    pytest.fail("no seed fails")


@pytest.fixture
def rude_members(monkeypatch: pytest.MonkeyPatch) -> None:
    """Members that leave without giving their partitions back first."""
    monkeypatch.setattr(leaving, "_is_giving_back", lambda member: False)


def test_a_script_is_all_that_a_run_depends_on() -> None:
    """The same seed gives the same run, step by step."""
    first, second = play(script_of(7)), play(script_of(7))
    assert first.record.lines() == second.record.lines()
    assert script_of(7) == script_of(7)


def test_a_failure_names_the_seed_the_rule_and_how_to_see_it_again(rude_members: None) -> None:
    """The first lines say what broke and what to type."""
    failure = _fail()
    text = describe_failure(failure)
    assert text.startswith(f"Seed {failure.script.seed}: {failure}")
    assert f"pytest tests/simulation --seed {failure.script.seed}" in text


def test_whatever_the_core_raises_is_a_failure_of_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A crash is told like a broken rule, not as an error of the test."""
    monkeypatch.setattr(leaving, "_is_giving_back", lambda member: dict[str, bool]()["missing"])
    assert str(_fail()) == "KeyError('missing')"


def test_a_failure_is_told_by_a_shorter_script(rude_members: None) -> None:
    """A member that starts and leaves is all it takes; the rest of the trouble is left out."""
    failure = _fail()
    text = describe_failure(failure)
    told = text.partition("fails alike (")[2].partition(" ")[0]
    assert int(told) <= 3 < len(failure.script.actions)


def test_shrinking_keeps_only_what_matters() -> None:
    """Pieces go first, then single actions, then plans that nothing happens to."""
    actions = (Start(0.0, "a"), Start(0.0, "b"), Crash(1.0, "b"), Shut(2.0, "a"), Weather(at=3.0, until=4.0))
    plans = (Plan(name="a"), Plan(name="b"))
    script = Script(seed=0, topics=(("orders", 1),), plans=plans, actions=actions, calm_at=5.0)
    shortest = shrink(script, lambda candidate: Shut(2.0, "a") in candidate.actions)
    assert shortest.actions == (Shut(2.0, "a"),)
    assert [plan.name for plan in shortest.plans] == ["a"]


def test_shrinking_ends() -> None:
    """A failure that is told in time is worth more than the shortest one."""
    tried: list[Script] = []

    def fails(candidate: Script) -> bool:
        tried.append(candidate)
        return False

    shrink(script_of(3), fails, most_tries=10)
    assert len(tried) == 10


def test_an_action_is_told_without_its_defaults() -> None:
    """Short enough to read, complete enough to write down again."""
    assert describe_action(Weather(at=1.0, until=2.0, silence=0.5)) == "weather until=2 silence=0.5"
    assert describe_action(Crash(1.0, "a")) == "crash a"
