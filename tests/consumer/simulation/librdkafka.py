"""A stand-in for librdkafka's consumer, with the parts that our Consumer uses: positions, pauses, and endless records."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

import confluent_kafka
from confluent_kafka import Message

from tests.consumer.simulation.scheduler import ScheduleError, Scheduler

Places = list[confluent_kafka.TopicPartition]
TOPIC = "t"
_PER_SECOND = 20

T = TypeVar("T")


class Record(Message):
    """A record of 100 bytes."""

    def __init__(self, partition: int, offset: int) -> None:
        super().__init__(topic=TOPIC, partition=partition, offset=offset, value=bytes(100))
        self.place = (partition, offset)


class SimLibrdkafka:
    """Twenty records come to each partition every second. One thread at a time may be inside."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._positions: dict[int, int] = {}
        self._started: dict[int, int] = {}
        self._paused: set[int] = set()
        self._inside: int | None = None

    def consume(self, count: int, timeout: float) -> list[Record]:
        def read() -> list[Record]:
            self._scheduler.wait(lambda: bool(self._ready()), timeout)
            records: list[Record] = []
            while len(records) < count and (ready := self._ready()):
                records.append(self._next_of(self._scheduler.random.choice(ready)))
            return records

        return self._alone(read)

    def position(self, places: Places) -> Places:
        return self._alone(lambda: [self._at(place.partition) for place in places])

    def assignment(self) -> Places:
        return self._alone(lambda: [confluent_kafka.TopicPartition(TOPIC, number) for number in self._positions])

    def incremental_assign(self, places: Places) -> None:
        def assign() -> None:
            for place in places:
                if place.partition in self._positions:
                    raise ScheduleError(f"partition {place.partition} is assigned twice")
                self._positions[place.partition] = self._started[place.partition] = place.offset

        self._alone(assign)

    def incremental_unassign(self, places: Places) -> None:
        def unassign() -> None:
            for place in places:
                del self._positions[place.partition]
                self._paused.discard(place.partition)

        self._alone(unassign)

    def pause(self, places: Places) -> None:
        self._alone(lambda: self._paused.update(place.partition for place in places))

    def resume(self, places: Places) -> None:
        self._alone(lambda: self._paused.difference_update(place.partition for place in places))

    def _ready(self) -> list[int]:
        end = int(self._scheduler.now * _PER_SECOND)
        return [number for number, at in self._positions.items() if at < end and number not in self._paused]

    def _next_of(self, number: int) -> Record:
        self._positions[number] += 1
        return Record(number, self._positions[number] - 1)

    def _at(self, number: int) -> confluent_kafka.TopicPartition:
        """As librdkafka: no position before the first record."""
        at = self._positions.get(number)
        read = at is not None and at > self._started[number]
        return confluent_kafka.TopicPartition(TOPIC, number, at if read and at is not None else -1001)

    def _alone(self, action: Callable[[], T]) -> T:
        me = threading.get_ident()
        if self._inside not in {None, me}:
            raise ScheduleError("two threads are inside librdkafka")
        before, self._inside = self._inside, me
        try:
            self._scheduler.switch()
            return action()
        finally:
            self._inside = before
