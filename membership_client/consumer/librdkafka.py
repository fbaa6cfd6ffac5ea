"""librdkafka's consumer and the buffer of records read ahead, because a call that moves or stops a partition changes both."""

from __future__ import annotations

import functools
import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException

from membership_client.consumer.buffer import Buffer, Reading
from membership_client.consumer.monitor import LibrdkafkaLock
from membership_client.consumer.translate import Places, ours, theirs
from membership_client.types import TopicPartition

logger = logging.getLogger("membership_client")

T = TypeVar("T")

_REPORT_KEYS = ("error_cb", "stats_cb", "throttle_cb")


class Reports:
    """Calls the application's functions for librdkafka's reports, inside poll(), consume() and other calls of the application.

    From `postpone` on, reports are kept for `make_postponed`. A function may need a lock that the thread in close() holds,
    so it must not run on the thread that closes librdkafka while close() waits for that.
    """

    def __init__(self) -> None:
        self._postponed: list[Callable[[], object]] | None = None

    def wrapped(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The configuration with the reports passing through here. confluent-kafka refuses what is not callable."""
        found = {key: config[key] for key in _REPORT_KEYS if callable(config.get(key))}
        return {**config, **{key: functools.partial(self._report, function) for key, function in found.items()}}

    def postpone(self) -> None:
        self._postponed = []

    def make_postponed(self) -> None:
        """Make the reports that were kept, on the thread that closes the consumer.

        The first exception of a function is raised when all were called, as in confluent-kafka.
        """
        reports, self._postponed = self._postponed or [], []
        raised: list[Exception] = []
        for report in reports:
            try:
                report()
            except Exception as error:  # noqa: BLE001 - raised at the end; the other reports are due as well
                raised.append(error)
        if raised:
            raise raised[0]

    def _report(self, function: Callable[..., object], *told: object) -> object:
        if self._postponed is None:
            return function(*told)
        self._postponed.append(functools.partial(function, *told))
        return None


class Librdkafka:
    """Reads and moves partitions; any thread may call it. A record counts as read when it is handed out.

    So `position` is that of the first record in the buffer.
    """

    def __init__(self, raw: confluent_kafka.Consumer, lock: LibrdkafkaLock, reports: Reports) -> None:
        self.buffer = Buffer()
        self.lock = lock
        self.may_read: Callable[[], bool] = lambda: True
        """A reading thread that has the lock reads only if this is true: not while another thread runs a callback, because records
        of new partitions would be in the buffer, where other threads could take them, before the callback has returned.
        """
        self.starts: dict[TopicPartition, int] = {}
        """The offset, or the logical one, from which each partition was assigned or sought last."""
        self._closed = False
        self._paused: frozenset[TopicPartition] = frozenset()
        self._going: frozenset[TopicPartition] = frozenset()
        """Partitions that `pause_read` has stopped and `drop` has not dropped yet."""
        self._raw = raw
        self.consume_raw: Reading = raw.consume
        self._reports = reports

    def call(self, method: Callable[..., T], *arguments: object) -> T:
        """Call a method of librdkafka, with its lock, that neither moves nor stops a partition."""
        with self.lock.calling():
            return method(*arguments)

    def close(self, timeout_s: float) -> None:
        """Wait until no other thread is inside, then close librdkafka. If it does not end in time, it is left to itself.

        Reports that librdkafka makes meanwhile to `stats_cb`, `error_cb` and `throttle_cb` are passed on afterwards, on this
        thread, and what these functions raise is raised. Reports that come later are dropped.
        """
        with self.lock.calling():
            self._closed = True
            self._reports.postpone()
            closing = threading.Thread(target=self._close_raw, name="closing-fetcher", daemon=True)
            closing.start()
            closing.join(timeout_s)
        self._reports.make_postponed()

    def _close_raw(self) -> None:
        try:
            self._raw.close()
        except Exception:
            logger.exception("librdkafka raised while the consumer was closed.")

    # --- reading -----------------------------------------------------------------------------------------------------

    def read(self, count: int, timeout_s: float) -> None:
        """Read up to `count` records into the buffer, waiting up to `timeout_s` for the first."""
        with self.lock.reading():
            if not self.may_read():
                return
            # With a timeout librdkafka would wait for all records, so this first waits for one.
            if not self._read(count, 0.0) and timeout_s > 0 and self._read(1, timeout_s):
                self._read(count, 0.0)

    def _read(self, count: int, timeout_s: float) -> int:
        return self.buffer.read(self.consume_raw, count, timeout_s)

    def position(self, partitions: Places) -> Places:
        """The offset after the last record that was handed out, by partition; OFFSET_INVALID before the first one."""
        with self.lock.calling():
            found, waiting = self._raw.position(partitions), self.buffer.positions()
        for place in found:
            at = waiting.get((place.topic, place.partition), place.offset)
            place.offset = confluent_kafka.OFFSET_INVALID if at is None else at
        return found

    # --- what is read ------------------------------------------------------------------------------------------------

    def assignment(self) -> frozenset[TopicPartition]:
        """The partitions that are read; none once it is closed."""
        return frozenset() if self._closed else ours(self.call(self._raw.assignment))

    def assign(self, partitions: Places) -> None:
        with self.lock.calling():
            self._raw.assign(partitions)
            self.starts = _offsets_of(partitions)
            self.buffer.clear()
            self.buffer.restart(ours(partitions))

    def unassign(self) -> None:
        with self.lock.calling():
            self._raw.unassign()
            self.buffer.clear()

    def incremental_assign(self, partitions: Places) -> None:
        with self.lock.calling():
            self._raw.incremental_assign(partitions)
            self.starts |= _offsets_of(partitions)
            self.buffer.restart(ours(partitions))

    def incremental_unassign(self, partitions: Places) -> None:
        with self.lock.calling():
            self._raw.incremental_unassign(partitions)
            self.buffer.drop(ours(partitions))

    def stop(self, partitions: Iterable[TopicPartition]) -> None:
        """Stop reading those of these partitions that are read."""
        with self.lock.calling():
            if fetched := self.assignment() & frozenset(partitions):
                if (
                    going := fetched & self._going
                ):  # Otherwise they would still be paused when they come back: see `drop`.
                    self._raw.resume(theirs(going))
                self.incremental_unassign(theirs(fetched))

    def move(self, places: Places) -> None:
        """Read these from other offsets. librdkafka's seek() needs a running fetcher; starting anew does not."""
        with self.lock.calling():
            self.stop(ours(places))
            self.incremental_assign(places)
            self.pause_read(ours(places) & self._going)

    def seek(self, place: confluent_kafka.TopicPartition) -> None:
        with self.lock.calling():
            try:
                self._raw.seek(place)
            except KafkaException as error:
                if error.args[0].code() != KafkaError._STATE or not ours([place]) <= self.assignment():
                    raise
                self.move([place])
            self.starts |= _offsets_of([place])
            self.buffer.drop(ours([place]))
            self.buffer.restart(ours([place]))

    @property
    def paused(self) -> frozenset[TopicPartition]:
        """The partitions that the application has paused and not resumed. Any thread, without waiting for another."""
        return self._paused

    def pause(self, partitions: Places) -> None:
        """Pause partitions that are read. librdkafka refuses others, so the buffer must not withhold these when they are read later."""
        with self.lock.calling():
            self._raw.pause(partitions)
            read = self.assignment() & ours(partitions)
            self.buffer.withhold(read)
            self._paused |= read

    def resume(self, partitions: Places) -> None:
        with self.lock.calling():
            self._raw.resume(partitions)
            self._paused -= ours(partitions)
            self.buffer.release(ours(partitions))

    def pause_read(self, partitions: Iterable[TopicPartition]) -> None:
        """Hand out no records of these partitions, as far as they are read, until they are dropped."""
        with self.lock.calling():
            if fetched := self.assignment() & frozenset(partitions):
                self._raw.pause(theirs(fetched))
                self.buffer.withhold(fetched)
                self._going |= fetched

    def drop(self, partitions: Iterable[TopicPartition]) -> None:
        """Stop reading these partitions, and resume them in librdkafka if they were paused.

        librdkafka remembers a pause until the partition comes back, and a resume of what is not assigned can block it.
        """
        gone = frozenset(partitions)
        with self.lock.calling():
            if fetched := self.assignment() & gone:
                self._raw.resume(theirs(fetched))
                self.incremental_unassign(theirs(fetched))
            self._paused -= gone
            self._going -= gone
            self.buffer.drop(gone)


def _offsets_of(places: Places) -> dict[TopicPartition, int]:
    return {TopicPartition(place.topic, place.partition): place.offset for place in places}
