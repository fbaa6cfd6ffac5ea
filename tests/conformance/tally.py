"""How much was compared."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from tests.conformance.play import Run


@dataclass
class Tally:
    scripts: int = 0
    answers: int = 0
    known: Counter[str] = field(default_factory=Counter)
    """How often each listed difference was met."""

    def count(self, run: Run) -> None:
        self.scripts += 1
        self.answers += len(run.exchanges)
        self.known.update(difference.name for difference in run.known)

    def __str__(self) -> str:
        met = "".join(f", {times} times {name}" for name, times in self.known.items())
        return f"played {self.scripts} scripts on the fake and on Kafka: {self.answers} answers compared{met}"
