"""What a test does to requests on purpose: refusals, delays and lost answers."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field


@dataclass(slots=True)
class Faults:
    """By the name of the request. Not thread-safe."""

    codes: defaultdict[str, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    """Error codes of the next refusals, each with the number of requests that it is for: `times` may be any number."""
    lost: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    """How many of the next answers are lost."""
    delays_s: dict[str, float] = field(default_factory=dict)
    """How long answers are held back."""

    def take_code(self, api: str) -> int:
        """The code that this request is refused with; 0 if it is handled."""
        waiting = self.codes.get(api)
        if not waiting:
            return 0
        code, times = waiting[0]
        waiting[:1] = [(code, times - 1)] if times > 1 else []
        return code

    def take_loss(self, api: str) -> bool:
        """Is the answer to this request lost?"""
        if not self.lost.get(api):
            return False
        self.lost[api] -= 1
        return True
