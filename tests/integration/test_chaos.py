"""Members that come, go, restart and change their minds at random, over a network that fails at random."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

import pytest

from membership_client import LeaveMode, MemberState, TopicPartition
from tests.integration.members import Call, RecordingListener, assert_never_shared, eventually
from tests.integration.proxy import HEARTBEAT

if TYPE_CHECKING:
    from tests.integration.conftest import GroupFactory, ProxiedKafka
    from tests.integration.members import Group, WatchedMember

pytestmark = [pytest.mark.kafka, pytest.mark.deep]

PARTITIONS = 12
INSTANCES = ("a", "b", "c")


class Chaos:
    """One random thing after the other. Nothing here outlasts a session, so no member may ever be fenced."""

    def __init__(self, group: Group, kafka: ProxiedKafka, seed: int) -> None:
        self.alive: list[WatchedMember] = []
        self._group = group
        self.proxy = kafka.proxy
        self.random = random.Random(seed)

    def listener(self) -> RecordingListener:
        return RecordingListener()

    def cut(self) -> None:
        self.proxy.cut()
        time.sleep(self.random.choice([0, 0.05, 0.2]))
        self.proxy.mend()

    def step(self) -> None:
        acts = [self._join, self._join, self._close, self._restart, self._lose_answers, self.cut, self._resubscribe]
        self.random.choice(acts)()
        time.sleep(self.random.choice([0, 0.01, 0.1, 0.3]))

    def _join(self) -> None:
        free = set(INSTANCES) - {member.snapshot.instance_id for member in self.alive}
        if len(self.alive) < 6:
            self._start(self.random.choice([None, *sorted(free)]))

    def _start(self, instance_id: str | None) -> None:
        conflict = self.random.choice(["wait", "takeover"])
        timeouts = {"request_timeout_ms": 700, "socket_connection_setup_timeout_ms": 700}
        settings = {"group_instance_id_conflict": conflict, **timeouts}
        self.alive.append(self._group.join(instance_id, self.listener(), **settings))

    def _close(self) -> None:
        if self.alive:
            leaver = self.alive.pop(self.random.randrange(len(self.alive)))
            leaver.close(self.random.choice([LeaveMode.DEFAULT, LeaveMode.LEAVE]), timeout_s=20)

    def _restart(self) -> None:
        static = [member for member in self.alive if member.snapshot.instance_id]
        if static:
            old = self.random.choice(static)
            self.alive.remove(old)
            old.close(timeout_s=20)
            self._start(old.snapshot.instance_id)

    def _resubscribe(self) -> None:
        if self.alive:
            member = self.random.choice(self.alive)
            member.unsubscribe()
            member.subscribe([self._group.topic])

    def _lose_answers(self) -> None:
        self.proxy.swallow_answers(HEARTBEAT, self.random.randint(1, 4))


class RoughChaos(Chaos):
    """Outages that outlast the session, and callbacks that take their time: now members are fenced."""

    def listener(self) -> RecordingListener:
        def nap(call: Call) -> None:
            time.sleep(self.random.choice([0, 0, 0.02, 0.2, 0.6]))

        return RecordingListener(assigned=nap, revoked=nap, lost=nap)

    def cut(self) -> None:
        self.random.choice([self.proxy.cut, self.proxy.stall])()
        time.sleep(self.random.choice([0, 0.2, 1.0, 2.5]))
        self.proxy.mend()
        self.proxy.resume()


@pytest.mark.parametrize("seed", [1, 2])
def test_chaos_ends_in_order(proxied_kafka: ProxiedKafka, new_group: GroupFactory, seed: int) -> None:
    """Whatever happens, no partition has two owners at a time, no member is fenced, and in the end all partitions have owners."""
    group = new_group(proxied_kafka, PARTITIONS)
    chaos = Chaos(group, proxied_kafka, seed)
    for _ in range(40):
        chaos.step()
    if not chaos.alive:
        chaos.alive.append(group.join())
    # Places of static members that left temporarily are kept for them; here they leave for good.
    present = {member.snapshot.instance_id for member in chaos.alive}
    for name in set(INSTANCES) - present:
        returned = group.join(name)
        returned.wait_stable()
        returned.close(LeaveMode.LEAVE)
    group.wait_for_shares(chaos.alive, group.partitions(PARTITIONS))
    assert_never_shared(group.members)
    ended = [member for member in group.members if {MemberState.FENCED, MemberState.FATAL} & set(member.states)]
    assert not ended, [(member.snapshot, member.states) for member in ended]
    eventually(lambda: not any(member.error for member in chaos.alive), "no errors left")


@pytest.mark.parametrize("seed", [211])
def test_rough_chaos_ends_in_order(proxied_kafka: ProxiedKafka, new_group: GroupFactory, seed: int) -> None:
    """Members that were fenced come back, and every partition is given up or lost exactly once after it was assigned."""
    group = new_group(proxied_kafka, PARTITIONS, consumer_session_timeout_ms=1500)
    chaos = RoughChaos(group, proxied_kafka, seed)
    for _ in range(25):
        chaos.step()
    # One that was taken over while it could not know has ended.
    alive = [member for member in chaos.alive if member.snapshot.state is not MemberState.FATAL] or [group.join()]
    group.wait_for_shares(alive, group.partitions(PARTITIONS))
    for member in group.members:
        assert_told_once(member)


def assert_told_once(member: WatchedMember) -> None:
    """What is assigned was not held, and what is revoked or lost was."""
    held: set[TopicPartition] = set()
    for call in member.calls:
        if call.kind == "assigned":
            assert not held & call.partitions
            held |= call.partitions
        else:
            assert call.partitions <= held
            held -= call.partitions
