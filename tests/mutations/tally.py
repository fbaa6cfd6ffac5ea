"""Counts verdicts per package, says how far it is, and compares the shares with the goals."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.mutations.mutants import Mutant
from tests.mutations.packages import PACKAGES, Package
from tests.mutations.verdicts import CAUGHT, SURVIVED, TIMED_OUT, Verdict

NEWS_S = 15.0


def say(*lines: str) -> None:
    for line in lines:
        print(line, flush=True)  # noqa: T201 - that is what the program is for


def shown(mutant: Mutant) -> str:
    """Where it is, and what it changes."""
    nth = f" (number {mutant.nth})" if mutant.nth else ""
    return f"{mutant.file}:{mutant.line} {mutant.function}{nth}\n  - {mutant.before}\n  + {mutant.after}"


@dataclass
class Tally:
    """What was found so far."""

    total: int
    equivalents: list[Mutant]
    survivors: Path | None = None
    verdicts: list[Verdict] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)
    said_at: float = 0.0

    def add(self, verdict: Verdict) -> None:
        """Says every now and then how far it is; a survivor is written to its file at once."""
        self.verdicts.append(verdict)
        if self.survivors and verdict.outcome == SURVIVED:
            with self.survivors.open("a") as file:
                file.write(f"{shown(verdict.mutant)}\n")
        if time.monotonic() - self.said_at > NEWS_S:
            self.said_at = time.monotonic()
            left = sum(verdict.outcome == SURVIVED for verdict in self.verdicts)
            at = f"{verdict.mutant.file}:{verdict.mutant.line}"
            say(f"{self.took_s():5.0f} s: {len(self.verdicts)} of {self.total}, {left} survived; {at}")

    def took_s(self) -> float:
        return time.monotonic() - self.began

    def table(self) -> list[str]:
        lines = [
            f"{'':22}{'mutants':>9}{'caught':>9}{'timed out':>11}{'survived':>10}{'equivalent':>12}{'share':>9}{'goal':>7}"
        ]
        for package in PACKAGES:
            caught, late, left = (self._count(package, outcome) for outcome in (CAUGHT, TIMED_OUT, SURVIVED))
            same = sum(package.has(mutant.file) for mutant in self.equivalents)
            if total := caught + late + left:
                counts = f"{total + same:9}{caught:9}{late:11}{left:10}{same:12}"
                lines.append(f"{package.name:22}{counts}{self._share(package):9.1%}{package.goal:7.0%}")
        return lines

    def missed(self) -> list[Package]:
        """Packages below their goals."""
        return [package for package in PACKAGES if self._of(package) and self._share(package) < package.goal]

    def _of(self, package: Package) -> list[Verdict]:
        return [verdict for verdict in self.verdicts if package.has(verdict.mutant.file)]

    def _count(self, package: Package, outcome: str) -> int:
        return sum(verdict.outcome == outcome for verdict in self._of(package))

    def _share(self, package: Package) -> float:
        judged = self._of(package)
        return sum(verdict.outcome != SURVIVED for verdict in judged) / len(judged)
