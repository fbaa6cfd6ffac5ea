"""Commits with an epoch that is not the member's newest, as Kafka accepts them since 4.3 (KIP-1251)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from membership_client.core.error_codes import Code
from membership_client.testing.embedded.broker import Brokers
from membership_client.testing.embedded.cluster import Cluster
from membership_client.testing.embedded.settings import BrokerSettings
from membership_client.types import Node, TopicPartition
from tests.testing.test_embedded_requests import ask

HEARTBEAT, COMMIT = 68, 8


class CommitGroup:
    """A group `shop` of the topic `orders`, whose members send what a test gives them."""

    def __init__(self) -> None:
        self.brokers = Brokers(
            Cluster([Node("127.0.0.1", 9092, 1)], BrokerSettings(group_consumer_assignment_interval_ms=0))
        )
        self.brokers.cluster.topics.create("orders", 2)
        found = self.brokers.cluster.topics.find("orders")
        assert found is not None
        self.topic = found.topic_id

    def heartbeat(self, member: str, epoch: int, owned: list[int] | None = None, **more: Any) -> int:
        """Send a heartbeat; returns the member's epoch after it."""
        topics = None if owned is None else [{"topic_id": self.topic, "partitions": owned}] if owned else []
        answer = ask(
            self.brokers,
            HEARTBEAT,
            1,
            group_id="shop",
            member_id=member,
            member_epoch=epoch,
            topic_partitions=topics,
            **more,
        )
        assert answer.error_code == 0
        return int(answer.member_epoch)

    def join(self, member: str) -> int:
        return self.heartbeat(member, 0, [], subscribed_topic_names=["orders"], rebalance_timeout=timedelta(seconds=60))

    def commit(self, member: str, epoch: int, offset: int) -> list[int]:
        """The error codes of both partitions."""
        partitions = [{"partition_index": number, "committed_offset": offset} for number in (0, 1)]
        answer = ask(
            self.brokers,
            COMMIT,
            9,
            group_id="shop",
            member_id=member,
            generation_id_or_member_epoch=epoch,
            topics=[{"name": "orders", "partitions": partitions}],
        )
        return [each.error_code for topic in answer.topics for each in topic.partitions]


def test_what_was_held_at_an_older_epoch_may_be_committed_with_it() -> None:
    """Embedded brokers once refused a member whose epoch had risen since it sent its commit."""
    group = CommitGroup()
    first = group.join("a")
    assert group.commit("a", first, 1) == [0, 0]
    group.join("b")
    group.heartbeat("a", first)
    newest = group.heartbeat("a", first, [0])
    assert newest > first
    codes = group.commit("a", first, 2)
    assert sorted(codes) == [0, Code.STALE_MEMBER_EPOCH]
    kept = codes.index(0)
    assert group.brokers.cluster.offsets.of("shop")[TopicPartition("orders", kept)].offset == 2
    assert group.brokers.cluster.offsets.of("shop")[TopicPartition("orders", 1 - kept)].offset == 1
    assert group.commit("a", newest + 1, 3) == [Code.STALE_MEMBER_EPOCH] * 2


def test_what_was_gained_later_may_not() -> None:
    """Another member may have had the partition at that epoch."""
    group = CommitGroup()
    first = group.join("a")
    second = group.join("b")
    group.heartbeat("a", first)
    group.heartbeat("a", first, [0])
    newest = group.heartbeat("b", second)
    assert group.commit("b", newest, 1).count(0) >= 1
    assert group.commit("b", 1, 1) == [Code.STALE_MEMBER_EPOCH] * 2
