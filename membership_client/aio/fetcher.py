"""The Consumer of the thread that makes all calls into it. It reads ahead, so what it has read is not what counts."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping
from typing import Any

import confluent_kafka
from confluent_kafka import Message

from membership_client.aio.records import Records
from membership_client.aio.reply import Reply
from membership_client.consumer.commits import Places
from membership_client.consumer.consumer import Consumer
from membership_client.consumer.kafka_errors import as_kafka_exception
from membership_client.errors import MembershipError
from membership_client.types import CloseReport, LeaveMode

OnThread = Callable[[Callable[[], Places]], Places]
"""Does it on the thread that reads, where no record is on its way into line, and returns what it returns."""


class Fetcher(Consumer):
    """Records in line are not counted as read: not by position(), and thus by no commit. Made on the loop's thread."""

    def __init__(self, config: Mapping[str, Any], records: Records, on_thread: OnThread) -> None:
        super().__init__(config)
        self.report: CloseReport | None = None
        self._records = records
        here = threading.get_ident()  # Records and callbacks are the loop's.
        self._polling.desk.busy = lambda: here
        self._member._poller = lambda: here  # noqa: SLF001 - not for users; this is the one exception
        self._commits.ledger.position = lambda partitions: on_thread(functools.partial(self.position, partitions))

    def position(self, partitions: Places) -> Places:
        firsts = self._records.firsts()
        return [_moved(place, firsts) for place in self._raw.position(partitions)]

    def is_certain(self) -> bool:
        """That what is in line is still ours: not before the coordinator has said so, if this process was away."""
        return self._absence.look()

    def certain_until(self) -> float:
        """Up to which moment it is certain, as far as is known now. Any thread; cheap."""
        return self._absence.until

    def begin_commit(self, message: Message | None, offsets: Places | None, outcome: Reply[Places]) -> None:
        """As commit(), but this thread does not wait for the coordinator."""
        if self._polling.subscribed:
            self._commits.begin(message, offsets, functools.partial(_tell, outcome))
        else:
            outcome.give(self.commit(message, offsets, asynchronous=False) or [])

    def ring(self, task: Callable[[], None]) -> None:
        """Have it done on the thread that is inside poll(), now. Any thread."""
        self._polling.desk.leave(task)

    def close(  # type: ignore[override]  # as the Consumer's
        self, leave: LeaveMode = LeaveMode.DEFAULT, *, reason: str | None = None, timeout_s: float | None = None
    ) -> CloseReport:
        self.report = super().close(leave, reason=reason, timeout_s=timeout_s)
        return self.report


def _moved(
    place: confluent_kafka.TopicPartition, firsts: Mapping[tuple[str | None, int | None], int]
) -> confluent_kafka.TopicPartition:
    first = firsts.get((place.topic, place.partition))
    return place if first is None else confluent_kafka.TopicPartition(place.topic, place.partition, first)


def _tell(reply: Reply[Places], places: Places, error: MembershipError | None) -> None:
    """On the committer's thread."""
    if error is None:
        reply.give(places)
    else:
        reply.fail(as_kafka_exception(error))
