"""Whether two runs of a program agree, but for the differences that are intended."""

from __future__ import annotations

from dataclasses import dataclass

from tests.differential.canonical import agrees
from tests.differential.differences import is_intended
from tests.differential.play import Outcome
from tests.differential.program import Program


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The first call in which they differ: what comes after it follows from it."""

    program: Program
    at: int
    call: str
    ours: object
    theirs: object

    def __str__(self) -> str:
        lines = str(self.program).split("\n")
        marked = [f"{'>' if number == self.at + 1 else ' '}{line}" for number, line in enumerate(lines)]
        return "\n".join([*marked, f"    ours:   {self.ours}", f"    theirs: {self.theirs}"])


def compare(program: Program, ours: Outcome, theirs: Outcome) -> list[Mismatch]:
    """The first mismatch; None if there is none."""
    for at, (step, mine, other) in enumerate(zip(program.steps, ours.calls, theirs.calls, strict=True)):
        if not agrees(mine, other):
            # After an intended difference the two consumers are not in the same situation any more.
            return [] if is_intended(step, mine, other) else [Mismatch(program, at, step.call, mine, other)]
    end = len(program.steps)
    if ours.delivered != theirs.delivered:
        return [Mismatch(program, end, "delivered", ours.delivered, theirs.delivered)]
    if ours.committed != theirs.committed and program.ends_with_commits:
        return [Mismatch(program, end, "committed in the end", ours.committed, theirs.committed)]
    return []
