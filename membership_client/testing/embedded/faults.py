"""What a test does to requests on purpose: refusals, delays and lost answers."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass, field


@dataclass(slots=True)
class Faults:
    """By the name of the request. Not thread-safe."""

    codes: defaultdict[str, deque[int]] = field(default_factory=lambda: defaultdict(deque))
    """What the next requests are refused with."""
    lost: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    """How many of the next answers are lost."""
    delays_s: dict[str, float] = field(default_factory=dict)
    """How long answers are held back."""

    def take_code(self, api: str) -> int:
        """The code that this request is refused with; 0 if it is handled."""
        waiting = self.codes.get(api)
        return waiting.popleft() if waiting else 0

    def take_loss(self, api: str) -> bool:
        """Is the answer to this request lost?"""
        if not self.lost.get(api):
            return False
        self.lost[api] -= 1
        return True
