"""Many members of one process in one group: how soon they are stable, and with how many heartbeats."""

from __future__ import annotations

from collections import Counter

import pytest

from membership_client.core.events import ClassicHeartbeat, Heartbeat, Send
from membership_client.core.machine import Step
from membership_client.testing.fake_coordinator import CoordinatorSettings
from membership_client.types import MemberState
from tests.simulation.director import direct, perform
from tests.simulation.process import Process
from tests.simulation.script import Action, Leave, Plan, Script, Start
from tests.simulation.siblings import FewHeartbeats
from tests.simulation.world import Checker, World

INTERVAL_S = 5.0
MANY = 100


class Sent(Checker):
    """Counts the heartbeats of each member."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def stepped(self, world: World, process: Process, taken: Step) -> None:
        sends = [effect.request for effect in taken.effects if isinstance(effect, Send)]
        self.counts[process.name] += sum(isinstance(request, Heartbeat | ClassicHeartbeat) for request in sends)


def play(count: int, actions: list[Action], *, strategy: str | None, put_off_s: float = 1.0) -> tuple[World, Sent]:
    """Members "0", "1" and so on of one process, and what they sent."""
    plans = (
        Plan(name=str(number), topics=frozenset({"orders"}), strategy=strategy, shares="p") for number in range(count)
    )
    settings = CoordinatorSettings(heartbeat_interval_s=INTERVAL_S, assignment_interval_s=put_off_s)
    script = Script(
        seed=1,
        topics=(("orders", count),),
        plans=tuple(plans),
        actions=tuple(actions),
        calm_at=0.0,
        settings=settings,
        siblings_late_s=0.001,
    )
    sent = Sent()
    world = World(script, [FewHeartbeats(), sent])
    direct(world)
    return world, sent


def run_until_shared(world: World, partitions: int, within_s: float) -> float:
    """How long it takes until the members that run are stable and own them all."""
    since, members = world.now, []
    while world.now < since + within_s:
        world.run_until(world.now + 0.02)
        members = [process.member for process in world.alive if process.wish is not None]
        is_stable = all(member.state is MemberState.STABLE for member in members)
        if is_stable and sum(len(member.owned) for member in members) == partitions:
            return world.now - since
    pytest.fail(f"not within {within_s} s: {Counter(member.state.name for member in members)}")


@pytest.mark.parametrize("strategy", [None, "cooperative-sticky", "range"])
def test_a_second_member_of_a_process_is_stable_in_half_a_second(strategy: str | None) -> None:
    """Without waiting for the heartbeat of the first one, which was sent just before it came."""
    world, sent = play(2, [Start(0.0, "0"), Start(7.0, "1")], strategy=strategy)
    world.run_until(7.0)
    sent.counts.clear()
    assert run_until_shared(world, 2, 0.5) < 0.5
    assert sent.counts["0"] <= 3


@pytest.mark.parametrize(
    ("strategy", "put_off_s"), [(None, 0.0), (None, 1.0), ("cooperative-sticky", 1.0), ("range", 1.0)]
)
def test_a_hundred_members_that_join_within_a_second_are_soon_stable(strategy: str | None, put_off_s: float) -> None:
    """And each has sent a few heartbeats, not one for each of the others."""
    starts: list[Action] = [Start(number / MANY, str(number)) for number in range(MANY)]
    world, sent = play(MANY, starts, strategy=strategy, put_off_s=put_off_s)
    world.run_until(1.0)
    assert run_until_shared(world, MANY, 4.0) < 4.0
    assert max(sent.counts.values()) <= 30
    assert sent.counts.total() <= 20 * MANY


@pytest.mark.parametrize("strategy", [None, "cooperative-sticky", "range"])
@pytest.mark.parametrize("after_s", [0.3, 3.0])
def test_what_a_member_gives_up_is_owned_again_in_no_time(strategy: str | None, after_s: float) -> None:
    """Also within the second for which a coordinator puts off the next target."""
    joined: list[Action] = [Start(0.0, "0"), Start(0.0, "1"), Start(9.0, "2")]
    world, _ = play(3, joined, strategy=strategy)
    world.run_until(9.0)
    run_until_shared(world, 3, 1.0)
    world.run_until(world.now + after_s)
    perform(world, Leave(world.now, "2"))
    assert run_until_shared(world, 3, 2.0) < 2.0
