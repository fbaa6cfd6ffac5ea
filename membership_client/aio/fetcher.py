"""The Consumer that an asyncio Consumer stands before: its thread makes the calls, its loop takes records."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Mapping
from time import monotonic
from typing import Any

from confluent_kafka import Message

from membership_client.aio.reply import Reply
from membership_client.consumer.bridge import Action, hands_out
from membership_client.consumer.commits import Places
from membership_client.consumer.consumer import Consumer
from membership_client.consumer.kafka_errors import as_kafka_exception
from membership_client.errors import MembershipError
from membership_client.types import CloseReport, LeaveMode


class Fetcher(Consumer):
    """Made on the loop's thread."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__(config)
        self.report: CloseReport | None = None
        here = threading.get_ident()  # Records and callbacks are the loop's.
        self._queue.busy = lambda: here
        self._member._poller = lambda: here  # noqa: SLF001 - not for users; this is the one exception

    def at_hand(self, count: int) -> list[Message]:
        """Up to so many records that were read ahead, if a thread has looked around lately. Any thread; cheap."""
        return self._taken(count) if monotonic() < self._gate.until else []

    def take(self, count: int) -> list[Message]:
        """Up to so many records that were read ahead, unless a callback waits or this process was away. Any thread."""
        return self._taken(count) if self._may_hand_out() else []

    def has_records(self) -> bool:
        """Would `take` find some now?"""
        return bool(self._buffer) and self._may_hand_out()

    def _may_hand_out(self) -> bool:
        return hands_out(self._queue.bridge) and monotonic() < self._runtime.certain_until()

    def _taken(self, count: int) -> list[Message]:
        taken: list[Message] = []
        with contextlib.suppress(IndexError):
            while len(taken) < count:
                taken.append(self._take())
        return taken

    def read_ahead(self, count: int, timeout_s: float) -> None:
        """Run what waits, and read until so many records are in the buffer, waiting that long for the first."""
        if self._loop.attend() is Action.READ:
            missing = count - len(self._buffer)
            self._loop.read_ahead(max(0, missing), 0.0 if self._buffer else timeout_s)
        else:
            self._queue.wait(timeout_s)

    def begin_commit(self, message: Message | None, offsets: Places | None, outcome: Reply[Places]) -> None:
        """As commit(), but this thread does not wait for the coordinator."""
        if self._runtime.subscribed:
            self._commits.begin(message, offsets, functools.partial(_tell, outcome))
        else:
            outcome.give(self.commit(message, offsets, asynchronous=False) or [])

    def close(  # type: ignore[override]  # as the Consumer's
        self, leave: LeaveMode = LeaveMode.DEFAULT, *, reason: str | None = None, timeout_s: float | None = None
    ) -> CloseReport:
        self.report = super().close(leave, reason=reason, timeout_s=timeout_s)
        return self.report


def _tell(reply: Reply[Places], places: Places, error: MembershipError | None) -> None:
    """On the committer's thread."""
    if error is None:
        reply.give(places)
    else:
        reply.fail(as_kafka_exception(error))
