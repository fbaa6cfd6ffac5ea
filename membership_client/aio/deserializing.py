"""Deserializes keys and values with the application's functions, on the consumer's thread, before records are put in line."""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaException, Message
from confluent_kafka.error import KeyDeserializationError, ValueDeserializationError
from confluent_kafka.serialization import MessageField, SerializationContext

from membership_client.aio.reports import awaited
from membership_client.arguments import checked_function, with_dots
from membership_client.consumer.buffer import Reading
from membership_client.errors import CallbackFailedError

KEYS = ("key.deserializer", "value.deserializer")
_OF = "a key or value, and a SerializationContext if it has a second parameter"
_SLICE_S = 0.05
"""How often the waiting thread checks whether the loop is closed."""

Deserializer = Callable[[bytes | None, SerializationContext], Any]


@dataclass(frozen=True, slots=True)
class _FailedValue:
    """Stands for the value of a record whose deserializer raised."""

    error: KafkaException
    value: Any
    """The value as it came."""


def is_failed(message: Message) -> bool:
    value: object = message.value()
    return type(value) is _FailedValue


def checked(message: Message) -> Message:
    """The record. If a deserializer raised: KeyDeserializationError or ValueDeserializationError, with the record as it came."""
    failed: object = message.value()
    if not isinstance(failed, _FailedValue):
        return message
    message.set_value(failed.value)
    raise failed.error


class Deserializing:
    """Both deserializers of a configuration, either of which may be missing. As DeserializingConsumer, it calls them for None, too.

    A coroutine function runs on the loop, while the consumer's thread waits for it.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, key: Deserializer | None, value: Deserializer | None) -> None:
        self._loop = loop
        self._key = key
        self._value = value

    def __bool__(self) -> bool:
        return self._key is not None or self._value is not None

    def after(self, reading: Reading) -> Reading:
        """A function that reads like `reading`, and deserializes keys and values."""

        def read(count: int, timeout_s: float) -> list[Message]:
            messages = reading(count, timeout_s)
            for message in messages:
                if message.error() is None:
                    self._deserialize(message)
            return messages

        return read

    def _deserialize(self, message: Message) -> None:
        """Deserialize the key first: confluent-kafka's deserializers may leave something in the context for that of the value."""
        context = SerializationContext(message.topic() or "", MessageField.KEY, message.headers())
        raw: tuple[Any, Any] = message.key(), message.value()
        failure: Callable[..., KafkaException] = KeyDeserializationError
        try:
            key = raw[0] if self._key is None else self._made(self._key(raw[0], context))
            context.field, failure = MessageField.VALUE, ValueDeserializationError
            value = raw[1] if self._value is None else self._made(self._value(raw[1], context))
        except Exception as error:  # noqa: BLE001 - raised where the record is awaited
            message.set_value(_FailedValue(failure(exception=error, kafka_message=message), raw[1]))
        else:
            message.set_key(key)
            message.set_value(value)

    def _made(self, made: Any) -> Any:
        if not inspect.isawaitable(made):
            return made
        outcome = asyncio.run_coroutine_threadsafe(awaited(made), self._loop)
        while True:
            try:
                return outcome.result(_SLICE_S)
            except concurrent.futures.TimeoutError:
                if outcome.done():
                    raise  # The coroutine raised this TimeoutError.
                if self._loop.is_closed():
                    raise CallbackFailedError("The event loop is closed, so the deserializer cannot run.") from None


def split_deserializing(
    config: Mapping[str, Any], loop: asyncio.AbstractEventLoop
) -> tuple[Deserializing, dict[str, Any]]:
    """The deserializers, and the rest of the configuration. ConfigError for what is no function."""
    rest = with_dots(config, frozenset(KEYS))
    key, value = (_adapted(name, rest.pop(name, None)) for name in KEYS)
    return Deserializing(loop, key, value), rest


def _adapted(name: str, given: Any) -> Deserializer | None:
    if given is None:
        return None
    checked_function(name, given, of=_OF)
    return given if _takes_context(given) else lambda raw, _: given(raw)


def _takes_context(function: Callable[..., Any]) -> bool:
    """In confluent-kafka it is called `ctx`, with a default. Any other second parameter with a default is not for the context."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except ValueError:  # Some functions written in C do not tell.
        return False
    positional = [one for one in parameters if one.kind in {one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD}]
    return len(positional) > 1 and (positional[1].default is positional[1].empty or positional[1].name == "ctx")
