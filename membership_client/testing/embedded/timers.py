"""What is to happen later, by time."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass

NEVER = float("inf")


@dataclass(slots=True, eq=False)
class Timer:
    """`cancel()` may be called at any time, also after the action."""

    action: Callable[[float], None] | None

    def cancel(self) -> None:
        self.action = None


class Timers:
    """Not thread-safe: of the cluster's lock."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Timer]] = []
        self._count = 0

    def at(self, time: float, action: Callable[[float], None]) -> Timer:
        """Have `action(now)` called when that time has come."""
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
        """Perform what is due."""
        while self.deadline() <= now:
            _, _, timer = heapq.heappop(self._heap)
            action, timer.action = timer.action, None
            if action is not None:
                action(now)
