"""Checks of what is passed to a Consumer. Errors have this library's type and the one that confluent-kafka raises."""

from __future__ import annotations

import math
import operator
import signal
import threading
from collections.abc import Sequence
from typing import Any

import confluent_kafka
from confluent_kafka import Message

from membership_client.arguments import LONGEST_WAIT_S, checked_items, checked_text, shown
from membership_client.consumer.kafka_errors import refusal
from membership_client.errors import ConfigError
from membership_client.types import TopicPartition

_NO_TIMEOUT = -1

_MOST_AT_ONCE = 1_000_000
"""The largest count that consume() takes, as in confluent-kafka."""


def checked_record(record: object) -> None:
    """ConfigError, which is a KafkaException, too, unless a partition can be told from it. Cheap enough for every record."""
    if not isinstance(record, Message | confluent_kafka.TopicPartition | TopicPartition):
        raise refusal(f"A record, or its partition, is a Message or a TopicPartition, not {shown(record)}.")


def checked_message(message: object) -> Message:
    """ConfigError, which is a TypeError, too, unless it is a Message."""
    if not isinstance(message, Message):
        raise refusal(f"message must be a Message, as poll() returns it, not {shown(message)}.", TypeError)
    return message


def as_place(partition: Any) -> Any:
    """A TopicPartition of ours as confluent-kafka's, without an offset; anything else as it is.

    For arguments of confluent-kafka's methods, which refuse themselves what is no partition.
    """
    return confluent_kafka.TopicPartition(*partition) if isinstance(partition, TopicPartition) else partition


def as_places(partitions: Any) -> Any:
    """A list with TopicPartitions of ours as a list of confluent-kafka's; anything else as it is."""
    if isinstance(partitions, list) and any(isinstance(one, TopicPartition) for one in partitions):
        return [as_place(one) for one in partitions]
    return partitions


def checked_places(partitions: object) -> list[confluent_kafka.TopicPartition]:
    """A list of either library's TopicPartition, as confluent-kafka's. ConfigError, which is a TypeError, too, for anything else."""
    places = as_places(partitions)
    if isinstance(places, list) and all(isinstance(one, confluent_kafka.TopicPartition) for one in places):
        return places
    raise refusal(f"Partitions are a list of TopicPartition, of either library, not {shown(partitions)}.", TypeError)


def checked_topics(topics: object) -> Sequence[str]:
    """ConfigError, which is a TypeError, too, unless it is an iterable of texts."""
    if isinstance(topics, str):
        raise refusal(f"subscribe() takes a list of topics; did you mean [{topics!r}]?", TypeError)
    try:
        return checked_items("topics", topics, checked_text)
    except ConfigError as error:
        raise refusal(error.detail, TypeError) from None


def checked_wait(timeout: float) -> float:
    """The timeout of poll() and other calls: a negative one is without end, and so is one that no clock can hold.

    What is not a number is refused with a TypeError, as confluent-kafka does; NaN is refused, too. As there, a number is
    whatever float() takes, such as a Decimal or a number of numpy, except for texts.
    """
    try:
        if timeout > LONGEST_WAIT_S:
            return _NO_TIMEOUT
        is_nan = math.isnan(timeout)
    except (TypeError, ValueError, ArithmeticError):
        raise refusal(f"timeout must be a number of seconds, not {shown(timeout)}.", TypeError) from None
    if is_nan:
        raise refusal("timeout must be a number of seconds, not nan.")
    return float(timeout)


def checked_count(num_messages: int) -> int:
    """The number of messages for consume(). Other values raise what confluent-kafka raises."""
    if not 0 <= operator.index(num_messages) <= _MOST_AT_ONCE:
        raise ValueError("num_messages must be between 0 and 1000000 (1M)")
    return num_messages


def checked_signals(signals: tuple[object, ...]) -> tuple[signal.Signals, ...]:
    """ConfigError for what is no signal, and on other threads than the main one, on which alone Python sets handlers."""
    if threading.current_thread() is not threading.main_thread():
        raise refusal("stop_on_signals() works on the main thread only.")
    return tuple(map(_checked_signal, signals))


def _checked_signal(number: object) -> signal.Signals:
    catchable = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}
    if isinstance(number, bool) or not isinstance(number, int) or number not in catchable:
        raise refusal(f"A signal that can be handled is a signal.Signals such as SIGTERM, not {shown(number)}.")
    return signal.Signals(number)
