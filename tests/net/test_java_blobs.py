"""What Java's own classes write is read by ours, and the other way round, in every version."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from membership_client.net.consumer_blobs import (
    NEWEST,
    SubscriptionReader,
    decode_assignment,
    encode_assignment,
    encode_held,
    encode_subscription,
)
from membership_client.subscriptions import MemberSubscription
from membership_client.types import TopicPartition
from tests.peers.jvm import PeerJvm

pytestmark = [pytest.mark.kafka, pytest.mark.deep]

HELD = frozenset({TopicPartition("bills", 7), TopicPartition("orders", 0), TopicPartition("orders", 2)})
MEMBER = MemberSubscription(member_id="m", topics=frozenset({"orders", "bills"}), owned=HELD, generation=5, rack="r1")
each_version = pytest.mark.parametrize("version", range(NEWEST + 1))


class Java:
    """Java's side of the table."""

    def __init__(self, jvm: PeerJvm) -> None:
        self.java = jvm.java
        self.consumer = jvm.java.org.apache.kafka.clients.consumer
        self.protocol = self.consumer.internals.ConsumerProtocol

    def partitions(self, held: Iterable[TopicPartition]) -> Any:
        return self.java.java.util.ArrayList(
            [self.java.org.apache.kafka.common.TopicPartition(topic, number) for topic, number in sorted(held)]
        )

    def wrap(self, data: bytes) -> Any:
        return self.java.java.nio.ByteBuffer.wrap(data)

    def short(self, number: int) -> Any:
        return self.java.java.lang.Short(str(number))

    def subscription(self, user_data: Any) -> Any:
        return self.consumer.ConsumerPartitionAssignor.Subscription(
            sorted(MEMBER.topics),
            user_data,
            self.partitions(HELD),
            MEMBER.generation,
            self.java.java.util.Optional.of(MEMBER.rack),
        )

    def user_data(self, assignor: str) -> Any:
        """Of an assignor that has got its share in generation 5."""
        made = getattr(self.consumer, assignor)()
        share = self.consumer.ConsumerPartitionAssignor.Assignment(self.partitions(HELD))
        nobody = self.java.java.util.Optional.empty()
        made.onAssignment(share, self.consumer.ConsumerGroupMetadata("g", MEMBER.generation, "m", nobody))
        return made.subscriptionUserData(self.java.java.util.HashSet(sorted(MEMBER.topics)))


@pytest.fixture(scope="module")
def java() -> Iterator[Java]:
    with PeerJvm() as jvm:
        yield Java(jvm)


def _names(partitions: Any) -> set[str]:
    return {str(partition.toString()) for partition in partitions}


@each_version
def test_subscriptions_of_java(java: Java, version: int) -> None:
    """What a version has is read, and what it lacks is as if it were not known."""
    data = bytes(java.protocol.serializeSubscription(java.subscription(None), java.short(version)).array())
    expected = MemberSubscription(
        member_id="m",
        topics=MEMBER.topics,
        owned=HELD if version >= 1 else frozenset(),
        generation=MEMBER.generation if version >= 2 else -1,
        rack=MEMBER.rack if version >= 3 else None,
    )
    assert SubscriptionReader("range").read("m", None, data) == expected


@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky"])
def test_subscriptions_for_java(java: Java, assignor: str) -> None:
    """Java finds every field."""
    read = java.protocol.deserializeSubscription(java.wrap(encode_subscription(MEMBER, assignor)))
    assert set(read.topics()) == MEMBER.topics
    assert _names(read.ownedPartitions()) == set(map(str, HELD))
    assert (read.generationId().get(), read.rackId().get()) == (MEMBER.generation, MEMBER.rack)


@pytest.mark.parametrize("version", [0, 3])
def test_what_java_held_under_sticky(java: Java, version: int) -> None:
    """It stands in the user data, whatever the version of the rest."""
    subscription = java.subscription(java.user_data("StickyAssignor"))
    data = bytes(java.protocol.serializeSubscription(subscription, java.short(version)).array())
    read = SubscriptionReader("sticky").read("m", None, data)
    assert (read.owned, read.generation) == (HELD, MEMBER.generation)


def test_our_user_data_under_sticky_is_javas(java: Java) -> None:
    """To the byte, with the topics as Java's hash map has them."""
    topics = [("bills", (7,)), ("orders", (0, 2))]
    ours = {encode_held(order, MEMBER.generation) for order in (topics, topics[::-1])}
    assert bytes(java.user_data("StickyAssignor").array()) in ours


def test_the_generation_of_an_old_cooperative_member_of_java(java: Java) -> None:
    """From before subscriptions had a field for it."""
    subscription = java.subscription(java.user_data("CooperativeStickyAssignor"))
    data = bytes(java.protocol.serializeSubscription(subscription, java.short(1)).array())
    read = SubscriptionReader("cooperative-sticky").read("m", None, data)
    assert (read.owned, read.generation) == (HELD, MEMBER.generation)


@each_version
def test_assignments_of_java(java: Java, version: int) -> None:
    """With user data, which is the assignor's affair."""
    share = java.consumer.ConsumerPartitionAssignor.Assignment(java.partitions(HELD), java.wrap(b"whatever"))
    data = bytes(java.protocol.serializeAssignment(share, java.short(version)).array())
    assert decode_assignment(data) == HELD


def test_assignments_for_java(java: Java) -> None:
    """Java reads what our leader gives."""
    read = java.protocol.deserializeAssignment(java.wrap(encode_assignment(HELD)))
    assert _names(read.partitions()) == set(map(str, HELD))
