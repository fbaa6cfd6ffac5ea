"""auto.offset.reset=by_duration (KIP-1106), which librdkafka does not know.

librdkafka is told `error`. It then reports each partition that has no offset to read from: nothing was committed, or the
committed offset is out of range. The report is not handed out. The time is looked up, and the partition is read from there.
"""

from __future__ import annotations

import logging
from itertools import chain, filterfalse

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException, Message

from membership_client.consumer.buffer import Place, Reading, place_of
from membership_client.consumer.librdkafka import Librdkafka
from membership_client.consumer.start_offsets import Ask, milliseconds_ago, offsets_since
from membership_client.partitions import counted

logger = logging.getLogger("membership_client")

_PATIENCE_S = 2.0
"""How long a reading thread waits for the answer of the brokers. After that it asks again when it reads next."""


class DurationReset:
    """Finds the start of partitions by time. Its methods are for the thread that has the lock of librdkafka."""

    def __init__(self, ask: Ask, librdkafka: Librdkafka, duration_s: float) -> None:
        self._ask = ask
        self._librdkafka = librdkafka
        self._duration_s = duration_s
        self._missing: set[Place] = set()
        """Partitions that have no offset to read from."""

    def after(self, reading: Reading) -> Reading:
        """A function that reads like `reading`, without those reports. If an exception comes meanwhile, the records are in the buffer."""

        def read(count: int, timeout_s: float) -> list[Message]:
            arriving: list[Message] = []
            try:
                arriving.extend(chain.from_iterable(map(reading, (count,), (timeout_s,))))
                self._missing.update(map(place_of, filter(_is_report, arriving)))
                if self._missing:
                    self._reset()
                return list(filterfalse(_is_report, arriving))
            except BaseException:  # Also the KeyboardInterrupt of a signal handler.
                self._librdkafka.buffer.put(filterfalse(_is_report, arriving))
                raise

        return read

    def _reset(self) -> None:
        """Look up the offsets and read from there; partitions that were taken away meanwhile are left out."""
        wanted = self._librdkafka.assignment() & self._missing
        self._missing.intersection_update(wanted)
        try:
            found = offsets_since(self._ask, wanted, milliseconds_ago(self._duration_s), _PATIENCE_S)
            for partition, offset in found.items():
                self._librdkafka.seek(confluent_kafka.TopicPartition(*partition, offset))
                self._missing.discard(partition)
        except KafkaException as error:
            logger.info(
                "The offsets of a time were not found for %s; trying again: %s",
                counted(len(wanted), "partition"),
                error,
            )


def _is_report(message: Message) -> bool:
    error = message.error()
    return error is not None and error.code() == KafkaError._AUTO_OFFSET_RESET
