"""The Consumer inside an asyncio Consumer: its thread makes the calls, the loop takes records."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import repeat, starmap
from time import monotonic
from typing import Any

import confluent_kafka
from confluent_kafka import Message

from membership_client.aio.demand import Demand, wanted_by
from membership_client.aio.deserializing import Deserializing, checked, is_failed
from membership_client.aio.reply import Reply
from membership_client.consumer.bridge import Action, hands_out
from membership_client.consumer.consumer import Consumer
from membership_client.consumer.kafka_errors import as_kafka_exception
from membership_client.consumer.librdkafka import Librdkafka
from membership_client.consumer.start_offsets import offsets_since
from membership_client.consumer.translate import Places, theirs
from membership_client.errors import MembershipError
from membership_client.types import CloseReport, LeaveMode, TopicPartition

_MOST_AT_ONCE = 5000
"""Records that librdkafka is asked for in one call."""

_MOST_AHEAD = 2000
"""How many records are read at once, to be handed out by later calls without another turn of the consumer's thread."""

_MOST_ASIDE = 500
"""How many records of a partition that no coroutine wants now may be in line: at this number it is not fetched."""


class UnwantedPartitions:
    """While coroutines read some partitions only, others are not fetched once enough of their records are in line.

    Otherwise the line would grow with records that the application does not ask for. Belongs to the consumer's thread.
    """

    def __init__(
        self, librdkafka: Librdkafka, pause: Callable[[Places], None], resume: Callable[[Places], None]
    ) -> None:
        self._librdkafka = librdkafka
        self._pause = pause
        self._resume = resume
        self.stopped: frozenset[TopicPartition] = frozenset()
        """The partitions that are not fetched now. Any thread may read it."""

    def balance(self, wanted: frozenset[TopicPartition] | None, most: int) -> None:
        """Fetch all that is wanted, or has less than `most` in line, and is not paused by the application; None stands for all."""
        if wanted is None and not self.stopped:
            return
        with self._librdkafka.lock.calling():
            full = frozenset[TopicPartition]() if wanted is None else self._full(most) - wanted
            if again := self.stopped - full:
                self._call(self._resume, again)
            if full:
                self._call(self._pause, full)
            self.stopped = full

    def _full(self, most: int) -> frozenset[TopicPartition]:
        counts = self._librdkafka.buffer.counts()
        return frozenset(
            TopicPartition(topic, number)
            for (topic, number), count in counts.items()
            if topic is not None and number is not None and count >= most
        )

    def _call(self, method: Callable[[Places], None], partitions: frozenset[TopicPartition]) -> None:
        """Leaves out partitions that are not assigned, because a resume of them can block, and those that the application paused."""
        if concerned := partitions & self._librdkafka.assignment() - self._librdkafka.paused:
            method(theirs(concerned))


class Fetcher(Consumer):
    """A Consumer for a thread that makes all calls, and a loop that takes records. It is made on the loop's thread."""

    def __init__(self, config: Mapping[str, Any], deserializing: Deserializing) -> None:
        super().__init__(config)
        self.report: CloseReport | None = None
        self._ahead = 16
        self._deserializes = bool(deserializing)
        if self._deserializes:
            self._librdkafka.consume_raw = deserializing.after(self._librdkafka.consume_raw)
        # All of these take time on the thread that reads, which must not be the loop's.
        resets = self._consume_raw != self._raw.consume
        self._may_block = self._deserializes or resets or "oauth_cb" in config
        self._unwanted = UnwantedPartitions(self._librdkafka, self._raw.pause, self._raw.resume)
        here = threading.get_ident()  # Records and callbacks are the loop's.
        self._queue.busy = lambda: here
        self._member._poller = lambda: here  # noqa: SLF001 - not for users; this is the one exception

    # --- on the loop's thread ----------------------------------------------------------------------------------------

    def next_at_hand(self) -> Message | None:
        """The next record that was read ahead, if the gate of the callback queue is open. Cheap."""
        if monotonic() < self._gate.until and not self._deserializes:
            try:
                return self._take()
            except IndexError:
                pass
        return None

    def at_hand(self, demand: Demand) -> list[Message]:
        """The wanted ones of the records that were read ahead, if the gate of the callback queue is open. Cheap."""
        if monotonic() < self._gate.until and (demand.least == 1 or self._has(demand)):
            return self._taken(demand)
        return []

    def may_read_at_once(self, demand: Demand) -> bool:
        """May `read_at_once` serve it? Not for a single record, nor for some partitions only.

        For a single record the thread reads many ahead, and for some partitions it must stop the others.
        """
        is_simple = demand.partitions is None and not self._unwanted.stopped
        return is_simple and 1 < demand.most <= _MOST_AT_ONCE and not self._may_block

    def read_at_once(self, demand: Demand) -> list[Message]:
        """The wanted ones of the records that librdkafka has fetched, if that needs no wait. To be called if none is at hand."""
        with self._librdkafka.lock.reading_if_free() as is_free:
            if not is_free or monotonic() >= self._gate.until:
                return []
            if not self._line:
                return self._read_at_once(demand.most) or self.at_hand(demand)
            self._buffer.read(self._consume_raw, max(0, demand.most - len(self._line)), 0.0)
            return self.at_hand(demand)

    def take(self, demand: Demand) -> list[Message]:
        """The wanted ones of the records that were read ahead, unless a callback waits or this process was stopped."""
        return self._taken(demand) if self._may_hand_out() else []

    def _taken(self, demand: Demand) -> list[Message]:
        """Take them out of the buffer. Raises what a deserializer raised for the first of them."""
        if self._deserializes or demand.partitions is not None:
            return list(map(checked, self._buffer.take_where(demand.most, demand.wants, is_failed)))
        taken: list[Message] = []
        with contextlib.suppress(IndexError):
            taken.extend(starmap(self._take, repeat((), demand.most)))
        return taken

    # --- on any thread -----------------------------------------------------------------------------------------------

    def has_records(self, demand: Demand) -> bool:
        """Would `take` return as many as are wanted at least?"""
        return self._has(demand) and self._may_hand_out()

    def _has(self, demand: Demand) -> bool:
        return self._count(demand) >= demand.least

    def _count(self, demand: Demand) -> int:
        return len(self._buffer) if demand.partitions is None else self._buffer.count_where(demand.wants)

    def _may_hand_out(self) -> bool:
        return hands_out(self._queue.bridge) and monotonic() < self._runtime.certain_until()

    # --- on the consumer's thread ------------------------------------------------------------------------------------

    def read_ahead(self, demands: Collection[Demand], timeout_s: float) -> None:
        """Run the callback that waits, then read what is wanted; wait up to `timeout_s` for the first record."""
        if self._loop.visit_bridge() is not Action.READ:
            self._queue.wait(timeout_s)
            return
        self._unwanted.balance(wanted_by(demands), min(self._ahead, _MOST_ASIDE))
        missing = max(max(demand.most, self._ahead) - self._count(demand) for demand in demands)
        ready = any(map(self._has, demands))
        self._loop.read_ahead(max(0, min(missing, _MOST_AT_ONCE)), 0.0 if ready else timeout_s)
        with contextlib.suppress(TypeError):  # Values from a deserializer need not have a length.
            self._ahead = self._buffer.next_ahead(self._ahead, _MOST_AHEAD)

    def seek_to(self, when: int, partitions: Iterable[TopicPartition], timeout_s: float) -> None:
        """Read these partitions, or all that are fetched, from a time in milliseconds, OFFSET_BEGINNING or OFFSET_END.

        librdkafka is given numbers: see start_offsets.py.
        """
        chosen = frozenset(partitions) or self._librdkafka.assignment()
        for partition, offset in offsets_since(self.offsets_for_times, chosen, when, timeout_s).items():
            self.seek(confluent_kafka.TopicPartition(*partition, offset))

    def begin_commit(
        self, message: Message | None, offsets: Places | None, outcome: Reply[Places], *, asynchronous: bool
    ) -> None:
        """Like commit(), but this thread does not wait for the coordinator."""
        if asynchronous or not self._runtime.subscribed:
            outcome.give(self.commit(message, offsets, asynchronous=asynchronous) or [])
        else:
            self._commits.begin(message, offsets, functools.partial(_tell, outcome))

    def close(  # type: ignore[override]  # as the Consumer's
        self, leave: LeaveMode = LeaveMode.DEFAULT, *, reason: str | None = None, timeout_s: float | None = None
    ) -> CloseReport:
        self.report = super().close(leave, reason=reason, timeout_s=timeout_s)
        return self.report


def _tell(reply: Reply[Places], places: Places, error: MembershipError | None) -> None:
    """Tell the outcome of a commit. Called on the committer's thread."""
    if error is None:
        reply.give(places)
    else:
        reply.fail(as_kafka_exception(error))
