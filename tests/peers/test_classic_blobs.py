"""Classic groups shared with librdkafka and Java: our leader reads their words, and their leaders read ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from membership_client.core.assignors.registry import BUILT_IN
from membership_client.subscriptions import MemberSubscription, TopicLayout
from membership_client.testing import KafkaCluster
from tests.net.conversation import Conversation
from tests.peers.by_hand import MemberByHand
from tests.peers.group import PeerGroup, eventually
from tests.peers.peer import Peer, PeerKind

pytestmark = pytest.mark.kafka

_JAVA = {
    "range": "RangeAssignor",
    "roundrobin": "RoundRobinAssignor",
    "sticky": "StickyAssignor",
    "cooperative-sticky": "CooperativeStickyAssignor",
}
# librdkafka has no eager sticky assignor.
CASES = [("java", name) for name in _JAVA] + [("confluent", name) for name in _JAVA if name != "sticky"]

each_peer = pytest.mark.parametrize(("kind", "name"), CASES, ids=map("-".join, CASES))
ByHand = Callable[[str], MemberByHand]


@pytest.fixture
def by_hand(kafka: KafkaCluster, group: PeerGroup) -> ByHand:
    topics = {group.id: TopicLayout(len(group.partitions))}
    # A broker begins to be a coordinator when it is first asked for one.
    with Conversation.about(group.id, kafka.bootstrap_servers):
        pass
    return lambda name: MemberByHand(kafka.bootstrap_servers, group.id, BUILT_IN[name], topics)


def _join(group: PeerGroup, kind: PeerKind, name: str) -> Peer:
    strategy = f"org.apache.kafka.clients.consumer.{_JAVA[name]}" if kind == "java" else name
    settings: dict[str, Any] = {
        "group.protocol": "classic",
        "partition.assignment.strategy": strategy,
        "heartbeat.interval.ms": 100,
        "client.rack": "r1",
    }
    return group.join(kind, **settings)


@each_peer
def test_our_leader_and_their_member(by_hand: ByHand, group: PeerGroup, kind: PeerKind, name: str) -> None:
    """What it subscribed to is read, what it is given arrives, and when it is given less it says what it holds."""
    with by_hand(name) as leader:
        leader.join()
        assert leader.owned == group.partitions
        peer = _join(group, kind, name)
        _share(group, leader, peer)
        (told,) = _of_others(leader)
        assert (told.topics, told.rack) == ({group.id}, "r1")
        held = peer.history.owned
        _share(group, leader, peer, _join(group, kind, name))
        if "sticky" in name:
            assert any(told.generation > 0 and told.owned and told.owned <= held for told in _of_others(leader))
    group.close()


@each_peer
def test_their_leader_and_our_member(by_hand: ByHand, group: PeerGroup, kind: PeerKind, name: str) -> None:
    """It understands our subscription and gives us half, then, when another comes, lets us keep what it can."""
    leader = _join(group, kind, name)
    eventually(lambda: leader.history.owned == group.partitions, lambda: "the leader alone")
    with by_hand(name) as member:
        member.join()
        _share(group, member, leader)
        assert not member.subscriptions
        before = member.owned
        _share(group, member, leader, _join(group, kind, name))
        if "sticky" in name:
            assert member.owned < before
    group.close()


def _of_others(leader: MemberByHand) -> list[MemberSubscription]:
    """What the leader was told in the last round."""
    return [told for told in leader.subscriptions if told.member_id != leader.member_id]


def _share(group: PeerGroup, ours: MemberByHand, *peers: Peer) -> None:
    """Until the partitions are shared evenly, each held once."""

    def is_shared() -> bool:
        ours.follow()
        shares = [ours.owned, *(peer.history.owned for peer in peers)]
        whole = sorted(partition for share in shares for partition in share) == sorted(group.partitions)
        return whole and {len(share) for share in shares} == {len(group.partitions) // len(shares)}

    eventually(is_shared, lambda: f"even shares: {ours.owned}, {[peer.history.owned for peer in peers]}")
