"""Makes the polling thread come by: at once when something waits for it, and every so often to see that it still polls."""

from __future__ import annotations

import logging
import random
import sys
import threading
import time
from collections.abc import Callable

from confluent_kafka import KafkaException

logger = logging.getLogger("membership_client")

_KNOCK_AGAIN_S = 5.0
"""An unanswered knock is answered by the next poll, so repeating it is for the case that it got lost."""

_VARIED = (0.75, 1.25)
"""An application may have a rhythm of its own, and a look that keeps it sees always the same moment of it."""

_ENTERING_S = 0.1
"""A knock takes no time, unless it takes the wrong thread for the polling one, and waits until that is outside."""


class Attendant:
    """A daemon thread, started with the first call. `attend` runs on it before each knock.

    `knock` is told as which thread, and `poller` says which one polled last.
    """

    def __init__(
        self,
        knock: Callable[[int], None],
        poller: Callable[[], int],
        attend: Callable[[], None],
        every_s: float,
        name: str,
    ) -> None:
        self._knock = knock
        self._poller = poller
        self._attend = attend
        self._every_s = every_s
        self._called = threading.Event()
        self._knocked_at: float | None = None
        self._stopped = False
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)

    def start(self) -> None:
        """On the application's thread; a second time does nothing."""
        if not self._thread.is_alive() and not self._stopped:
            self._thread.start()

    def call(self) -> None:
        """Something waits for the polling thread. Any thread; never blocks."""
        self._called.set()

    def note_answer(self) -> None:
        """On the polling thread, before it looks at what waits: whatever comes later needs another knock."""
        self._knocked_at = None

    def stop(self) -> None:
        self._stopped = True
        self._called.set()

    def _work(self) -> None:
        while not self._stopped:
            self._called.wait(self._every_s * random.uniform(*_VARIED))  # noqa: S311 - nobody gains by guessing it
            self._called.clear()
            self._attend()
            self._knock_unless_knocked()

    def _knock_unless_knocked(self) -> None:
        now = time.monotonic()
        if self._stopped or (self._knocked_at is not None and now - self._knocked_at < _KNOCK_AGAIN_S):
            return
        self._knocked_at = now
        presumed = self._knock_as(self._poller())
        presumed.join(_ENTERING_S)
        if presumed.is_alive():  # Polling has moved to a thread that we have not seen: it is one of these.
            for thread in sys._current_frames().keys() - {threading.get_ident(), presumed.ident}:
                self._knock_as(thread)

    def _knock_as(self, thread: int) -> threading.Thread:
        knocking = threading.Thread(target=self._try_to_knock, args=(thread,), name="knock", daemon=True)
        knocking.start()
        return knocking

    def _try_to_knock(self, thread: int) -> None:
        try:
            self._knock(thread)
        except KafkaException:
            logger.exception("librdkafka refused what makes it call back; trying again.")
        except RuntimeError:  # The consumer was closed this very moment.
            self._stopped = True
