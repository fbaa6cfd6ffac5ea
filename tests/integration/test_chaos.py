"""Members that come, go, restart and change their minds at random, over a network that fails at random."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

import pytest

from membership_client import LeaveMode, MemberState
from tests.integration.members import assert_never_shared, eventually
from tests.integration.proxy import HEARTBEAT

if TYPE_CHECKING:
    from tests.integration.conftest import GroupFactory, ProxiedKafka
    from tests.integration.members import Group, WatchedMember

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

PARTITIONS = 12
INSTANCES = ("a", "b", "c")


class Chaos:
    """One random thing after the other. Nothing here outlasts a session, so nobody may ever be fenced."""

    def __init__(self, group: Group, kafka: ProxiedKafka, seed: int) -> None:
        self.alive: list[WatchedMember] = []
        self._group = group
        self._proxy = kafka.proxy
        self._random = random.Random(seed)

    def step(self) -> None:
        acts = [self._join, self._join, self._close, self._restart, self._lose_answers, self._cut, self._resubscribe]
        self._random.choice(acts)()
        time.sleep(self._random.choice([0, 0.01, 0.1, 0.3]))

    def _join(self) -> None:
        free = set(INSTANCES) - {member.snapshot.instance_id for member in self.alive}
        if len(self.alive) < 6:
            self.alive.append(self._group.join(self._random.choice([None, *sorted(free)])))

    def _close(self) -> None:
        if self.alive:
            leaver = self.alive.pop(self._random.randrange(len(self.alive)))
            leaver.close(self._random.choice([LeaveMode.DEFAULT, LeaveMode.LEAVE]), timeout_s=20)

    def _restart(self) -> None:
        static = [member for member in self.alive if member.snapshot.instance_id]
        if static:
            old = self._random.choice(static)
            self.alive.remove(old)
            old.close(timeout_s=20)
            self.alive.append(self._group.join(old.snapshot.instance_id))

    def _resubscribe(self) -> None:
        if self.alive:
            member = self._random.choice(self.alive)
            member.unsubscribe()
            member.subscribe([self._group.topic])

    def _lose_answers(self) -> None:
        self._proxy.swallow_answers(HEARTBEAT, self._random.randint(1, 4))

    def _cut(self) -> None:
        self._proxy.cut()
        time.sleep(self._random.choice([0, 0.05, 0.2]))
        self._proxy.mend()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_chaos_ends_in_order(proxied_kafka: ProxiedKafka, new_group: GroupFactory, seed: int) -> None:
    """Whatever happens, no partition has two owners at a time, nobody is fenced, and in the end all are shared."""
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
