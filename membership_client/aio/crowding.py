"""Records of partitions that no coroutine wants at the moment: kept in line, up to a number."""

from __future__ import annotations

from collections.abc import Callable

import confluent_kafka

from membership_client.consumer.librdkafka import Librdkafka
from membership_client.consumer.translate import theirs
from membership_client.types import TopicPartition

Places = list[confluent_kafka.TopicPartition]


class Crowding:
    """While coroutines read some partitions only, others that have enough records in line are not fetched.

    Otherwise the line would grow with whatever the application does not ask for. On the consumer's thread.
    """

    def __init__(
        self, librdkafka: Librdkafka, pause: Callable[[Places], None], resume: Callable[[Places], None]
    ) -> None:
        self._librdkafka = librdkafka
        self._pause = pause
        self._resume = resume
        self._stopped: frozenset[TopicPartition] = frozenset()

    def balance(self, wanted: frozenset[TopicPartition] | None, most: int) -> None:
        """Fetch all that is wanted, or has less than `most` in line, and is not paused by the application; None stands for all."""
        if wanted is None and not self._stopped:
            return
        with self._librdkafka.lock.calling():
            full = frozenset[TopicPartition]() if wanted is None else self._full(most) - wanted
            if again := self._stopped - full:
                self._call(self._resume, again)
            if full:
                self._call(self._pause, full)
            self._stopped = full

    def _full(self, most: int) -> frozenset[TopicPartition]:
        counts = self._librdkafka.buffer.counts()
        return frozenset(
            TopicPartition(topic, number)
            for (topic, number), count in counts.items()
            if topic is not None and number is not None and count >= most
        )

    def _call(self, method: Callable[[Places], None], partitions: frozenset[TopicPartition]) -> None:
        """A resume of what is not assigned can block librdkafka, and what the application has paused stays so."""
        if concerned := partitions & self._librdkafka.assignment() - self._librdkafka.paused:
            method(theirs(concerned))
