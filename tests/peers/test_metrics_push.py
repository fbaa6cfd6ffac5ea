"""What a real broker with a receiver of client metrics gets from members, and from Java's consumer and librdkafka beside them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator

import pytest

from membership_client import Consumer, GroupMember, MemberState, TopicPartition
from membership_client.core.events import Answered, HeartbeatAccepted
from membership_client.core.machine import Step
from membership_client.testing import ClusterAdmin
from tests.integration.members import eventually
from tests.peers.jvm import PeerJvm
from tests.peers.metrics_receiver import MetricsReceiver, Received, metrics_receiver

pytestmark = pytest.mark.kafka

PREFIX = "org.apache.kafka.consumer.coordinator."
LIMIT_S = 90.0
OURS, LIBRDKAFKA = "membership-client", "confluent-kafka-python"


@pytest.fixture(scope="module")
def jvm() -> Iterator[PeerJvm]:
    with PeerJvm(jars_of_spark=["janino", "commons-compiler"]) as jvm:
        yield jvm


@pytest.fixture(scope="module")
def receiver(jvm: PeerJvm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MetricsReceiver]:
    with metrics_receiver(jvm, tmp_path_factory.mktemp("receiver")) as receiver:
        ClusterAdmin(receiver.bootstrap_servers).create_topic("orders", partitions=4)
        receiver.want("org.apache.kafka.consumer.")
        yield receiver


def config(receiver: MetricsReceiver, name: str) -> dict[str, str]:
    return {"bootstrap.servers": receiver.bootstrap_servers, "group.id": name, "client.id": name}


def first(receiver: MetricsReceiver, client_id: str, matches: Callable[[Received], bool]) -> Received:
    """The first push of that client that is like this."""

    def found() -> Received | None:
        return next((push for push in receiver.received(client_id) if matches(push)), None)

    push = eventually(found, f"such a push of {client_id}", LIMIT_S)
    assert push is not None
    return push


def test_a_member_is_seen_until_it_closes(receiver: MetricsReceiver) -> None:
    """By its member and instance id, with what it owns; after the last push it owns nothing."""
    with GroupMember(config(receiver, "seen") | {"group.instance.id": "till-1", "client.rack": "a"}) as member:
        member.subscribe(["orders"])
        member_id = member.wait_until(MemberState.STABLE, LIMIT_S).member_id
        push = first(receiver, "seen", lambda push: push.values[PREFIX + "assigned.partitions"] == 4.0)
        assert push.resource == {
            "client_rack": "a",
            "group_id": "seen",
            "group_instance_id": "till-1",
            "group_member_id": member_id,
        }
        assert (push.software, push.terminating) == (OURS, False)
        rebalances = sum(push.values[PREFIX + "rebalance.total"] for push in receiver.received("seen"))
        assert rebalances == 1.0  # Deltas, as Kafka's brokers want them.
    last = first(receiver, "seen", lambda push: push.terminating)
    assert last.instance == push.instance
    assert last == receiver.received("seen")[-1]
    assert last.values[PREFIX + "assigned.partitions"] == 0.0


def test_the_names_are_those_of_java(receiver: MetricsReceiver, jvm: PeerJvm) -> None:
    """Every metric that a member pushes, Java's consumer pushes under that name."""
    java = jvm.java
    deserializer = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
    deserializers = {"key.deserializer": deserializer, "value.deserializer": deserializer}
    settings = config(receiver, "java") | {"group.protocol": "consumer"} | deserializers
    ended = threading.Event()
    consumer = java.org.apache.kafka.clients.consumer.KafkaConsumer(java.java.util.HashMap(settings))

    def poll() -> None:
        consumer.subscribe(["orders"])
        while not ended.is_set():
            consumer.poll(java.java.time.Duration.ofMillis(50))
        consumer.close()

    thread = threading.Thread(target=poll)
    thread.start()
    try:
        with Consumer(config(receiver, "names") | {"auto.offset.reset": "earliest"}) as ours:
            ours.subscribe(["orders"])
            eventually(lambda: ours.poll(0.05) is None and len(ours.assignment()) == 4, "assigned", LIMIT_S)
            first(receiver, "java", lambda push: push.values.get(PREFIX + "assigned.partitions", 0.0) == 4.0)
            first(receiver, "names", lambda push: push.software == OURS)
    finally:
        ended.set()
        thread.join(LIMIT_S)
    first(receiver, "names", lambda push: push.software == OURS and push.terminating)
    known = {name for push in receiver.received("java") for name in push.values}
    told = {name for push in receiver.received("names") if push.software == OURS for name in push.values}
    assert len(told) > 8
    assert told - known == set()


def test_librdkafka_pushes_beside_it_and_says_nothing_of_a_membership(receiver: MetricsReceiver) -> None:
    """Two client instances of one client id: docs/telemetry.md says how to tell them apart."""
    with Consumer(config(receiver, "both") | {"auto.offset.reset": "earliest"}) as consumer:
        consumer.subscribe(["orders"])
        eventually(lambda: consumer.poll(0.05) is None and len(consumer.assignment()) == 4, "assigned", LIMIT_S)
        membership = first(receiver, "both", lambda push: push.values.get(PREFIX + "assigned.partitions") == 4.0)
        fetching = first(receiver, "both", lambda push: push.software != OURS)
    assert membership.software == OURS
    assert membership.instance != fetching.instance
    assert fetching.software == LIBRDKAFKA
    assert "group_member_id" not in fetching.resource
    assert not fetching.values.get(PREFIX + "assigned.partitions")


def test_one_key_switches_both_off(receiver: MetricsReceiver) -> None:
    """While another member pushes twice, such a consumer pushes nothing."""
    off = config(receiver, "off") | {"enable.metrics.push": "false", "auto.offset.reset": "earliest"}
    with Consumer(off) as consumer, GroupMember(config(receiver, "on")) as member:
        consumer.subscribe(["orders"])
        eventually(lambda: consumer.poll(0.05) is None and len(consumer.assignment()) == 4, "assigned", LIMIT_S)
        member.subscribe(["orders"])
        eventually(lambda: len(receiver.received("on")) >= 2, "two pushes of the other", LIMIT_S)
    assert receiver.received("off") == []


def test_a_changed_subscription_is_followed(receiver: MetricsReceiver) -> None:
    """A real broker says UNKNOWN_SUBSCRIPTION_ID then."""
    with GroupMember(config(receiver, "changed")) as member:
        member.subscribe(["orders"])
        first(receiver, "changed", lambda push: len(push.values) > 5)
        receiver.want(PREFIX + "heartbeat.total")
        try:
            push = first(receiver, "changed", lambda push: len(push.values) == 1)
        finally:
            receiver.want("org.apache.kafka.consumer.")
        assert push.values.keys() == {PREFIX + "heartbeat.total"}
        instances = {push.instance for push in receiver.received("changed")}
        assert len(instances) == 1


def test_a_receiver_that_hangs_delays_neither_heartbeats_nor_commits_nor_the_close(receiver: MetricsReceiver) -> None:
    """A broker answers the requests of one connection one after the other; pushes have one of their own."""
    beats: list[float] = []

    def count(step: Step) -> None:
        if isinstance(step.event, Answered) and isinstance(step.event.response, HeartbeatAccepted):
            beats.append(step.at)

    ClusterAdmin(receiver.bootstrap_servers).set_group_config("hung", consumer_heartbeat_interval_ms=200)
    with contextlib.ExitStack() as stack:
        member = stack.enter_context(GroupMember(config(receiver, "hung"), observers=[count]))
        hangs = stack.enter_context(receiver.hangs_for("hung"))
        member.subscribe(["orders"])
        member.wait_until(MemberState.STABLE, LIMIT_S)
        eventually(hangs.exists, "a push that waits", LIMIT_S)
        before = len(beats)
        eventually(lambda: len(beats) >= before + 10, "ten heartbeats", LIMIT_S)
        member.commit({TopicPartition("orders", 0): 0})
        assert member.close().clean
        assert receiver.received("hung") == []
