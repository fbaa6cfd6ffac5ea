"""Members of other clients that write unusual data: our members go on, and report a problem if they must."""

from __future__ import annotations

import struct
import time
from collections.abc import Iterable, Sequence

import pytest

from membership_client import MemberState, MemberSubscription, TopicLayout, TopicPartition, UnreadableAssignmentError
from membership_client.core.assignors.registry import BUILT_IN
from membership_client.net.consumer_blobs import encode_assignment, encode_subscription
from tests.integration.classic import CLASSIC, STRATEGIES, classic, wait_shared
from tests.integration.members import Group, WatchedMember, eventually
from tests.peers.by_hand import MemberByHand

pytestmark = [pytest.mark.kafka, pytest.mark.deep]

VERSION = struct.Struct(">h")
NEWER = VERSION.pack(9)
NO_USER_DATA, USER_DATA = struct.pack(">i", -1), struct.pack(">i", 3) + b"odd"
MORE_FIELDS = b"of version 9"


class OddLeader(MemberByHand):
    """Writes an unknown version, with user data, and gives all members a topic that none wants."""

    def assignment(self, _member_id: str, share: Iterable[TopicPartition]) -> bytes:
        known = encode_assignment([*share, TopicPartition("unheard-of", 0)])
        return NEWER + known[VERSION.size :].removesuffix(NO_USER_DATA) + USER_DATA + MORE_FIELDS


class OddMember(MemberByHand):
    """Writes an unknown version, and user data that only it can read."""

    def subscription(self, me: MemberSubscription) -> bytes:
        known, (topic,) = encode_subscription(me, "range"), me.topics
        before, name, after = known.partition(topic.encode())
        return NEWER + before[VERSION.size :] + name + USER_DATA + after.removeprefix(NO_USER_DATA) + MORE_FIELDS


class Scribbler(MemberByHand):
    """Writes to others what only it can read."""

    def assignment(self, member_id: str, share: Iterable[TopicPartition]) -> bytes:
        return super().assignment(member_id, share) if member_id == self.member_id else b"for my own"


def by_hand(kind: type[MemberByHand], group: Group, strategy: str = "range") -> MemberByHand:
    return kind(group.bootstrap_servers, group.id, BUILT_IN[strategy], {group.topic: TopicLayout(6)})


def follow(group: Group, peer: MemberByHand, members: Sequence[WatchedMember]) -> None:
    """Until the peer and our members share all partitions."""

    def shared() -> bool:
        peer.follow()
        snapshots = [member.snapshot for member in members]
        owned = [*peer.owned, *(partition for snapshot in snapshots for partition in snapshot.owned)]
        settled = all(snapshot.state is MemberState.STABLE for snapshot in snapshots)
        return settled and sorted(p for p in owned if p.topic == group.topic) == sorted(group.partitions(6))

    eventually(shared, "partitions shared with a peer")


def is_calm(peer: MemberByHand, members: Sequence[WatchedMember]) -> bool:
    """Does the generation last for some heartbeats of all members?"""
    generation, awaited = peer.generation, [len(member.steps) + 20 for member in members]
    while any(len(member.steps) < steps for member, steps in zip(members, awaited, strict=True)):
        peer.follow()
        if peer.generation != generation:
            return False
        time.sleep(0.05)
    return True


def test_a_leader_that_writes_an_unknown_version(group: Group) -> None:
    """All members take what they asked for; for the rest, two static members kept the group rebalancing, in turns."""
    with by_hand(OddLeader, group) as leader:
        leader.join()
        members = [group.join(name, **CLASSIC) for name in ("one", "two")]
        follow(group, leader, members)
        members.pop(0).close()
        members.append(group.join("one", **CLASSIC))
        follow(group, leader, members)
        eventually(lambda: is_calm(leader, members), "a generation that lasts")
        assert all({p.topic for p in member.assignment()} == {group.topic} for member in members)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_member_that_writes_an_unknown_version(group: Group, strategy: str) -> None:
    """Our leader reads what it can, and gives it its half."""
    member = group.join(**classic(strategy))
    wait_shared(group, [member])
    with by_hand(OddMember, group, strategy) as peer:
        peer.join()
        follow(group, peer, [member])
        assert (len(peer.owned), len(member.assignment())) == (3, 3)


def test_a_leader_that_writes_what_cannot_be_read(group: Group) -> None:
    """A member that cannot read its share has none and names the leader; when another member leads, all is well again."""
    with by_hand(Scribbler, group) as leader:
        leader.join()
        member = group.join(**CLASSIC)

        def told() -> bool:
            leader.follow()
            return member.snapshot.state is MemberState.STABLE and member.error is not None

        eventually(told, "a share that cannot be read")
        assert isinstance(member.error, UnreadableAssignmentError)
        assert leader.member_id in str(member.error)
    wait_shared(group, [member])
    assert member.error is None
