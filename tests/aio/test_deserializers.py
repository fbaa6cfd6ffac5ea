"""Keys and values made by the application's functions, given as aiokafka's users or as confluent-kafka's give them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from confluent_kafka import KafkaException, Producer
from confluent_kafka.error import KeyDeserializationError, ValueDeserializationError
from confluent_kafka.serialization import SerializationContext, StringDeserializer

from membership_client import ConfigError, aio
from tests.aio.conftest import NewStage
from tests.aio.helpers import Stage, read, run
from tests.integration.members import PATIENCE_S

pytestmark = pytest.mark.kafka


def write(stage: Stage, *records: tuple[bytes | None, bytes | None]) -> None:
    producer = Producer({"bootstrap.servers": stage.group.bootstrap_servers})
    for key, value in records:
        producer.produce(stage.topic, value, key, partition=0, headers=[("kind", b"test")])
    producer.flush()


def test_functions_of_one_argument(new_stage: NewStage) -> None:
    """Keyword arguments, as aiokafka has them; a record without a key gives None to the function."""
    stage = new_stage(partitions=1)
    write(stage, (b"1", b'{"a": 2}'), (None, b"[]"))

    async def story() -> None:
        async with aio.Consumer(
            stage.config(), key_deserializer=lambda raw: raw and int(raw), value_deserializer=json.loads
        ) as consumer:
            consumer.subscribe([stage.topic])
            found: list[tuple[Any, Any]] = [(m.key(), m.value()) for m in await read(consumer, 2)]
            assert found == [(1, {"a": 2}), (None, [])]

    run(story())


def test_functions_that_take_a_context(new_stage: NewStage) -> None:
    """confluent-kafka's own deserializers, under its keys, and a coroutine function, which runs on the loop."""
    stage = new_stage(partitions=1)
    write(stage, (b"key", b"value"))
    contexts: list[SerializationContext] = []

    async def slowly(raw: bytes | None, ctx: SerializationContext) -> str:
        contexts.append(ctx)
        await asyncio.sleep(0.01)
        assert asyncio.get_running_loop().is_running()
        return f"<{raw!r}>"

    async def story() -> None:
        config = {**stage.config(), "key.deserializer": StringDeserializer(), "value.deserializer": slowly}
        async with aio.Consumer(config) as consumer:
            consumer.subscribe([stage.topic])
            (message,) = await read(consumer, 1)
            found: tuple[Any, Any] = (message.key(), message.deserialized_value())
            assert found == ("key", "<b'value'>")
        assert [(context.topic, context.field, context.headers) for context in contexts] == [
            (stage.topic, "value", [("kind", b"test")])
        ]

    run(story())


def test_a_record_that_cannot_be_deserialized(new_stage: NewStage) -> None:
    """It is raised with the record as it came, alone and in its turn; the records before and after it are handed out."""
    stage = new_stage(partitions=1)
    write(stage, (b"0", b"0"), (b"1", b"1"), (b"2", b"no number"), (b"no key", b"3"), (b"4", b"4"))

    async def story() -> None:
        config = {**stage.config(), "key.deserializer": int, "value.deserializer": int}
        async with aio.Consumer(config) as consumer:
            consumer.subscribe([stage.topic])
            values: list[Any] = [message.value() for message in await read(consumer, 2)]
            assert values == [0, 1]
            assert await consumer.commit() == [stage.place(0, 2)]
            with pytest.raises(ValueDeserializationError) as bad:
                await consumer.getmany(timeout_s=PATIENCE_S)
            assert isinstance(bad.value, KafkaException)
            assert bad.value.kafka_message is not None
            assert (bad.value.kafka_message.key(), bad.value.kafka_message.value()) == (b"2", b"no number")
            assert await consumer.position([stage.place(0)]) == [stage.place(0, 3)]
            with pytest.raises(KeyDeserializationError) as keyless:
                await consumer.getone(timeout_s=PATIENCE_S)
            assert keyless.value.kafka_message is not None
            assert keyless.value.kafka_message.value() == b"3"
            last: list[Any] = [message.value() for message in await read(consumer, 1)]
            assert last == [4]

    run(story())


def test_what_is_no_function(new_stage: NewStage) -> None:
    """It is refused when the consumer is made, and so are two spellings of one key."""

    async def story() -> None:
        config = new_stage(partitions=1).config()
        with pytest.raises(ConfigError, match=r"value\.deserializer"):
            aio.Consumer(config, value_deserializer=5)
        with pytest.raises(ConfigError, match="twice"):
            aio.Consumer({**config, "key.deserializer": int}, key_deserializer=int)

    run(story())
