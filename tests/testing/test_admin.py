"""What `ClusterAdmin` reports about a group."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer, KafkaException

from membership_client import TopicPartition
from membership_client.testing import ClusterAdmin, KafkaCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.kafka


@pytest.fixture
def admin(kafka: KafkaCluster) -> ClusterAdmin:
    """An administrator of the shared broker."""
    return ClusterAdmin(kafka.bootstrap_servers)


@contextmanager
def consuming(kafka: KafkaCluster, group: str, topic: str, partitions: int) -> Iterator[None]:
    """A librdkafka member that owns all partitions of the topic while the context lasts."""
    settings = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": group, "group.protocol": "consumer"}
    consumer = Consumer({**settings, "client.id": "a-client", "group.instance.id": "an-instance", "log_level": 0})
    consumer.subscribe([topic])
    try:
        while len(consumer.assignment()) != partitions:
            consumer.poll(0.05)
        yield
    finally:
        consumer.close()


def test_describe_tells_who_owns_what(kafka: KafkaCluster, admin: ClusterAdmin) -> None:
    """The description has state, epochs, identity, and both assignments of the only member of a stable group."""
    admin.create_topic("described", partitions=2)
    with consuming(kafka, "described-group", "described", 2):
        group = admin.describe("described-group")
    (member,) = group.members
    everything = {TopicPartition("described", 0), TopicPartition("described", 1)}
    assert (group.state, group.epoch) == ("Stable", group.assignment_epoch)
    assert (member.instance_id, member.client_id, member.epoch) == ("an-instance", "a-client", group.epoch)
    assert member.current == member.target == everything
    assert group.member(member.member_id) == member


def test_the_group_epoch_rises_with_the_topic(kafka: KafkaCluster, admin: ClusterAdmin) -> None:
    """New partitions raise the epoch."""
    admin.create_topic("growing", partitions=1)
    admin.set_group_config("growing-group", consumer_heartbeat_interval_ms=100)
    with consuming(kafka, "growing-group", "growing", 1):
        before = admin.group_epoch("growing-group")
        admin.add_partitions("growing", total=3)
        while admin.group_epoch("growing-group") == before:
            time.sleep(0.05)
        assert admin.group_epoch("growing-group") > before


def test_a_group_nobody_joined_is_a_lookup_error(admin: ClusterAdmin) -> None:
    """The message has the coordinator's own text."""
    with pytest.raises(LookupError, match="Group unheard-of not found"):
        admin.describe("unheard-of")


def test_the_only_broker_coordinates(admin: ClusterAdmin) -> None:
    """Brokers are numbered from 1, for one group and for many."""
    assert admin.coordinator("any-group") == 1
    assert admin.coordinators(["any-group", "another"]) == {"any-group": 1, "another": 1}


def test_a_group_may_have_a_short_session(admin: ClusterAdmin) -> None:
    """The brokers' bounds let a test choose a session of seconds for its own group; invalid values are refused."""
    admin.set_group_config("short-group", consumer_session_timeout_ms=3000, consumer_heartbeat_interval_ms=200)
    with pytest.raises(KafkaException, match=r"consumer\.session\.timeout\.ms"):
        admin.set_group_config("short-group", consumer_session_timeout_ms=10)


def test_a_deleted_topic_can_be_created_again(admin: ClusterAdmin) -> None:
    """Deletion is complete when the call returns."""
    admin.create_topic("phoenix")
    admin.delete_topic("phoenix")
    admin.create_topic("phoenix", partitions=2)
