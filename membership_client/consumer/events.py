"""What went wrong with the membership, as events that poll() returns: those that confluent-kafka's own Consumer gives.

Their codes and first words are librdkafka's, because programs look for them.
"""

from __future__ import annotations

from collections.abc import Iterator

from confluent_kafka import KafkaError, Message

from membership_client.core.machine import Step
from membership_client.core.topic_check import missing_text


def events_of(step: Step) -> Iterator[Message]:
    """One for each subscribed topic that is found missing."""
    old, new = step.before.topic_check.missing, step.after.topic_check.missing
    for topic in sorted(new.keys() - old.keys()) if new is not old else ():
        text = f"Subscribed topic not available: {topic}: {missing_text(topic, new[topic])}"
        yield _event(KafkaError.UNKNOWN_TOPIC_OR_PART, text, topic)


def poll_interval_exceeded(limit_ms: int) -> Message:
    """The application did not poll in time."""
    text = f"Application maximum poll interval ({limit_ms}ms) exceeded: partitions are lost until the next poll()"
    return _event(KafkaError._MAX_POLL_EXCEEDED, text)


def _event(code: int, text: str, topic: str | None = None) -> Message:
    """The text is its value, too, as librdkafka has it: a Message without a value is false, and `if not message` drops it."""
    return Message(topic=topic, partition=-1, value=text.encode(), error=KafkaError(code, text))


def is_event(message: Message) -> bool:
    """Is it no record, but no failure either? A loop over records goes on."""
    error = message.error()
    if error is None:
        return False
    about_subscription = error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART and message.partition() is None
    return about_subscription or error.code() in {KafkaError._PARTITION_EOF, KafkaError._MAX_POLL_EXCEEDED}
