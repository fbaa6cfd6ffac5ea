"""Records, from the thread that reads them to the coroutines that await them."""

from __future__ import annotations

import functools
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from confluent_kafka import Message

from membership_client.aio.fetcher import Fetcher
from membership_client.aio.records import Records
from membership_client.aio.reply import Reply

_SLICE_S = 0.1
"""Longest stay inside librdkafka's poll(). Jobs get in meanwhile; what ends the consumer does not."""

_FRESH_S = 0.02
"""So long records are handed out of the line without asking the thread, which serves callbacks before each read."""


def _for_ever() -> float:
    return float("inf")


@dataclass(frozen=True, slots=True, eq=False)
class _Wish:
    count: int
    deadline: float
    reply: Reply[None] = field(default_factory=Reply)


class Reading:
    """Reads only while somebody awaits records, so that callbacks run only then, and nothing is read for nobody."""

    def __init__(self, records: Records) -> None:
        self.inside_poll = False
        self._records = records
        self._wishes: deque[_Wish] = deque()
        self._read_at = 0.0
        self._certain_until = _for_ever
        """Later, this process was away and the coordinator has not confirmed us since: the line may be others'."""

    def at_hand(self, count: int) -> list[Message]:
        """Up to so many records out of the line, if the thread was there a moment ago; else none. Cheap."""
        return self._take(count) if time.monotonic() - self._read_at < _FRESH_S else []

    def _take(self, count: int) -> list[Message]:
        return self._records.take(count) if self._is_certain() else []

    def _is_certain(self) -> bool:
        """By the clock of this moment: the process may have been stopped since the thread was there."""
        return time.monotonic() < self._certain_until()

    async def take(
        self, count: int, ahead: int, timeout_s: float | None, post: Callable[[Callable[[], None]], None]
    ) -> list[Message]:
        """Up to `count` records as soon as there are any, or none when time is up; reads up to `ahead` for later.

        Records leave the line at the moment they are returned: cancelling loses none.
        """
        deadline = float("inf") if timeout_s is None else time.monotonic() + timeout_s
        taken: list[Message] = []
        while not taken:
            wish = _Wish(max(count, ahead), deadline)
            post(functools.partial(self._add, wish))
            await wish.reply
            taken = self._take(count)
            if time.monotonic() >= deadline:
                break
        return taken

    # --- on the thread that reads ------------------------------------------------------------------------------------

    def _add(self, wish: _Wish) -> None:
        self._wishes.append(wish)

    def serve(self, consumer: Fetcher, called: Callable[[], bool]) -> bool:
        """Read once for those who wait; False if nobody does. `called` says that a job waits."""
        self._wishes = deque(wish for wish in self._wishes if wish.reply.wanted)
        if not self._wishes:
            return False
        try:
            self._read(consumer, called)
        except BaseException as error:  # noqa: BLE001 - it is raised where the records are awaited
            self._records.put([error])
            self._certain_until = _for_ever
        else:
            consumer.is_certain()  # This look is what moves the moment.
            self._certain_until = consumer.certain_until
        self._read_at = time.monotonic()
        self._grant()
        return True

    def _read(self, consumer: Fetcher, called: Callable[[], bool]) -> None:
        wanted = max(wish.count for wish in self._wishes)
        # Serves callbacks first; with a full line it does only that.
        self._records.put(consumer.consume(max(0, wanted - len(self._records)), 0.0))
        if self._records and consumer.is_certain():
            return
        self.inside_poll = True  # Before the look for jobs: who posts one now sees it and knocks.
        try:
            message = consumer.poll(0.0 if called() else self._patience_s())
        finally:
            self.inside_poll = False
        if message is not None:
            self._records.put([message])

    def _patience_s(self) -> float:
        first = min(wish.deadline for wish in self._wishes)
        return min(_SLICE_S, max(0.0, first - time.monotonic()))

    def _grant(self) -> None:
        """Wake those who may find something, and those whose time is up."""
        at, ready = time.monotonic(), self._is_certain() and bool(self._records)
        for wish in tuple(self._wishes):
            if ready or at >= wish.deadline:
                self._wishes.remove(wish)
                wish.reply.give(None)

    def end(self) -> None:
        """Nothing will be read any more: wake all, and they will find out."""
        self._records.clear()
        for wish in self._wishes:
            wish.reply.give(None)
        self._wishes.clear()
