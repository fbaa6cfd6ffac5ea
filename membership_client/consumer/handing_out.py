"""poll(), consume() and iteration. As long as no callback waits, they only compare the clock and take records from the buffer."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from threading import get_ident
from time import monotonic

from confluent_kafka import KafkaException, Message

from membership_client.arguments import LONGEST_WAIT_S
from membership_client.consumer.arguments import checked_count, checked_wait
from membership_client.consumer.bridge import Phase
from membership_client.consumer.callback_queue import CallbackQueue
from membership_client.consumer.events import is_event
from membership_client.consumer.kafka_errors import closed_error
from membership_client.consumer.librdkafka import Librdkafka
from membership_client.consumer.poll_loop import PollLoop
from membership_client.errors import MemberClosedError

_SLICE_S = 0.2
"""How often a loop over records checks whether it is to stop."""


class HandingOut:
    """The methods that return records. Any number of threads may call them, after `_hand_out` was called."""

    _stop_reason: str | None = None
    """Why iteration ends after the record in hand."""

    def _hand_out(self, librdkafka: Librdkafka, queue: CallbackQueue, loop: PollLoop) -> None:
        """Take records from that buffer, with this loop for all calls that cannot be served from it."""
        self._queue = queue
        self._gate = queue.gate
        self._loop = loop
        self._inside = loop.inside
        self._buffer = librdkafka.buffer
        # Kept as attributes because they are needed for every record or batch.
        self._enter, self._leave = loop.inside.enter, loop.inside.leave
        self._lock, self._callers = librdkafka.lock.lock, librdkafka.lock.callers
        self._line, self._unread = librdkafka.buffer.line, librdkafka.buffer.unread
        self._take = librdkafka.buffer.take
        self._consume_raw = librdkafka.consume_raw

    def poll(self, timeout: float = -1) -> Message | None:
        """The next record or event; None when time is up, and always inside on_assign: its partitions are not owned yet."""
        try:
            if timeout < LONGEST_WAIT_S and monotonic() < self._gate.until:
                return self._take()
        except (IndexError, TypeError):  # The buffer is empty, or the timeout is not a number.
            pass
        return self._loop.poll(checked_wait(timeout))

    def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Message]:
        """Up to `num_messages` records; fewer before the timeout when a rebalance callback waits, which runs in the next call."""
        timeout = checked_wait(timeout)
        self._enter(thread := get_ident())
        try:
            if not self._callers:
                with self._lock:
                    if batch := self._read_at_once(num_messages):
                        return batch
        except BaseException:
            self._loop.close_if_asked()
            raise
        finally:
            self._leave(thread)
        self._check_open()
        return self._loop.consume(checked_count(num_messages), timeout)

    def _read_at_once(self, count: int) -> list[Message]:
        """Read `count` records past the buffer, if librdkafka has that many and no callback waits, which is the usual case.

        If there are fewer, they are put into the buffer. Called with the lock of librdkafka.
        """
        read: list[list[Message]] = []
        try:
            if monotonic() < self._gate.until and not self._line:
                # In C code, because an exception of a signal handler would lose what a call has just returned.
                read.extend(map(self._consume_raw, (count,), (0.0,)))
                (batch,) = read
                if self._unread:
                    self._buffer.note_read(batch)
                if len(batch) == count and monotonic() < self._gate.until:
                    return batch
                self._buffer.put(batch)
                read.clear()
        except BaseException:
            self._buffer.put_back(chain.from_iterable(read))
            raise
        return []

    def __iter__(self) -> Iterator[Message]:
        """Iterate over records until a signal of stop_on_signals() comes or the consumer is closed. Errors are raised.

        A subscribed topic that does not exist raises nothing: it may be created later, and the log names it.
        """
        self._check_open()
        gate, take = self._gate, self._take
        while self._stop_reason is None:
            try:
                message = take() if monotonic() < gate.until else self._waited_for()
            except IndexError:
                message = self._waited_for()
            if message is None:
                continue
            if (error := message.error()) is None:
                yield message
            elif not is_event(message):
                raise KafkaException(error)

    def _check_open(self) -> None:
        if self._queue.bridge.phase is Phase.CLOSED:
            raise closed_error()

    def _waited_for(self) -> Message | None:
        """The next message; None after a short wait, and once the consumer is closed, which ends the loop over records."""
        try:
            return self._loop.poll(_SLICE_S)
        except MemberClosedError:
            self._stop_reason = "closed"
            return None


# Python's error for wrong arguments has the function's qualified name, and users know Consumer only.
HandingOut.poll.__qualname__ = "Consumer.poll"
HandingOut.consume.__qualname__ = "Consumer.consume"
