"""Subscribed topics that do not exist, as events that poll() returns: those that confluent-kafka's own Consumer gives."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from confluent_kafka import KafkaError, Message

from membership_client.core.machine import Step
from membership_client.core.topic_check import missing_text


class TopicEvents:
    """One event for each topic when it is found missing. `attract` makes the polling thread come by."""

    def __init__(self, attract: Callable[[], None]) -> None:
        self._attract = attract
        self._waiting: deque[Message] = deque()

    def on_step(self, step: Step) -> None:
        """On the membership thread."""
        old, new = step.before.topic_check.missing, step.after.topic_check.missing
        if new is old:
            return
        for topic in sorted(new.keys() - old.keys()):
            self._waiting.append(_event(topic, new[topic]))
            self._attract()

    def take(self) -> Message | None:
        """On the polling thread: the next event, if any."""
        return self._waiting.popleft() if self._waiting else None


def _event(topic: str, nearest: str | None) -> Message:
    """Code and first words are librdkafka's, because programs look for them.

    The text is its value, too, as librdkafka has it: a Message without a value is false, and `if not message` drops it.
    """
    text = f"Subscribed topic not available: {topic}: {missing_text(topic, nearest)}"
    error = KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART, text)
    return Message(topic=topic, partition=-1, value=text.encode(), error=error)


def is_about_subscription(message: Message) -> bool:
    """Is it such an event? A loop over records goes on: the topic may be created later."""
    error = message.error()
    return error is not None and error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART and message.partition() is None
