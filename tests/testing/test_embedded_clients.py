"""Real clients on an embedded cluster: confluent-kafka's, and those of this library."""

from __future__ import annotations

import contextlib
import socket
import threading
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer as TheirConsumer
from confluent_kafka import ConsumerGroupState, KafkaError, KafkaException, Producer
from confluent_kafka import TopicPartition as TheirPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic, OffsetSpec

from membership_client import GroupMember, MemberState
from membership_client.consumer import Consumer
from membership_client.core.events import Heartbeat
from membership_client.net.codec import encode
from membership_client.partitions import NOTHING
from membership_client.testing import EmbeddedKafka
from membership_client.types import TopicPartition

PATIENCE_S = 40.0
QUICK = {"group.consumer.heartbeat.interval.ms": 200, "group.consumer.assignment.interval.ms": 0}
PROTOCOLS = ["classic", "consumer"]


@pytest.fixture
def embedded() -> Iterator[EmbeddedKafka]:
    with EmbeddedKafka(topics={"orders": 4}, settings=QUICK) as cluster:
        yield cluster


@pytest.fixture
def three_brokers() -> Iterator[EmbeddedKafka]:
    with EmbeddedKafka(3, topics={"orders": 4}, settings=QUICK) as cluster:
        yield cluster


def config(embedded: EmbeddedKafka, **more: Any) -> dict[str, Any]:
    keys = {name.replace("_", "."): value for name, value in more.items()}
    return {"bootstrap.servers": embedded.bootstrap_servers, "log_level": 0, **keys}


def fill(embedded: EmbeddedKafka, count: int, **more: Any) -> None:
    producer = Producer(config(embedded, **more))
    for number in range(count):
        producer.produce("orders", str(number), partition=number % 4)
    assert producer.flush(PATIENCE_S) == 0


def read(consumer: Any, count: int) -> list[int]:
    """The values of this number of records."""
    found: list[int] = []
    for _ in range(1000):
        message = consumer.poll(0.1)
        if message is not None:
            assert message.error() is None
            found.append(int(message.value()))
        if len(found) >= count:
            return sorted(found)
    raise AssertionError(f"{len(found)} of {count} records")


# --- records ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compression", ["none", "gzip", "lz4", "zstd", "snappy"])
def test_records_come_out_as_they_went_in(embedded: EmbeddedKafka, compression: str) -> None:
    """This holds for any compression, because the broker stores batches as they came."""
    producer = Producer(config(embedded, compression_type=compression))
    producer.produce("orders", "value", "key", partition=1, headers={"a": b"b"}, timestamp=1234)
    assert producer.flush(PATIENCE_S) == 0
    with contextlib.closing(TheirConsumer(config(embedded, group_id="g", check_crcs=True))) as consumer:
        consumer.assign([TheirPartition("orders", 1, 0)])
        message = consumer.poll(PATIENCE_S)
        assert message is not None
        assert (message.value(), message.key(), message.headers()) == (b"value", b"key", [("a", b"b")])
        assert (message.offset(), message.timestamp()[1]) == (0, 1234)


def test_an_idempotent_producer_writes_once_although_answers_are_lost(embedded: EmbeddedKafka) -> None:
    """It sends its batches again, and the broker recognises them."""
    embedded.lose_answer("Produce", 2)
    fill(embedded, 100, enable_idempotence=True)
    assert sum(embedded.end_offsets("orders").values()) == 100


def test_offsets_are_found_by_time(embedded: EmbeddedKafka) -> None:
    """They are found inside of a batch, too."""
    producer = Producer(config(embedded, linger_ms=100))
    for number in range(10):
        producer.produce("orders", str(number), partition=0, timestamp=1000 + number)
    assert producer.flush(PATIENCE_S) == 0
    with contextlib.closing(TheirConsumer(config(embedded, group_id="g"))) as consumer:
        (found,) = consumer.offsets_for_times([TheirPartition("orders", 0, 1004)], timeout=PATIENCE_S)
        assert found.offset == 4
        assert consumer.get_watermark_offsets(TheirPartition("orders", 0), timeout=PATIENCE_S) == (0, 10)


def test_a_reset_starts_at_the_end_of_what_is_out_of_range(embedded: EmbeddedKafka) -> None:
    """An offset that does not exist is refused as a real broker does, and the consumer resets."""
    fill(embedded, 8)
    with contextlib.closing(TheirConsumer(config(embedded, group_id="g", auto_offset_reset="earliest"))) as consumer:
        consumer.assign([TheirPartition("orders", 0, 1000)])
        assert read(consumer, 2) == [0, 4]


def spoken(protocol: str) -> dict[str, Any]:
    """Under the classic protocol members choose how often they send heartbeats."""
    return {"group_protocol": protocol, **({"heartbeat_interval_ms": 200} if protocol == "classic" else {})}


# --- groups ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_group_of_their_consumers(embedded: EmbeddedKafka, protocol: str) -> None:
    """One reads and commits; a second takes its half; the first gets it back when the second leaves, and goes on from there."""
    fill(embedded, 40)
    keys = config(embedded, group_id="g", auto_offset_reset="earliest", enable_auto_commit=False, **spoken(protocol))
    first, second = TheirConsumer(keys), TheirConsumer(keys)
    first.subscribe(["orders"])
    assert read(first, 40) == list(range(40))
    first.commit(asynchronous=False)
    assert embedded.committed("g") == {TopicPartition("orders", number): 10 for number in range(4)}
    second.subscribe(["orders"])
    poll_until([first, second], lambda: len(first.assignment()) == len(second.assignment()) == 2)
    second.close()
    poll_until([first], lambda: len(first.assignment()) == 4)
    fill(embedded, 8)
    assert read(first, 8) == list(range(8))
    first.close()
    assert embedded.describe("g").members == ()


def poll_until(consumers: list[Any], condition: Callable[[], bool]) -> None:
    for _ in range(2000):
        for consumer in consumers:
            assert consumer.poll(0.01) is None
        if condition():
            return
    raise AssertionError([consumer.assignment() for consumer in consumers])


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_our_members_share_and_hand_over(embedded: EmbeddedKafka, protocol: str) -> None:
    """Two members share the topic; when one leaves, the other owns all partitions."""
    settings = {"bootstrap_servers": embedded.bootstrap_servers, "group_id": "g", **spoken(protocol)}
    with GroupMember(settings) as first, GroupMember(settings) as second:
        first.subscribe(["orders"])
        first.wait_until(lambda snapshot: len(snapshot.owned) == 4, PATIENCE_S)
        second.subscribe(["orders"])
        embedded.wait_for(lambda: len(first.assignment()) == len(second.assignment()) == 2, PATIENCE_S)
        assert not first.assignment() & second.assignment()
        assert second.close().clean
        first.wait_until(lambda snapshot: len(snapshot.owned) == 4, PATIENCE_S)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_our_consumer_reads_commits_and_goes_on(embedded: EmbeddedKafka, protocol: str) -> None:
    """The next consumer starts where the last one has committed."""
    fill(embedded, 40)
    keys = config(embedded, group_id="g", group_protocol=protocol, auto_offset_reset="earliest")
    with Consumer(keys) as consumer:
        consumer.subscribe(["orders"])
        assert read(consumer, 40) == list(range(40))
    assert sum(embedded.committed("g").values()) == 40
    fill(embedded, 4)
    with Consumer(keys) as consumer:
        consumer.subscribe(["orders"])
        assert read(consumer, 4) == list(range(4))


def test_a_static_member_that_died_is_taken_over(embedded: EmbeddedKafka) -> None:
    """Its successor owns the same partitions at the same epoch, without a rebalance."""
    settings = {"bootstrap_servers": embedded.bootstrap_servers, "group_id": "g"}
    dead = speak_as_a_member_that_dies(embedded)
    before = embedded.describe("g")
    taking = {**settings, "group_instance_id": "one", "group_instance_id_conflict": "takeover"}
    with GroupMember(taking) as successor:
        successor.subscribe(["orders"])
        owned = successor.wait_until(lambda s: s.state is MemberState.STABLE and bool(s.owned), PATIENCE_S).owned
        after = embedded.describe("g")
        assert owned == before.member(dead).current
        assert (after.epoch, len(after.members)) == (before.epoch, 1)
        assert dead not in {member.member_id for member in after.members}


def speak_as_a_member_that_dies(embedded: EmbeddedKafka) -> str:
    """Join as instance "one", and send nothing more. Returns the member id."""
    member_id = str(uuid.uuid4())
    join = Heartbeat(
        group_id="g",
        member_id=member_id,
        epoch=0,
        instance_id="one",
        rebalance_timeout_s=60,
        topics=("orders",),
        regex="",
        owned=NOTHING,
    )
    host, port = embedded.bootstrap_servers.split(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(encode(join, 1, 1, "dying"))
        embedded.wait_for(lambda: embedded.describe("g").members, PATIENCE_S)
    return member_id


# --- transactions ----------------------------------------------------------------------------------------------------


def test_offsets_are_committed_with_their_transaction(embedded: EmbeddedKafka) -> None:
    """Offsets and records of an aborted transaction do not count for readers of committed records."""
    fill(embedded, 4)
    embedded.create_topic("paid")
    keys = config(embedded, group_id="g", auto_offset_reset="earliest", enable_auto_commit=False)
    producer = Producer(config(embedded, transactional_id="t"))
    producer.init_transactions(PATIENCE_S)
    with Consumer(keys) as consumer:
        consumer.subscribe(["orders"])
        assert read(consumer, 4) == list(range(4))
        offsets = [TheirPartition("orders", number, 1) for number in range(4)]
        for outcome in (producer.abort_transaction, producer.commit_transaction):
            producer.begin_transaction()
            producer.produce("paid", "1" if outcome == producer.abort_transaction else "2")
            producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), PATIENCE_S)
            assert embedded.committed("g") == {}
            outcome(PATIENCE_S)
        assert sum(embedded.committed("g").values()) == 4
    with contextlib.closing(TheirConsumer(config(embedded, group_id="h", isolation_level="read_committed"))) as reader:
        reader.assign([TheirPartition("paid", 0, 0)])
        assert read(reader, 1) == [2]


def test_a_second_producer_fences_the_first(embedded: EmbeddedKafka) -> None:
    """Of two producers with one transactional id the later one is accepted."""
    old, new = (Producer(config(embedded, transactional_id="t")) for _ in range(2))
    old.init_transactions(PATIENCE_S)
    new.init_transactions(PATIENCE_S)
    old.begin_transaction()
    old.produce("orders", "1")
    with pytest.raises(KafkaException) as raised:
        old.commit_transaction(PATIENCE_S)
    assert raised.value.args[0].code() == KafkaError._FENCED


# --- administration --------------------------------------------------------------------------------------------------


def test_topics_are_created_grown_described_and_deleted(embedded: EmbeddedKafka) -> None:
    """The requests are those of confluent-kafka's AdminClient."""
    admin = AdminClient(config(embedded))
    admin.create_topics([NewTopic("new", 2, 1)])["new"].result(PATIENCE_S)
    admin.create_partitions([NewPartitions("new", 5)])["new"].result(PATIENCE_S)
    assert len(admin.list_topics(timeout=PATIENCE_S).topics["new"].partitions) == 5
    with pytest.raises(KafkaException, match="TOPIC_ALREADY_EXISTS"):
        admin.create_topics([NewTopic("new", 2, 1)])["new"].result(PATIENCE_S)
    admin.delete_topics(["new"])["new"].result(PATIENCE_S)
    assert "new" not in admin.list_topics(timeout=PATIENCE_S).topics


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_groups_are_listed_described_and_deleted(embedded: EmbeddedKafka, protocol: str) -> None:
    """Only a group without members is deleted."""
    admin = AdminClient(config(embedded))
    settings = {"bootstrap_servers": embedded.bootstrap_servers, "group_id": "g", "group_protocol": protocol}
    with GroupMember(settings) as member:
        member.subscribe(["orders"])
        member.wait_until(lambda snapshot: len(snapshot.owned) == 4, PATIENCE_S)
        embedded.wait_for(lambda: embedded.describe("g").state == "Stable", PATIENCE_S)
        described = admin.describe_consumer_groups(["g"])["g"].result(PATIENCE_S)
        assert described.state is ConsumerGroupState.STABLE
        (shown,) = described.members
        assert len(shown.assignment.topic_partitions) == 4
        with pytest.raises(KafkaException, match="NON_EMPTY_GROUP"):
            admin.delete_consumer_groups(["g"])["g"].result(PATIENCE_S)
    assert [group.group_id for group in admin.list_consumer_groups().result(PATIENCE_S).valid] == ["g"]
    admin.delete_consumer_groups(["g"])["g"].result(PATIENCE_S)
    with pytest.raises(LookupError):
        embedded.describe("g")


def test_offsets_are_listed_by_an_administrator(three_brokers: EmbeddedKafka) -> None:
    """They come from all leaders."""
    fill(three_brokers, 8)
    admin = AdminClient(config(three_brokers))
    wanted = {TheirPartition("orders", number): OffsetSpec.latest() for number in range(4)}  # type: ignore[no-untyped-call]
    found = [each.result(PATIENCE_S).offset for each in admin.list_offsets(wanted).values()]
    assert found == [2, 2, 2, 2]


# --- three brokers ---------------------------------------------------------------------------------------------------


def test_a_group_follows_its_coordinator(three_brokers: EmbeddedKafka) -> None:
    """Members find the coordinator again when it has moved, and keep their partitions."""
    fill(three_brokers, 8)
    with Consumer(config(three_brokers, group_id="g", auto_offset_reset="earliest")) as consumer:
        consumer.subscribe(["orders"])
        assert read(consumer, 8) == list(range(8))
        three_brokers.move_coordinator()
        consumer.commit(asynchronous=False)
        assert sum(three_brokers.committed("g").values()) == 8
        assert len(consumer.assignment()) == 4


def test_topics_of_two_clusters_are_not_taken_for_each_other() -> None:
    """Topic ids once counted from 1 in each cluster, so a member of the second cluster was assigned the first one's topic."""
    for topic in ("orders", "bills"):
        with (
            EmbeddedKafka(topics={topic: 2}, settings=QUICK) as cluster,
            GroupMember({"bootstrap.servers": cluster.bootstrap_servers, "group.id": "shop"}) as member,
        ):
            member.subscribe([topic])
            member.wait_until(lambda snapshot: len(snapshot.owned) == 2, PATIENCE_S)
            assert {partition.topic for partition in member.assignment()} == {topic}


def test_threads_that_start_it_at_once_start_one_cluster() -> None:
    """The other threads are refused. Each once started brokers, of which stop() ended some."""
    before = threading.active_count()
    cluster, refused = EmbeddedKafka(), []

    def start() -> None:
        try:
            cluster.start()
        except RuntimeError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    cluster.stop()
    assert refused == ["The embedded cluster runs already."] * 7
    assert threading.active_count() == before


def test_nothing_is_left_when_it_stops() -> None:
    """There is no thread and no open port, and the cluster can be started again."""
    embedded = EmbeddedKafka(topics={"orders": 1})
    for _ in range(2):
        with embedded:
            assert AdminClient(config(embedded)).list_topics(timeout=PATIENCE_S).topics["orders"].partitions
        assert "embedded-kafka" not in {thread.name for thread in threading.enumerate()}
    embedded.stop()
