"""Problems of the membership as events that poll() returns, the same that confluent-kafka's own Consumer returns.

Their codes and first words are librdkafka's, because programs compare them.
"""

from __future__ import annotations

from collections.abc import Iterator

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, KafkaError, Message

from membership_client.core.machine import Step
from membership_client.core.topic_check import missing_text

_MISSING = "Subscribed topic not available"


def events_of(step: Step) -> Iterator[Message]:
    """One event for each subscribed topic that is found missing."""
    old, new = step.before.topic_check.missing, step.after.topic_check.missing
    for topic in sorted(new.keys() - old.keys()) if new is not old else ():
        text = f"{_MISSING}: {topic}: {missing_text(topic, new[topic])}"
        yield _event(KafkaError.UNKNOWN_TOPIC_OR_PART, text, topic)


def poll_interval_exceeded(limit_ms: int) -> Message:
    """The application did not poll in time."""
    text = f"Application maximum poll interval ({limit_ms}ms) exceeded: partitions are lost until the next poll()"
    return _event(KafkaError._MAX_POLL_EXCEEDED, text)


def _event(code: int, text: str, topic: str | None = None) -> Message:
    """The text is also the message's value, as in librdkafka: a Message without a value is false, and `if not message` drops it.

    The partition is 0, as in librdkafka, so that a program may print it as a number.
    """
    no_time = (TIMESTAMP_NOT_AVAILABLE, -1)
    return Message(topic=topic, partition=0, value=text.encode(), error=KafkaError(code, text), timestamp=no_time)


def concerns_no_partition(message: Message) -> bool:
    """Is it an error about the membership or about a whole topic?"""
    error = message.error()
    return error is not None and (message.topic() is None or message.partition() is None or _is_about_topic(error))


def _is_about_topic(error: KafkaError) -> bool:
    """Is it about a topic that is missing? No error of librdkafka begins so, because librdkafka is not subscribed."""
    return error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART and error.str().startswith(_MISSING)


def is_event(message: Message) -> bool:
    """Is it neither a record nor a failure? A loop over records goes on after it."""
    error = message.error()
    if error is None:
        return False
    return _is_about_topic(error) or error.code() in {KafkaError._PARTITION_EOF, KafkaError._MAX_POLL_EXCEEDED}
