"""What confluent_kafka.Consumer does in corners, and ours did not: found by its own tests and by random programs."""

from __future__ import annotations

import functools
import signal
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import OFFSET_INVALID, TIMESTAMP_NOT_AVAILABLE, KafkaError, KafkaException, Message

from membership_client import ConfigError, Consumer, MemberClosedError, TopicPartition
from membership_client.admin import GroupAdmin
from membership_client.trace import read_trace
from tests.consumer.helpers import Reader, World, number_of, offset_of
from tests.integration.members import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.deep]

CLASSIC = {"group.protocol": "classic", "partition.assignment.strategy": "range", "heartbeat.interval.ms": 200}
KIP_848 = {"group.protocol": "consumer"}
AUTO = {"enable.auto.commit": True, "auto.commit.interval.ms": 3_600_000}
BY_HAND = {"enable.auto.offset.store": False}


def code_of(call: Callable[[], object]) -> int:
    """Of the KafkaException that it raises."""
    with pytest.raises(KafkaException) as error:
        call()
    return int(error.value.args[0].code())


def assigned(world: World, offset: int = 0, config: dict[str, Any] | None = None) -> Reader:
    """Reads partition 0 without a subscription."""
    reader = world.reader(config)
    reader.consumer.assign([world.place(0, offset)])
    return reader


# --- the consumer itself ---------------------------------------------------------------------------------------------


def test_a_closed_consumer_raises_what_confluent_kafka_does(world: World) -> None:
    """RuntimeError with its words, whatever is called; `except KafkaException: continue` must not catch it."""
    consumer = world.reader().consumer
    consumer.close()
    place = world.place(0, 0)
    calls: list[Callable[[], object]] = [
        lambda: consumer.poll(0),
        lambda: consumer.consume(-1),
        lambda: consumer.subscribe([world.topic]),
        lambda: consumer.assign([place]),
        consumer.assignment,
        lambda: consumer.position([place]),
        lambda: consumer.committed([place]),
        consumer.commit,
        lambda: consumer.store_offsets(offsets=[place]),
        lambda: consumer.seek(place),
        lambda: consumer.pause([place]),
        consumer.memberid,
        consumer.list_topics,
        lambda: consumer.get_watermark_offsets(place),
        consumer.consumer_group_metadata,
        consumer.unsubscribe,
    ]
    for call in calls:
        with pytest.raises(RuntimeError, match="Consumer closed") as error:
            call()
        assert isinstance(error.value, MemberClosedError)
        assert not isinstance(error.value, KafkaException)
        assert error.value.args[0] == "Consumer closed"


def test_a_consumer_is_of_its_own_type(world: World) -> None:
    """No class of ours is put in its place while it polls, either."""
    reader = world.owner()
    assert type(reader.consumer) is Consumer


@pytest.mark.parametrize(("config", "before"), [(CLASSIC, False), (KIP_848, True), ({}, False)])
def test_a_member_id(world: World, config: dict[str, Any], before: bool) -> None:
    """Under KIP-848 from the start, and it stays; else None before the first join."""
    reader = world.reader(config)
    early = reader.consumer.memberid()
    assert (early is not None) == before
    reader.subscribe()
    world.settle(reader)
    assert reader.consumer.memberid() == (early or reader.consumer.snapshot.member_id)


def test_a_short_session_timeout_needs_no_heartbeat_interval(world: World) -> None:
    """confluent-kafka takes it alone. A heartbeat interval that was given and does not fit is refused."""
    assert world.reader({"session.timeout.ms": 100}).consumer.assignment() == []
    with pytest.raises(ConfigError, match=r"heartbeat\.interval\.ms must be smaller"):
        world.reader({"session.timeout.ms": 100, "heartbeat.interval.ms": 200})


def test_arguments_of_a_wrong_type_are_type_errors(world: World) -> None:
    """As well as ours; and they are found before the settings that forbid the call."""
    consumer: Any = world.reader().consumer
    calls: list[Callable[[], object]] = [
        lambda: consumer.commit(message="text"),
        lambda: consumer.commit(offsets=5),
        lambda: consumer.store_offsets(message="text"),
        lambda: consumer.subscribe("text"),
        lambda: consumer.subscribe(None),
        lambda: consumer.commit(wrong=True),
    ]
    for call in calls:
        with pytest.raises(TypeError):
            call()


# --- subscriptions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pattern", ["^[a", "^(a", "^a)", "^*", "^a\\"])
def test_a_broken_pattern_is_refused_at_once(world: World, pattern: str) -> None:
    """By subscribe(), and not by a broker later; the consumer stays as it was."""
    consumer = world.reader().consumer
    assert code_of(lambda: consumer.subscribe([world.topic, pattern])) == KafkaError._INVALID_ARG
    assert consumer.poll(0) is None


@pytest.mark.parametrize("pattern", [r"^\p{L}+", "^[[:alpha:]]+", "^(?<name>a)", r"^\Qa[b\E"])
def test_a_pattern_of_the_brokers_dialect_is_left_to_them(world: World, pattern: str) -> None:
    """Python's own would refuse some of these."""
    consumer = world.reader(KIP_848).consumer
    consumer.subscribe([pattern])
    consumer.unsubscribe()


def test_an_application_that_did_not_poll_is_told_before_its_partitions_are_lost(world: World) -> None:
    """First the event, in a poll that runs no callback; then on_lost and the way back."""
    reader = world.owner({"max.poll.interval.ms": 1000})
    eventually(lambda: reader.consumer.snapshot.state.value == "stale", "it is out")
    first = reader.consumer.poll(5)
    assert first is not None
    error = first.error()
    assert error is not None
    assert error.code() == KafkaError._MAX_POLL_EXCEEDED
    assert (first.topic(), first.partition(), first.timestamp()) == (None, 0, (TIMESTAMP_NOT_AVAILABLE, -1))
    assert not reader.events("lost")
    eventually(lambda: (reader.poll(), reader.events("lost"))[1], "lost")


def test_lost_partitions_go_to_on_revoke_without_an_on_lost(world: World) -> None:
    """As in confluent-kafka."""
    given: list[str] = []
    consumer = world.reader({"max.poll.interval.ms": 1000}).consumer
    consumer.subscribe([world.topic], on_revoke=lambda _, places: given.extend(p.topic for p in places))
    eventually(lambda: (consumer.poll(0.05), len(consumer.assignment()) == 4)[1], "all partitions")
    eventually(lambda: consumer.snapshot.state.value == "stale", "it is out")
    eventually(lambda: (consumer.poll(0.05), len(given) == 4)[1], "on_revoke")


def test_an_assignment_of_ones_own_after_a_subscription(world: World) -> None:
    """unsubscribe() and then assign(), at once; and its commits are accepted."""
    world.produce(3)
    reader = world.owner(CLASSIC)
    reader.consumer.unsubscribe()
    reader.consumer.assign([world.place(0, 1)])
    (message,) = reader.read(1)
    assert (number_of(message), offset_of(message)) == (0, 1)
    reader.consumer.commit(message, asynchronous=False)
    assert world.committed() == {0: 2}


def test_unsubscribe_leaves_an_assignment_of_ones_own(world: World) -> None:
    """There is no subscription to give up."""
    reader = assigned(world)
    reader.consumer.unsubscribe()
    assert len(reader.consumer.assignment()) == 1


@pytest.mark.parametrize("config", [CLASSIC, KIP_848])
def test_a_subscription_ends_an_assignment_of_ones_own(world: World, config: dict[str, Any]) -> None:
    """The bug: poll() raised _CONFLICT again and again, since the group assigned what was assigned already."""
    world.produce(5, [0])
    reader = assigned(world, 2, {**config, **AUTO})
    reader.read(1)
    reader.subscribe(world.topic)
    assert reader.consumer.assignment() == []
    assert world.committed() == {0: 3}
    eventually(lambda: (reader.poll(), len(reader.owned) == 4)[1], "all partitions")


@pytest.mark.parametrize("wrong", [{"on_assign": "text"}, {"topics": ["^("]}, {"topics": ["a b"]}], ids=str)
def test_a_subscription_that_is_refused_leaves_an_assignment_of_ones_own(world: World, wrong: dict[str, Any]) -> None:
    """The bug: the assignment ended before the arguments were checked, and its records came no more."""
    reader = assigned(world)
    code_of(lambda: reader.consumer.subscribe(**{"topics": [world.topic], **wrong}))
    assert len(reader.consumer.assignment()) == 1


@pytest.mark.parametrize("config", [CLASSIC, KIP_848])
def test_assign_while_subscribed(world: World, config: dict[str, Any]) -> None:
    """Of what is owned: it is read from there, and the others are not. Others' partitions are refused."""
    world.produce(5)
    reader = world.owner(config)
    reader.records.clear()
    reader.consumer.assign([world.place(1, 3)])
    assert [(place.topic, place.partition) for place in reader.consumer.assignment()] == [(world.topic, 1)]
    reader.read(2)
    assert reader.places_read == [(1, 3), (1, 4)]
    assert code_of(lambda: reader.consumer.assign([world.place(9)])) == KafkaError._INVALID_ARG
    reader.consumer.unassign()
    assert reader.consumer.assignment() == []


def test_an_interrupted_consume_loses_no_record(world: World) -> None:
    """Ctrl-C while it gathers: what it had so far comes again, in order, and counts as not read meanwhile."""
    world.produce(5, [0])
    reader = assigned(world)
    reader.read(1)
    previous = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 1.0)
    try:
        with pytest.raises(KeyboardInterrupt):
            reader.consumer.consume(100, 30)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert [place.offset for place in reader.consumer.position([world.place(0)])] == [1]
    reader.read(4)
    assert reader.places_read == [(0, offset) for offset in range(5)]


# --- commits ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("subscribed", [True, False])
@pytest.mark.parametrize("metadata", [None, "", "a note", "नमस्ते"])
def test_metadata_is_read_as_it_was_committed(world: World, subscribed: bool, metadata: str | None) -> None:
    """Also the difference between none and an empty one, which brokers do not have."""
    consumer = world.owner().consumer if subscribed else world.reader().consumer
    place = world.place(0, 1)
    noted = place if metadata is None else confluent_kafka.TopicPartition(world.topic, 0, 1, metadata)
    consumer.commit(offsets=[noted], asynchronous=False)
    (found,) = consumer.committed([place])
    assert (found.offset, found.metadata) == (1, metadata)


def test_metadata_that_confluent_kafka_committed(world: World) -> None:
    """It ends with a NUL, which is no part of it."""
    theirs = confluent_kafka.Consumer(world.config())
    theirs.commit(offsets=[confluent_kafka.TopicPartition(world.topic, 0, 1, "a note")], asynchronous=False)
    theirs.close()
    with GroupAdmin(world.bootstrap_servers) as admin:
        (kept,) = admin.committed(world.group.id, [TopicPartition(world.topic, 0)]).values()
    assert kept.metadata.rstrip("\0") == "a note"
    (found,) = world.owner().consumer.committed([world.place(0)])
    assert found.metadata == "a note"


def test_the_older_name_of_asynchronous(world: World) -> None:
    """A word of the language by now, so it comes in a mapping."""
    consumer = world.reader().consumer
    older: dict[str, Any] = {"async": False}
    (committed,) = consumer.commit(offsets=[world.place(0, 1)], **older) or []
    assert committed.offset == 1
    assert world.committed() == {0: 1}


@pytest.mark.parametrize("subscribed", [True, False])
def test_a_commit_of_everything_names_all_partitions(world: World, subscribed: bool) -> None:
    """Those that had nothing to commit without an offset: in what it returns, and in what on_commit is told."""
    told: list[list[int]] = []
    config = {"on_commit": lambda _, places: told.append(sorted(place.offset for place in places))}
    world.produce(1, [0])
    reader = world.owner(config) if subscribed else world.reader(config)
    if not subscribed:
        reader.consumer.assign([world.place(number, 0) for number in range(4)])
    if not reader.records:
        reader.read(1)
    expected = [OFFSET_INVALID] * 3 + [1]
    assert sorted(place.offset for place in reader.consumer.commit(asynchronous=False) or []) == expected
    world.produce(1, [0])
    reader.read(1)
    reader.consumer.commit()
    eventually(lambda: (reader.poll(), [OFFSET_INVALID] * 3 + [2] in told)[1], "on_commit")


def test_a_short_interval_of_automatic_commits_is_kept(world: World) -> None:
    """While records come out of the buffer poll() looks around every 200 ms only, unless commits are due more often.

    Looks at the gate that lets records out.
    """
    reader = assigned(world, config={"enable.auto.commit": True, "auto.commit.interval.ms": 20})
    reader.consumer.poll(0)
    assert reader.consumer._gate.until <= monotonic() + 0.02


def test_a_message_without_an_offset_has_nothing_to_commit(world: World) -> None:
    """_NO_OFFSET, and not an argument that is wrong."""
    consumer = world.reader().consumer
    message = Message(topic=world.topic, partition=0)
    assert code_of(lambda: consumer.commit(message, asynchronous=False)) == KafkaError._NO_OFFSET
    assert consumer.commit(message) is None


def test_an_offset_that_was_stored_where_a_new_partition_starts_is_committed(world: World) -> None:
    """Where it starts was looked up, and not committed."""
    reader = world.owner(AUTO | BY_HAND)
    reader.consumer.store_offsets(offsets=[world.place(0, 0)])
    reader.consumer.close()
    assert world.committed() == {0: 0}


@pytest.mark.parametrize("timeout", [None, "1", [], {}])
def test_a_timeout_that_is_not_a_number_is_named(timeout: Any) -> None:
    """At once, also while records wait in the buffer: a record was returned, or a comparison was told to have failed."""
    consumer = Consumer({"bootstrap.servers": "127.0.0.1:1", "group.id": "shop", "log_level": 0})
    consumer._buffer.put([Message(topic="orders", partition=0, offset=0)])
    consumer._gate.until = float("inf")
    for call in (consumer.poll, functools.partial(consumer.consume, 1), functools.partial(consumer.committed, [])):
        with pytest.raises(TypeError, match="timeout must be a number of seconds, not"):
            call(timeout)
    consumer.close()


def test_a_misspelt_argument_is_told_of_the_consumer() -> None:
    """The bug: the error named a class that users do not know."""
    consumer: Any = Consumer({"bootstrap.servers": "127.0.0.1:1", "group.id": "shop", "log_level": 0})
    with pytest.raises(TypeError, match=r"^Consumer.poll\(\) got an unexpected keyword argument 'timeot'$"):
        consumer.poll(timeot=1)
    with pytest.raises(TypeError, match=r"^Consumer.consume\(\) got an unexpected keyword argument 'number'$"):
        consumer.consume(number=1)
    consumer.close()


def test_a_consumer_needs_a_configuration() -> None:
    """TypeError, as without an argument that has no default."""
    with pytest.raises(TypeError, match="expected configuration dict"):
        Consumer()


def test_what_was_read_before_a_seek_is_committed(world: World) -> None:
    """Librdkafka has no position after it, but the records were read."""
    world.produce(5, [0])
    reader = assigned(world, config=AUTO)
    reader.read(3)
    reader.consumer.seek(world.place(0, 0))
    reader.consumer.close()
    assert world.committed() == {0: 3}


def test_a_seek_back_is_committed_when_the_partition_is_let_go_and_not_before(world: World) -> None:
    """commit() does not go backwards; close() commits where reading has arrived, so that the next one goes on from there."""
    world.produce(5, [0])
    reader = assigned(world, config=AUTO)
    reader.read(5)
    reader.consumer.commit(asynchronous=False)
    reader.consumer.seek(world.place(0, 0))
    reader.read(2)
    assert code_of(lambda: reader.consumer.commit(asynchronous=False)) == KafkaError._NO_OFFSET
    assert world.committed() == {0: 5}
    reader.consumer.close()
    assert world.committed() == {0: 2}


def test_a_commit_that_is_under_way_does_not_count_as_what_was_read(world: World) -> None:
    """An offset of the application's own is replaced by the position when the consumer is closed."""
    world.produce(5, [0])
    reader = assigned(world, config=AUTO)
    reader.read(5)
    reader.consumer.commit(asynchronous=False)
    reader.consumer.commit(offsets=[world.place(0, 1)])
    reader.consumer.close()
    assert world.committed() == {0: 5}


def test_a_new_assignment_remembers_what_was_committed(world: World) -> None:
    """It begins where it was told; as after a seek, close() commits where reading has arrived, and commit() does not."""
    world.produce(3, [0])
    reader = assigned(world, config=AUTO)
    reader.read(3)
    reader.consumer.assign([world.place(0, 0)])
    assert world.committed() == {0: 3}
    reader.read(1)
    assert code_of(lambda: reader.consumer.commit(asynchronous=False)) == KafkaError._NO_OFFSET
    reader.consumer.close()
    assert world.committed() == {0: 1}


def test_an_assignment_that_is_refused_commits_nothing(world: World) -> None:
    """Nothing was let go."""
    world.produce(1, [0])
    reader = assigned(world, config=AUTO)
    reader.read(1)
    wrong: Any = ["text"]
    with pytest.raises(TypeError):
        reader.consumer.assign(wrong)
    assert world.committed() == {}


def test_what_stays_assigned_is_not_committed_with_what_goes(world: World) -> None:
    """incremental_unassign() commits its own partitions only."""
    world.produce(1, [0, 1])
    reader = world.reader(AUTO)
    reader.consumer.assign([world.place(0, 0), world.place(1, 0)])
    reader.read(2)
    reader.consumer.incremental_unassign([world.place(0)])
    assert world.committed() == {0: 1}


def test_the_code_of_a_stored_offset_tells_whether_the_partition_was_ever_ours(world: World) -> None:
    """_UNKNOWN_PARTITION before, _STATE afterwards."""
    consumer = world.reader(BY_HAND).consumer
    assert code_of(lambda: consumer.store_offsets(offsets=[world.place(0, 1)])) == KafkaError._UNKNOWN_PARTITION
    consumer.assign([world.place(0, 0)])
    consumer.unassign()
    assert code_of(lambda: consumer.store_offsets(offsets=[world.place(0, 1)])) == KafkaError._STATE


def test_the_trace_of_a_consumer(world: World, tmp_path: Path) -> None:
    """It is that of its member: readable at any time, also after close(), and `diagnose` reads what it saves."""
    reader = world.owner()
    consumer = reader.consumer
    assert consumer.trace is consumer.trace
    consumer.trace.note("lunch", minutes=30)
    consumer.close()
    consumer.trace.save(tmp_path / "trace")
    (section,) = read_trace(tmp_path / "trace")
    kinds = {entry["event"]["is"] for entry in section.entries if "event" in entry}
    assert {"Subscribe", "CallbackReturned", "Close"} <= kinds
    assert "lunch" in {entry.get("note") for entry in section.entries}
