"""DeserializingConsumer: confluent-kafka's, on top of our Consumer."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Any

import confluent_kafka
from confluent_kafka import Message
from confluent_kafka.error import ConsumeError

from membership_client.consumer import Consumer
from membership_client.consumer.events import is_event
from membership_client.types import CloseReport, LeaveMode

_SLICE_S = 0.2
"""Iteration looks this often whether a signal has ended it."""


class DeserializingConsumer(confluent_kafka.DeserializingConsumer, Consumer):
    """Takes `key.deserializer` and `value.deserializer` in addition to what our Consumer takes.

    poll() is confluent-kafka's: it deserializes what our poll() returns, raises KeyDeserializationError,
    ValueDeserializationError or ConsumeError, and there is no consume(). Everything else is our Consumer's.
    """

    def __init__(self, conf: dict[str, Any]) -> None:
        # confluent-kafka's constructor takes the deserializers out, and calls the next class's: ours.
        super().__init__(conf)

    def __iter__(self) -> Iterator[Message]:
        """Iterate over deserialized records until a signal of stop_on_signals() comes; events are skipped, errors raised."""
        while self._stop_reason is None:
            try:
                message = self.poll(_SLICE_S)
            except ConsumeError as error:
                if not _is_event(error):
                    raise
            else:
                if message is not None:
                    yield message

    def close(  # type: ignore[override]  # the report is more than confluent-kafka's nothing
        self, leave: LeaveMode = LeaveMode.DEFAULT, *, reason: str | None = None, timeout_s: float | None = None
    ) -> CloseReport:
        """Like `Consumer.close`; then the deserializers that were built for this consumer are closed, too."""
        report = Consumer.close(self, leave, reason=reason, timeout_s=timeout_s)
        super().close()  # Closes the deserializers; a second close of our Consumer does nothing.
        return report

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        Consumer.__exit__(self, kind, error, trace)


def _is_event(error: ConsumeError) -> bool:
    """Is it an event, as for our Consumer: the end of a partition, a missing topic, or a late poll?"""
    message = error.kafka_message
    return message is not None and is_event(message)
