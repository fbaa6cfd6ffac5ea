"""How long the application waits inside poll(), and how long it works between two calls."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from membership_client.values import dataclass


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds that the application waited inside poll(), and those outside."""

    idle_s: float = 0.0
    busy_s: float = 0.0


class PollTime:
    """Waits for records are made inside `with`; all other time counts as work. Any thread may use it.

    Records that were read ahead are handed out within a microsecond, so only waits need to be measured. If several threads
    poll, the application is idle while one of them waits.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.RLock()
        self._began_at: float | None = None
        self._idle_s = 0.0
        self._waiting = 0
        self._waiting_since = 0.0

    def __enter__(self) -> None:
        now = self._clock()
        with self._lock:
            if self._began_at is None:
                self._began_at = now
            if not self._waiting:
                self._waiting_since = now
            self._waiting += 1

    def __exit__(self, *_: object) -> None:
        now = self._clock()
        with self._lock:
            self._waiting -= 1
            if not self._waiting:
                self._idle_s += now - self._waiting_since

    def spent(self) -> Spent:
        """The times since the first wait."""
        now = self._clock()
        with self._lock:
            if self._began_at is None:
                return Spent()
            idle_s = self._idle_s + (now - self._waiting_since if self._waiting else 0.0)
            return Spent(idle_s, now - self._began_at - idle_s)
