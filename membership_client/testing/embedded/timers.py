"""Timers: actions that are due at a time."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass

NEVER = float("inf")


@dataclass(slots=True, eq=False)
class Timer:
    """One timer. `cancel()` may be called at any time, also after the action."""

    action: Callable[[float], None] | None

    def cancel(self) -> None:
        self.action = None


class Timers:
    """The timers of a cluster. Not thread-safe: use it under the cluster's lock."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Timer]] = []
        self._count = 0

    def at(self, time: float, action: Callable[[float], None]) -> Timer:
        """Call `action(now)` at that time."""
        self._count += 1
        timer = Timer(action)
        heapq.heappush(self._heap, (time, self._count, timer))
        return timer

    def deadline(self) -> float:
        """When the next action is due; NEVER if there is none."""
        while self._heap and self._heap[0][2].action is None:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else NEVER

    def run(self, now: float) -> None:
        """Call the actions that are due."""
        while self.deadline() <= now:
            _, _, timer = heapq.heappop(self._heap)
            action, timer.action = timer.action, None
            if action is not None:
                action(now)
