"""What a thread does inside poll(), consume() and close(): run the callback that waits, then read records and hand them out."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar

from confluent_kafka import Message

from membership_client.consumer.bridge import Action, Partitions, Phase, Role
from membership_client.consumer.callback_queue import CallbackQueue
from membership_client.consumer.kafka_errors import as_kafka_exceptions, closed_error
from membership_client.consumer.librdkafka import Librdkafka
from membership_client.consumer.monitor import Inside
from membership_client.consumer.poll_time import PollTime

T = TypeVar("T")

_VISIT_EVERY_S = 0.2
"""How long poll() hands out buffered records at most without visiting the bridge, if no callback waits there.
The time is shorter if automatic commits are more frequent."""

_SLICE_S = 0.05
"""How long a thread waits inside librdkafka at a time: callbacks and close() wait so long for it."""

_BRIEF_S = 0.01
"""The same, while the membership changes."""

_MOST_RECORDS = 500
"""How many records are read ahead at once, in addition to those that librdkafka itself has fetched."""


class Surroundings(Protocol):
    """What a polling thread needs of the rest of the consumer."""

    def on_visit(self) -> None:
        """Note that the application polls, commit what is due, and raise what must be raised. No record is in hand."""

    def note_poll(self) -> None:
        """Note that the application polls."""

    def is_certain(self) -> bool:
        """Does the group still count on this member, as far as is known?"""

    def certain_until(self) -> float:
        """The time until which the group surely counts on this member."""

    def is_settled(self) -> bool:
        """Is no change of the assignment under way?"""

    def close_as_asked(self) -> None:
        """Carry out a close() that a callback asked for."""


class PollLoop:
    """The inside of poll() and consume(). Any number of threads may call each method at the same time."""

    def __init__(
        self,
        librdkafka: Librdkafka,
        queue: CallbackQueue,
        surroundings: Surroundings,
        inside: Inside,
        *,
        raises: bool = True,
        visit_every_s: float = _VISIT_EVERY_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.time = PollTime(clock)
        self.tasks: deque[Callable[[], None]] = deque()
        """Reports that are to be made on a thread of the application; what they raise is raised from poll()."""
        self.inside = inside
        self.urgent: deque[Message] = deque()
        """Events that poll() returns before any callback runs."""
        self._librdkafka = librdkafka
        self._buffer = librdkafka.buffer
        self._queue = queue
        self._surroundings = surroundings
        self._raises = raises
        """True if exceptions of callbacks are raised from poll(), False if only the member learns of them."""
        self._visit_every_s = min(visit_every_s, _VISIT_EVERY_S)
        self._clock = clock
        self._ahead = 1

    def poll(self, timeout_s: float) -> Message | None:
        """The next record or event; None when time is up. A negative timeout has no end."""
        deadline = self._deadline(timeout_s)
        if self.urgent and (event := _popped(self.urgent)) is not None:
            return event
        with self._entered():
            while (action := self._next_action()) is not Action.NOTHING:
                if action is Action.READ and (message := self._taken()) is not None:
                    return message
                if not self._wait(action, deadline):
                    return None
        return None

    def consume(self, count: int, timeout_s: float) -> list[Message]:
        """Up to `count` records; fewer before time is up when a callback or close() waits, which must run between two calls.

        Records are put back if an exception comes meanwhile, such as KeyboardInterrupt.
        """
        if not count:  # The loop below would wait for ever for a batch that stays empty.
            self.visit_bridge()
            return []
        deadline = self._deadline(timeout_s)
        if self.urgent and (event := _popped(self.urgent)) is not None:
            return [event]
        batch = self._buffer.open_batch()
        with self._entered():
            try:
                while (action := self._next_action()) is not Action.NOTHING:
                    if action is Action.READ and self._gather(batch, count, deadline):
                        return self._buffer.close_batch(batch)
                    if not self._wait(action, deadline):
                        return []
            except BaseException:
                self._buffer.give_back(batch)
                raise
            finally:
                self._buffer.close_batch(batch)
        return []

    @contextlib.contextmanager
    def _entered(self) -> Iterator[None]:
        """If an exception leaves the block, first carry out a close() that a signal handler called meanwhile."""
        self._queue.poller = threading.get_ident()
        with self.inside():
            try:
                yield
            except BaseException:
                self.close_if_asked()
                raise

    def close_if_asked(self) -> None:
        """Carry out the close() that a signal handler called in this call, before its exception goes on."""
        while self._queue.bridge.phase is Phase.CLOSE_ASKED:
            match self._queue.visit(Role.POLL, certain=True):
                case Action.CLOSE:
                    self._surroundings.close_as_asked()
                case Action.WAIT:  # Another thread runs a callback.
                    self._queue.wait(_SLICE_S)
                case _:  # This call is inside a callback of this thread: the call around the callback will close.
                    return

    def visit_bridge(self) -> Action:
        """Run the callbacks that wait, then commit what is due. To be called between two records. Raises what callbacks raise."""
        with self._entered():
            return self._visit_bridge()

    def _visit_bridge(self) -> Action:
        while (event := _popped(self.urgent)) is not None:  # Some callers take messages from the buffer only.
            self._buffer.put([event])
        while (action := self._queue.visit(Role.POLL, certain=self._surroundings.is_certain())) is Action.RUN:
            self._carry_out()
        if action is Action.CLOSE:
            self._surroundings.close_as_asked()
        if action in {Action.CLOSE, Action.REFUSE}:
            raise closed_error()
        if action is not Action.NOTHING:
            self._on_visit()
        if action is Action.READ and self._buffer:
            # librdkafka calls stats_cb, error_cb and oauth_cb only while it is read, and the buffer may last for minutes.
            self.read_ahead(1, 0.0)
        return action

    def _carry_out(self) -> None:
        try:
            with as_kafka_exceptions():
                self._queue.carry_out()
        except Exception:
            if self._raises:
                raise

    def read_ahead(self, count: int, timeout_s: float) -> None:
        """Read up to `count` records into the buffer; wait up to `timeout_s` for the first."""
        with self.time:
            self._librdkafka.read(count, timeout_s)

    # --- inside ------------------------------------------------------------------------------------------------------

    def _next_action(self) -> Action:
        """READ without a visit of the bridge while the gate is open, as in most calls."""
        return Action.READ if self._clock() < self._queue.gate.until else self._visit_bridge()

    def run_tasks(self) -> None:
        """Make the reports that are due."""
        while (task := _popped(self.tasks)) is not None:
            task()

    def _on_visit(self) -> None:
        self.run_tasks()
        self._surroundings.on_visit()
        self._queue.open_gate(lambda: min(self._clock() + self._visit_every_s, self._surroundings.certain_until()))

    def _taken(self) -> Message | None:
        try:
            return self._buffer.take()
        except IndexError:
            return None

    def _wait(self, action: Action, deadline: float) -> bool:
        """Read, or wait for another thread; False when time is up and nothing was read."""
        left_s = deadline - self._clock()
        if action is Action.READ:
            self.read_ahead(self._ahead, self._slice(left_s))
            self._ahead = self._buffer.next_ahead(self._ahead, _MOST_RECORDS)
            return left_s > 0 or bool(self._buffer)
        if left_s > 0:
            with self.time:
                self._queue.wait(self._slice(left_s))
        return left_s > 0

    def _gather(self, batch: deque[Message], count: int, deadline: float) -> bool:
        """Take and read into `batch` until it is full, time is up, or something waits; False if nothing came."""
        while True:
            self._buffer.fill(batch, count)
            left_s = deadline - self._clock()
            if not batch or len(batch) >= count or left_s <= 0 or self._queue.gate.until == 0.0:
                return self._may_hand_out(batch)
            self._surroundings.note_poll()
            self.read_ahead(count - len(batch), self._slice(left_s))

    def _may_hand_out(self, batch: deque[Message]) -> bool:
        """If the process was stopped meanwhile, put the records back: another member may own their partitions by now."""
        if batch and self._surroundings.is_certain():
            return True
        self._buffer.give_back(batch)
        return False

    def _slice(self, left_s: float) -> float:
        most_s = _SLICE_S if self._surroundings.is_settled() else _BRIEF_S
        return max(0.0, min(most_s, left_s))

    def _deadline(self, timeout_s: float) -> float:
        return float("inf") if timeout_s < 0 else self._clock() + timeout_s

    @contextlib.contextmanager
    def hold(self, partitions: Partitions | None) -> Iterator[None]:
        """Inside, the application does long work. At the end the callback that waits is run, unless the work raised."""
        self._queue.hold(partitions)
        try:
            yield
        finally:
            self._queue.release(partitions)
        self.visit_bridge()


def _popped(line: deque[T]) -> T | None:
    """Take the first one; None if there is none. Several threads may call it at the same time."""
    try:
        return line.popleft()
    except IndexError:
        return None
