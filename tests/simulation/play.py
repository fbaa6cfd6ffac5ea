"""Plays a script under all checks, until the group is at rest; describes a failure in full."""

from __future__ import annotations

from tests.simulation.checkers import OneOwner, safety, violated
from tests.simulation.classic import GivenBack, NothingOnceExpelled, OneClassicOwner, classic_unrest
from tests.simulation.director import direct
from tests.simulation.manners import manners
from tests.simulation.rest import Quiet, unrest
from tests.simulation.script import Script
from tests.simulation.siblings import FewHeartbeats
from tests.simulation.world import ViolationError, World


class FailedRunError(AssertionError):
    """A script that broke a rule, or in which the core raised; and everything that happened until then."""

    def __init__(self, script: Script, broken: Exception, transcript: list[str]) -> None:
        super().__init__(str(broken) if isinstance(broken, ViolationError) else repr(broken))
        self.script = script
        self.transcript = transcript


MOST_EARLY_INTERVALS = 20
"""After this number of intervals no member that waits for partitions sends early heartbeats any more."""


def play(script: Script) -> World:
    """The world at rest; raises FailedRunError if a rule is broken, or if the group does not come to rest."""
    quiet = Quiet()
    own = [OneClassicOwner(), NothingOnceExpelled(), GivenBack()] if script.classic else [OneOwner()]
    world = World(script, [*own, *safety(), *manners(), FewHeartbeats(), quiet])
    direct(world)
    try:
        world.run_until(script.calm_at)
        _come_to_rest(world)
        if script.stays and _stay_at_rest(world, quiet):
            # A coordinator may learn late that a topic grew: one more rebalance, and then there is nothing to learn.
            quiet.watching = False
            _come_to_rest(world)
            if (trouble := _stay_at_rest(world, quiet)) is not None:
                violated(world, "the group", f"does not stay at rest: {trouble}")
    except Exception as broken:
        # The core's own assertions count too, and so does everything else it should not raise.
        raise FailedRunError(script, broken, world.record.lines()) from broken
    return world


def patience_s(script: Script) -> float:
    """How long coming to rest may take: sessions, revocations and waits for an instance id, one after the other."""
    longest_poll_s = max(plan.poll_interval_s for plan in script.plans)
    return 3 * script.settings.session_timeout_s + longest_poll_s + 40.0


def _come_to_rest(world: World) -> None:
    give_up_at = world.now + patience_s(world.script)
    while (trouble := _unrest(world)) is not None:
        if world.now >= give_up_at:
            violated(world, "the group", f"does not come to rest: {trouble}")
        world.run_until(world.now + 0.5)


def _stay_at_rest(world: World, quiet: Quiet) -> str | None:
    """What disturbed the rest within a little more than two intervals; None if nothing did."""
    # A classic member has an interval of its own, whatever the coordinator has learned since it started.
    told_s = world.cluster.groups.settings.heartbeat_interval_s
    interval_s = max([told_s, *(process.member.interval_s for process in world.alive)])
    # What was lost before the calm must time out first.
    world.run_until(world.now + interval_s + max(plan.request_timeout_s for plan in world.script.plans))
    give_up_at = world.now + MOST_EARLY_INTERVALS * interval_s
    while any(process.member.owed_gap_s is not None for process in world.alive):
        if world.now >= give_up_at:
            violated(world, "the group", "is at rest, yet a member still sends early heartbeats")
        world.run_until(world.now + interval_s)
    quiet.watching = True
    world.run_until(world.now + 2.1 * interval_s)
    quiet.check_alive(world)
    return _unrest(world)


def _unrest(world: World) -> str | None:
    return classic_unrest(world) if world.script.classic else unrest(world)
