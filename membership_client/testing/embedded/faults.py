"""Faults that a test injects: refused requests, delayed and lost answers."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field


@dataclass(slots=True)
class Faults:
    """The faults, by the name of the request. Not thread-safe."""

    codes: defaultdict[str, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    """Error codes for the next requests, each with the number of requests that get it."""
    lost: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    """How many of the next answers get lost."""
    delays_s: dict[str, float] = field(default_factory=dict)
    """Seconds by which answers are delayed."""

    def take_code(self, api: str) -> int:
        """The error code with which this request is refused; 0 if it is handled. Counts the request."""
        waiting = self.codes.get(api)
        if not waiting:
            return 0
        code, times = waiting[0]
        waiting[:1] = [(code, times - 1)] if times > 1 else []
        return code

    def take_loss(self, api: str) -> bool:
        """Whether the answer to this request gets lost. Counts the request."""
        if not self.lost.get(api):
            return False
        self.lost[api] -= 1
        return True
