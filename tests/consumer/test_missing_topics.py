"""A subscription to a topic that does not exist, on a real broker: every place that says so, and its end."""

from __future__ import annotations

import logging

import confluent_kafka
import pytest
from confluent_kafka import KafkaError, KafkaException, Message

from membership_client import ConfigError, GroupMember, UnknownTopicError
from tests.consumer.helpers import World
from tests.integration.members import eventually

pytestmark = pytest.mark.kafka


def awaited_event(consumer: confluent_kafka.Consumer) -> Message:
    """The first one. It is no false value: `if not message: continue` would drop it."""

    def poll() -> Message | None:
        message = consumer.poll(0.1)
        return message if message and message.error() is not None else None

    event = eventually(poll, "an event")
    assert event is not None
    return event


def seen_in(event: Message) -> tuple[object, ...]:
    """What a program may look at, but for the text."""
    error = event.error()
    assert error is not None
    return error.code(), event.topic(), event.partition(), event.offset(), event.key(), event.timestamp()


def text_of(event: Message) -> str:
    error = event.error()
    assert error is not None
    assert event.value() == error.str().encode()
    return error.str()


@pytest.mark.parametrize("protocol", ["consumer", "classic"])
def test_a_topic_that_does_not_exist(world: World, protocol: str, caplog: pytest.LogCaptureFixture) -> None:
    """The bug: ready, no error and nothing above INFO, for a letter that was left out."""
    caplog.set_level(logging.INFO, logger="membership_client")
    meant = f"{world.topic}s"
    reader = world.reader({"group.protocol": protocol})
    reader.consumer.subscribe([meant])
    event = awaited_event(reader.consumer)
    text = text_of(event)
    assert seen_in(event)[:2] == (KafkaError.UNKNOWN_TOPIC_OR_PART, meant)
    assert text.startswith(f"Subscribed topic not available: {meant}")
    snapshot = reader.consumer.snapshot
    assert snapshot.missing_topics == {meant}
    assert isinstance(snapshot.error, UnknownTopicError)
    told = f"Topic {meant} does not exist"
    assert told in reader.consumer.health().why
    assert f"The nearest existing topic is {world.topic}." in text
    assert [r.levelname for r in caplog.records if told in r.getMessage()] == ["WARNING"]
    world.group.admin.create_topic(meant, 1)
    eventually(lambda: (reader.consumer.poll(0.1), reader.consumer.assignment())[1], "partitions of the new topic")
    eventually(lambda: reader.consumer.snapshot.error is None, "the end of the error")
    assert any(f"topic {meant} exists now" in record.getMessage() for record in caplog.records)


def test_the_event_is_the_one_of_confluent_kafka(world: World) -> None:
    """A program that looks for it finds the same code, topic, partition and first words."""
    topic = f"{world.topic}-never"
    theirs = confluent_kafka.Consumer({**world.config(), "group.id": f"{world.topic}-theirs"})
    theirs.subscribe([topic])
    expected = awaited_event(theirs)
    theirs.close()
    reader = world.reader()
    reader.consumer.subscribe([topic])
    event = awaited_event(reader.consumer)
    assert seen_in(event) == seen_in(expected)
    assert text_of(event).startswith(text_of(expected).rpartition(":")[0].rpartition(":")[0])


@pytest.mark.parametrize("protocol", ["consumer", "classic"])
def test_a_topic_that_does_not_exist_beside_a_pattern(world: World, protocol: str) -> None:
    """The bug: as a part of the pattern it was waited for without a word. The pattern's topics are read meanwhile."""
    missing = f"never-{world.topic}"
    reader = world.reader({"group.protocol": protocol})
    reader.consumer.subscribe([missing, f"^{world.topic}"])
    event = awaited_event(reader.consumer)
    assert seen_in(event)[:2] == (KafkaError.UNKNOWN_TOPIC_OR_PART, missing)
    assert reader.consumer.snapshot.missing_topics == {missing}
    eventually(lambda: (reader.consumer.poll(0.1), reader.consumer.assignment())[1], "partitions of the pattern")
    assert {place.topic for place in reader.consumer.assignment()} == {world.topic}


@pytest.mark.parametrize("name", ["or ders", "a/b", ".", "..", "x" * 250, "orders*"])
def test_names_that_no_topic_can_have(name: str) -> None:
    """A broker takes such a subscription and never fulfils it."""
    member = GroupMember({"bootstrap.servers": "localhost:1", "group.id": "g"})
    with pytest.raises(ConfigError, match="is not the name of a topic"):
        member.subscribe(["orders", name])
    member.close()


@pytest.mark.parametrize("beside", [[], ["^orders.*"]])
def test_a_consumer_refuses_them_too(world: World, beside: list[str]) -> None:
    """As KafkaException, too. Beside a pattern such a name used to become a part of it, and was waited for."""
    with pytest.raises(KafkaException, match="is not the name of a topic") as raised:
        world.reader().consumer.subscribe(["not a topic", *beside])
    assert isinstance(raised.value, ConfigError)
