"""Members of one process on a real broker: none waits for the heartbeat interval of another.

The interval is half a minute, and a test waits for half of that: without siblings each of them would fail.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from membership_client import Consumer, LeaveMode, aio
from membership_client.core.events import ClassicHeartbeat, Heartbeat, Send
from tests.integration.classic import classic
from tests.integration.members import Group, WatchedMember, eventually

if TYPE_CHECKING:
    from membership_client.testing import KafkaCluster
    from tests.integration.conftest import GroupFactory

pytestmark = pytest.mark.kafka

SOON_S = 15.0
SLOW = {
    "consumer_heartbeat_interval_ms": 30_000,
    "consumer_session_timeout_ms": 60_000,
    "consumer_assignment_interval_ms": 1000,
}
PROTOCOLS = {
    "consumer": {"group_protocol": "consumer"},
    **{
        strategy: classic(strategy, heartbeat_interval_ms=30_000, session_timeout_ms=100_000)
        for strategy in ("range", "cooperative-sticky")
    },
}


def wait_shared(members: list[WatchedMember], group: Group) -> None:
    """Soon each of the six partitions has one owner."""

    def is_shared() -> bool:
        owned = [partition for member in members for partition in member.assignment()]
        return sorted(owned) == sorted(group.partitions(6)) and all(member.assignment() for member in members)

    eventually(is_shared, "all members have a share, long before the next regular heartbeat", SOON_S)


def heartbeats(member: WatchedMember) -> int:
    sends = [effect.request for effect in member.effects if isinstance(effect, Send)]
    return sum(isinstance(request, Heartbeat | ClassicHeartbeat) for request in sends)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_members_come_and_go_without_waiting_for_each_others_interval(
    kafka: KafkaCluster, new_group: GroupFactory, protocol: str
) -> None:
    """A second and a third one join, and leave again; those that stay have sent a few heartbeats."""
    group = new_group(kafka, **SLOW)
    members: list[WatchedMember] = []
    for _ in range(3):
        members.append(group.join(**PROTOCOLS[protocol]))
        wait_shared(members, group)
    while len(members) > 1:
        members.pop().close(LeaveMode.LEAVE)
        wait_shared(members, group)
    assert heartbeats(members[0]) <= 40


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_crowd_that_joins_at_once(kafka: KafkaCluster, new_group: GroupFactory, protocol: str) -> None:
    """Twelve members, six partitions: without a limit each would have sent a heartbeat for each of the others' changes."""
    group = new_group(kafka, **SLOW)
    members = [group.join(**PROTOCOLS[protocol]) for _ in range(12)]

    def is_shared() -> bool:
        owned = [partition for member in members for partition in member.assignment()]
        return sorted(owned) == sorted(group.partitions(6)) and max(len(m.assignment()) for m in members) == 1

    eventually(is_shared, "six of twelve members own a partition each", SOON_S)
    assert max(map(heartbeats, members)) <= 40


def settings_of(kafka: KafkaCluster, group: Group) -> dict[str, Any]:
    return {"bootstrap.servers": kafka.bootstrap_servers, "group.id": group.id, "group.protocol": "consumer"}


def test_consumers_of_one_process_are_siblings(kafka: KafkaCluster, new_group: GroupFactory) -> None:
    """As GroupMember: they share what knows of siblings."""
    group = new_group(kafka, **SLOW)
    with Consumer(settings_of(kafka, group)) as first, Consumer(settings_of(kafka, group)) as second:

        def share(*consumers: Consumer, each: int) -> bool:
            for consumer in consumers:
                consumer.poll(0.05)
            return all(len(consumer.assignment()) == each for consumer in consumers)

        first.subscribe([group.topic])
        eventually(lambda: share(first, each=6), "the first one owns all", SOON_S)
        second.subscribe([group.topic])
        eventually(lambda: share(first, second, each=3), "both own half, long before a regular heartbeat", SOON_S)


def test_members_of_asyncio_are_siblings(kafka: KafkaCluster, new_group: GroupFactory) -> None:
    """Also on one event loop."""
    group = new_group(kafka, **SLOW)

    async def share() -> None:
        async with (
            aio.GroupMember(settings_of(kafka, group)) as first,
            aio.GroupMember(settings_of(kafka, group)) as second,
        ):
            first.subscribe([group.topic])
            await first.wait_until(lambda snapshot: len(snapshot.owned) == 6, SOON_S)
            second.subscribe([group.topic])
            await second.wait_until(lambda snapshot: len(snapshot.owned) == 3, SOON_S)

    asyncio.run(share())
