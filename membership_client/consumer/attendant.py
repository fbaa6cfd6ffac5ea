"""Makes the polling thread come by: at once when something waits for it, and every so often to see that it still polls."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from confluent_kafka import KafkaException

logger = logging.getLogger("membership_client")

_KNOCK_AGAIN_S = 5.0
"""An unanswered knock is answered by the next poll, so repeating it is for the case that it got lost."""


class Attendant:
    """A daemon thread, started with the first call. `attend` runs on it before each knock."""

    def __init__(self, knock: Callable[[], None], attend: Callable[[], None], every_s: float, name: str) -> None:
        self._knock = knock
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
            self._called.wait(self._every_s)
            self._called.clear()
            self._attend()
            self._knock_unless_knocked()

    def _knock_unless_knocked(self) -> None:
        now = time.monotonic()
        if self._stopped or (self._knocked_at is not None and now - self._knocked_at < _KNOCK_AGAIN_S):
            return
        self._knocked_at = now
        try:
            self._knock()
        except KafkaException:
            logger.exception("librdkafka refused what makes it call back; trying again.")
        except RuntimeError:  # The consumer was closed this very moment.
            self._stopped = True
