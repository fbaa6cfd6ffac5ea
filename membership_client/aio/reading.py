"""Hands records from the thread that reads to the coroutines that await them."""

from __future__ import annotations

import asyncio
import functools
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from confluent_kafka import Message

from membership_client.aio.demand import Demand
from membership_client.aio.fetcher import Fetcher
from membership_client.aio.reply import Reply

_SLICE_S = 0.02
"""How long the thread waits for records at most: other calls wait meanwhile."""

_TURN_S = 0.001
"""How long records are read on the loop before its other tasks get a turn."""


@dataclass(frozen=True, slots=True, eq=False)
class _Request:
    """A coroutine awaits records."""

    demand: Demand
    deadline: float
    reply: Reply[None] = field(default_factory=Reply)


class Reading:
    """Reads only while a coroutine awaits records. So callbacks run only then, and the buffer does not grow meanwhile."""

    def __init__(self, fetcher: Fetcher) -> None:
        self._fetcher = fetcher
        self._requests: deque[_Request] = deque()
        """The requests that wait. Never replaced, because jobs on their way to the thread append to this deque."""
        self._errors: deque[BaseException] = deque()
        """What reading raised. Each error is raised in one coroutine."""
        self._turn_due = 0.0
        """When the loop's other tasks must get a turn before more records are read."""

    def next_at_hand(self) -> Message | None:
        """The next record that was read ahead, if no request waits for the thread. Cheap: most records come this way."""
        return None if self._errors else self._fetcher.next_at_hand()

    def at_hand(self, demand: Demand) -> list[Message]:
        """The wanted ones of the records that were read ahead, if no request waits for the thread; else none. Cheap."""
        return [] if self._errors else self._fetcher.at_hand(demand)

    async def _at_once(self, demand: Demand) -> list[Message]:
        """The wanted ones of the records that librdkafka has fetched, if no request waits for the thread; else none."""
        if not self._fetcher.may_read_at_once(demand):
            return []
        if time.monotonic() >= self._turn_due:
            await asyncio.sleep(0)
            self._turn_due = time.monotonic() + _TURN_S
        return [] if self._errors or self._requests else self._fetcher.read_at_once(demand)

    async def take(
        self, demand: Demand, timeout_s: float | None, post: Callable[[Callable[[], None]], None]
    ) -> list[Message]:
        """The wanted records as soon as there are enough, or those that are there when time is up.

        Records leave the buffer when they are returned, so a cancelled call loses none.
        """
        deadline = float("inf") if timeout_s is None else time.monotonic() + timeout_s
        taken = await self._at_once(demand)
        while not taken:
            request = _Request(demand, deadline)
            post(functools.partial(self._requests.append, request))
            await request.reply
            if self._errors:
                raise self._errors.popleft()
            late = time.monotonic() >= deadline
            if late or self._fetcher.has_records(demand):  # Another coroutine may have taken the records.
                taken = self._fetcher.take(demand)
            if late:
                break
        return taken

    # --- on the thread that reads ------------------------------------------------------------------------------------

    def serve(self) -> bool:
        """Read once for the requests that wait; False if there are none."""
        for request in tuple(self._requests):
            if not request.reply.wanted:
                self._requests.remove(request)
        if not self._requests:
            return False
        try:
            self._fetcher.read_ahead([request.demand for request in self._requests], self._patience_s())
        except BaseException as error:  # noqa: BLE001 - raised where the records are awaited
            self._errors.append(error)
        self._grant()
        return True

    def _patience_s(self) -> float:
        first = min(request.deadline for request in self._requests)
        return min(_SLICE_S, max(0.0, first - time.monotonic()))

    def _grant(self) -> None:
        """Wake coroutines that will find records, and those whose time is up."""
        at, ready = time.monotonic(), self._fetcher.has_records
        for request in tuple(self._requests):
            if self._errors or at >= request.deadline or ready(request.demand):
                self._requests.remove(request)
                request.reply.give(None)

    def end(self) -> None:
        """Wake all coroutines: nothing is read any more, and their next request raises."""
        for request in self._requests:
            request.reply.give(None)
        self._requests.clear()
