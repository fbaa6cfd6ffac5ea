"""The troubles of seeds: without this test none would notice a trouble that is not generated, or that meets no member, any more."""

from __future__ import annotations

import re
from typing import get_args

import pytest

from membership_client.core.events import Answered, CallbackReturned, Failed
from membership_client.core.machine import Step
from tests.simulation.director import direct
from tests.simulation.generate import STRATEGIES, script_of
from tests.simulation.process import Process
from tests.simulation.script import Action, Script
from tests.simulation.world import Checker, World

SEEDS = 240
PLAYED = 130


class Witness(Checker):
    """Notes what members meet."""

    def __init__(self) -> None:
        self.saw: set[str] = set()
        self._answered: set[tuple[str, int]] = set()

    def stepped(self, world: World, process: Process, taken: Step) -> None:
        event = taken.event
        if isinstance(event, Answered):
            self._see_answer((process.member_id, event.request_id), is_ignored=taken.after is taken.before)
        elif isinstance(event, Failed):
            self.saw.add(f"a request that {event.kind.value}")
        elif isinstance(event, CallbackReturned) and event.error:
            self.saw.add("a callback that raised")

    def _see_answer(self, key: tuple[str, int], *, is_ignored: bool) -> None:
        if key in self._answered:
            self.saw.add("an answer that came twice")
        elif is_ignored:
            self.saw.add("an answer that came too late")
        self._answered.add(key)


def scripts(*, classic: bool, seeds: int) -> list[Script]:
    return [script for script in map(script_of, range(seeds)) if script.classic is classic]


@pytest.mark.parametrize("classic", [False, True])
def test_every_trouble_is_planned(classic: bool) -> None:
    """In groups of either protocol."""
    planned = {type(action) for script in scripts(classic=classic, seeds=SEEDS) for action in script.actions}
    assert planned == set(get_args(Action))


def test_groups_of_every_kind_are_watched_at_rest() -> None:
    """Among the classic ones it used to be those with one strategy only."""
    watched = {script.plans[0].strategy for script in map(script_of, range(SEEDS)) if script.stays}
    assert watched == {None, *STRATEGIES}


MET = {
    "a callback that raised",
    "a request that disconnected",
    "an answer that came too late",
    "an answer that came twice",
    "expelled: its session expired",
}


@pytest.mark.parametrize(
    ("classic", "slow"),
    [(False, "expelled: it did not leave epoch in time"), (True, "expelled: it did not join in time")],
)
def test_every_trouble_is_met(classic: bool, slow: str) -> None:
    """Members of either protocol meet what the network and callbacks do, and are thrown out for silence and for slowness."""
    met, expected = set[str](), MET | {slow}
    for script in scripts(classic=classic, seeds=PLAYED):
        witness = Witness()
        world = World(script, [witness])
        direct(world)
        world.run_until(script.calm_at)
        met |= witness.saw
        met.update(
            re.sub(r" \d+", "", text.partition(" ")[2]) for _, text in world.cluster.groups.log if "expelled" in text
        )
        if met >= expected:
            return
    assert met >= expected
