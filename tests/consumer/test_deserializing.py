"""DeserializingConsumer: records with their keys and values as the application wants them, on our membership."""

from __future__ import annotations

import os
import signal
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka.error import ConsumeError, KeyDeserializationError, ValueDeserializationError
from confluent_kafka.serialization import MessageField, SerializationContext, StringDeserializer

from membership_client import MemberState
from membership_client.confluent import DeserializingConsumer, Producer
from tests.consumer.helpers import World
from tests.integration.members import PATIENCE_S, eventually

pytestmark = pytest.mark.kafka


def number(value: bytes | None, context: SerializationContext) -> int:
    """Fails for what is no number; the context says what it is about."""
    assert context.field == MessageField.VALUE
    return int((value or b"").decode())


def produce(world: World, *values: str) -> None:
    producer = Producer({"bootstrap.servers": world.bootstrap_servers})
    for value in values:
        producer.produce(world.topic, key=f"key of {value}", value=value, partition=0)
    assert producer.flush(PATIENCE_S) == 0


def config_of(world: World, **more: Any) -> dict[str, Any]:
    return {
        "bootstrap.servers": world.bootstrap_servers,
        "group.id": world.group.id,
        "auto.offset.reset": "earliest",
        "key.deserializer": StringDeserializer(),
        "value.deserializer": number,
    } | more


Outcome = tuple[str, Any, Any]


def outcomes(consumer: confluent_kafka.DeserializingConsumer[Any, Any], topic: str, count: int) -> list[Outcome]:
    """What `count` polls returned or raised."""
    found: list[Outcome] = []
    consumer.subscribe([topic])

    def poll() -> bool:
        try:
            message = consumer.poll(0.2)
        except ConsumeError as error:
            raised = error.kafka_message
            found.append((type(error).__name__, error.name, raised and raised.value()))
        else:
            found.extend([] if message is None else [("record", message.key(), message.value())])
        return len(found) >= count

    eventually(poll, f"{count} outcomes")
    return found


def test_it_deserializes_fails_and_goes_on_as_theirs(world: World) -> None:
    """Records, a value that is no number, and the end of a partition, which is an error in this class."""
    produce(world, "1", "two", "3")
    more = {"enable.partition.eof": True}
    theirs = confluent_kafka.DeserializingConsumer(config_of(world, **more) | {"group.id": f"{world.group.id}-theirs"})
    expected = outcomes(theirs, world.topic, 7)
    theirs.close()
    with DeserializingConsumer(config_of(world, **more)) as ours:
        found = outcomes(ours, world.topic, 7)
        assert ours.snapshot.state is MemberState.STABLE
    assert sorted(found, key=repr) == sorted(expected, key=repr)
    records = [outcome for outcome in found if outcome[0] != "ConsumeError"]
    assert records == [
        ("record", "key of 1", 1),
        ("ValueDeserializationError", "_VALUE_DESERIALIZATION", b"two"),
        ("record", "key of 3", 3),
    ]


def test_a_key_that_cannot_be_read(world: World) -> None:
    """The error has the record; it counts as read, so that the next poll goes on after it."""
    produce(world, "1", "2")

    def picky(key: bytes, _context: SerializationContext) -> bytes:
        if key == b"key of 1":
            raise ValueError("no")
        return key

    with DeserializingConsumer(config_of(world, **{"key.deserializer": picky})) as consumer:
        found = outcomes(consumer, world.topic, 2)
    assert found == [
        (KeyDeserializationError.__name__, "_KEY_DESERIALIZATION", b"1"),
        ("record", b"key of 2", 2),
    ]


def test_iteration_gives_deserialized_records_until_a_signal(world: World) -> None:
    """The end of a partition is passed over, as in our Consumer, and what cannot be read is raised."""
    produce(world, "1", "2")
    config = config_of(world, **{"enable.partition.eof": True})
    read = []
    with DeserializingConsumer(config).stop_on_signals(signal.SIGUSR1) as consumer:
        consumer.subscribe([world.topic])
        for message in consumer:
            read.append(message.value())
            if len(read) == 2:
                os.kill(os.getpid(), signal.SIGUSR1)
    assert read == [1, 2]
    produce(world, "three")
    with DeserializingConsumer(config) as again:
        again.subscribe([world.topic])
        with pytest.raises(ValueDeserializationError):
            next(iter(again))


def test_deserializers_that_were_built_for_it_are_closed_with_it(world: World) -> None:
    """Those of a builder belong to the consumer; close() tells our report and may be repeated."""
    closed = []

    class Deserializer:
        def __call__(self, value: bytes, _context: SerializationContext) -> bytes:
            return value

        def close(self) -> None:
            closed.append(self)

    class Builder:
        def build(self, config: dict[str, Any], is_key: bool) -> tuple[Deserializer, dict[str, Any]]:
            assert not is_key
            return Deserializer(), config

    config = config_of(world) | {"value.deserializer.builder": Builder()}
    del config["value.deserializer"]
    consumer = DeserializingConsumer(config)
    consumer.subscribe([world.topic])
    assert consumer.close(reason="the test is over") == consumer.close()
    assert len(closed) == 1
