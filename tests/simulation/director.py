"""Carries out the actions of a script."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from membership_client.core.events import (
    Close,
    CoordinatorDoubted,
    LeaveGroup,
    MembershipDoubted,
    Subscribe,
    Unsubscribe,
)
from tests.simulation.process import Process
from tests.simulation.script import (
    Action,
    Crash,
    Doubt,
    Drop,
    Evict,
    Grow,
    Hold,
    Idle,
    KeeperTrouble,
    Leave,
    Lose,
    Mood,
    Move,
    Resubscribe,
    Retune,
    Shut,
    Stall,
    Start,
    Unname,
    Weather,
)
from tests.simulation.world import GROUP, World


def direct(world: World) -> None:
    """Put all actions of the script into the world's queue, and the end of all faults."""
    for action in world.script.actions:
        world.at(action.at, partial(perform, world, action))
    world.at(world.script.calm_at, partial(calm_down, world))


def perform(world: World, action: Action) -> None:
    world.record.add_action(world.now, action)
    _PERFORM[type(action)](world, action)


def calm_down(world: World) -> None:
    """From now on the network is good, all members run, poll and have well-behaved callbacks, and there is a coordinator."""
    world.record.add_note(world.now, "calm")
    world.network.weather.clear()
    world.network.losses.clear()
    world.moods.clear()
    world.keeper_troubles.clear()
    world.cluster.topics.unnamed = frozenset()
    if world.cluster.coordinator is None:
        world.cluster.move(world.cluster.nodes[0], world.now)


def _start(world: World, action: Start) -> None:
    world.start(action.who)


def _on_running(do: Callable[[World, Process, Any], None]) -> Callable[[World, Any], None]:
    """Nothing can happen to a process that does not run."""

    def act(world: World, action: Any) -> None:
        process = world.running(action.who)
        if process is not None:
            do(world, process, action)

    return act


def _crash(world: World, process: Process, action: Crash) -> None:
    process.kill()


def _stall(world: World, process: Process, action: Stall) -> None:
    process.stall(action.until)


def _hold(world: World, process: Process, action: Hold) -> None:
    process.stall(action.until, held=True)


def _keeper_trouble(world: World, action: KeeperTrouble) -> None:
    world.keeper_troubles.append(action)


def _resubscribe(world: World, process: Process, action: Resubscribe) -> None:
    process.ask(Subscribe(action.topics, action.regex))


def _leave(world: World, process: Process, action: Leave) -> None:
    process.ask(Unsubscribe(mode=action.mode, reason=action.reason))


def _shut(world: World, process: Process, action: Shut) -> None:
    process.ask(Close(mode=action.mode, reason=action.reason, timeout_s=action.timeout_s))


def _idle(world: World, process: Process, action: Idle) -> None:
    process.idle_until = action.until


def _evict(world: World, process: Process, action: Evict) -> None:
    # By the instance id alone, where there is one, as operators do.
    instance_id = process.plan.instance_id
    member_id = "" if instance_id else process.member.known_as
    request = LeaveGroup(group_id=GROUP, member_id=member_id, instance_id=instance_id, reason="removed by an operator")
    world.cluster.handle(world.cluster.coordinator, request, world.now)


def _doubt(world: World, process: Process, action: Doubt) -> None:
    process.receive(MembershipDoubted())
    if process.member.coordinator is not None:
        process.receive(CoordinatorDoubted(process.member.coordinator))


def _weather(world: World, action: Weather) -> None:
    world.network.weather.append(action)


def _mood(world: World, action: Mood) -> None:
    world.moods.append(action)


def _lose(world: World, action: Lose) -> None:
    world.network.losses.append(action)


def _move(world: World, action: Move) -> None:
    cluster, to = world.cluster, world.cluster.nodes[action.to - 1]
    if action.crash and cluster.coordinator is not None:
        world.network.reset_broker(cluster.coordinator)
    cluster.coordinator = None
    world.moved_at = world.now + action.gap_s + action.loading_s
    world.at(world.now + action.gap_s, lambda: cluster.move(to, world.now, loading_s=action.loading_s))


def _grow(world: World, action: Grow) -> None:
    topics = world.cluster.topics
    if action.topic not in topics:
        topics.create(action.topic, action.partitions)
    elif action.partitions > topics[action.topic].partitions:
        topics.grow(action.topic, action.partitions)
    world.record.learn_topics()


def _drop(world: World, action: Drop) -> None:
    if action.topic in world.cluster.topics:
        world.cluster.topics.delete(action.topic)


def _unname(world: World, action: Unname) -> None:
    topics = world.cluster.topics
    if action.topic not in topics:
        return
    topic_id = topics[action.topic].topic_id
    topics.unnamed |= {topic_id}
    world.at(action.until, lambda: setattr(topics, "unnamed", topics.unnamed - {topic_id}))


def _retune(world: World, action: Retune) -> None:
    groups = world.cluster.groups
    if action.heartbeat_interval_s is not None:
        groups.settings = replace(groups.settings, heartbeat_interval_s=action.heartbeat_interval_s)
    if action.max_size is not None:
        groups.settings = replace(groups.settings, max_size=action.max_size)


_PERFORM: dict[type[Any], Callable[[World, Any], None]] = {
    Start: _start,
    Crash: _on_running(_crash),
    Stall: _on_running(_stall),
    Hold: _on_running(_hold),
    KeeperTrouble: _keeper_trouble,
    Resubscribe: _on_running(_resubscribe),
    Leave: _on_running(_leave),
    Shut: _on_running(_shut),
    Idle: _on_running(_idle),
    Evict: _on_running(_evict),
    Doubt: _on_running(_doubt),
    Weather: _weather,
    Mood: _mood,
    Lose: _lose,
    Move: _move,
    Grow: _grow,
    Drop: _drop,
    Unname: _unname,
    Retune: _retune,
}
