"""Brokers and members in racks: a leader of ours gives partitions to whoever is near them, as Kafka's own does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient

from membership_client import TopicPartition
from membership_client.testing import KafkaCluster
from tests.peers.classic import SHARED, classic_settings, wait_shared
from tests.peers.group import Member, PeerGroup
from tests.peers.jvm import PeerJvm
from tests.peers.peer import PeerKind

pytestmark = pytest.mark.kafka

RACKS = ("east", "north", "west")
# With round robin nobody looks at racks.
NEAR = [strategy for strategy in SHARED if strategy != "roundrobin"]


@pytest.fixture(scope="module")
def racked_kafka() -> Iterator[KafkaCluster]:
    """A broker in each rack."""
    with KafkaCluster(brokers=len(RACKS), racks=RACKS) as cluster:
        yield cluster


@pytest.fixture
def racked_group(racked_kafka: KafkaCluster, peer_jvm: PeerJvm) -> Iterator[PeerGroup]:
    """Each of its six partitions has one replica."""
    group = PeerGroup(racked_kafka.bootstrap_servers, peer_jvm, "racks")
    yield group
    group.close()


@pytest.mark.parametrize("leader", ["ours", "java"])
@pytest.mark.parametrize("strategy", NEAR)
def test_everybody_reads_from_its_own_rack(
    racked_kafka: KafkaCluster, racked_group: PeerGroup, strategy: str, leader: PeerKind
) -> None:
    """Whoever leads, members of all clients have the partitions of their racks, as far as even shares allow."""
    other: PeerKind = "java" if leader == "ours" else "ours"
    members: dict[str, Member] = {}
    third: PeerKind = "confluent" if "confluent" in SHARED[strategy] else leader
    for rack, kind in zip(RACKS, (leader, other, third), strict=True):
        members[rack] = racked_group.join(kind, f"in-{rack}", **in_rack(kind, strategy, rack))
        wait_shared(racked_group, members.values())
    racks, shares = partitions_of(racked_kafka, racked_group), {r: m.history.owned for r, m in members.items()}
    assert {len(share) for share in shares.values()} == {len(racked_group.partitions) // len(RACKS)}
    assert {r: len(share & racks[r]) for r, share in shares.items()} == {
        r: min(len(share), len(racks[r])) for r, share in shares.items()
    }


def in_rack(kind: PeerKind, strategy: str, rack: str) -> dict[str, object]:
    return classic_settings(kind, strategy) | {"client_rack" if kind == "ours" else "client.rack": rack}


def partitions_of(kafka: KafkaCluster, group: PeerGroup) -> dict[str, frozenset[TopicPartition]]:
    """By rack, as a broker tells other clients."""
    topic = (
        AdminClient({"bootstrap.servers": kafka.bootstrap_servers}).list_topics(group.id, timeout=30).topics[group.id]
    )
    racks: dict[str, set[TopicPartition]] = {rack: set() for rack in RACKS}
    for number, partition in topic.partitions.items():
        (replica,) = partition.replicas
        racks[RACKS[replica - 1]].add(TopicPartition(group.id, number))
    return {rack: frozenset(partitions) for rack, partitions in racks.items()}
