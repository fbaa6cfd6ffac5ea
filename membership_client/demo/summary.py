"""The summary: facts and expectations of a whole run, and their plain text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from membership_client.demo.expectations import Check, checks_of
from membership_client.demo.facts import Facts, facts_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from membership_client.demo.happenings import Happening


@dataclass(frozen=True, slots=True)
class Summary:
    """Computed from the recording and from nothing else."""

    steps: tuple[tuple[Facts, tuple[Check, ...]], ...]
    missing: int
    """Steps that were not reached."""
    happenings: int

    @property
    def failures(self) -> int:
        return self.missing + sum(not check.met for _, checks in self.steps for check in checks)

    @property
    def as_expected(self) -> bool:
        return bool(self.steps) and self.failures == 0


def summarize(happenings: Sequence[Happening]) -> Summary:
    facts = facts_of(happenings)
    planned = max((f.step.of for f in facts), default=0)
    return Summary(
        steps=tuple((f, tuple(checks_of(f))) for f in facts),
        missing=planned - len(facts),
        happenings=len(happenings),
    )


def verdict(summary: Summary) -> str:
    """The last word."""
    if summary.as_expected:
        count = sum(len(checks) for _, checks in summary.steps)
        return f"All {count} expectations were met."
    missing = f" {summary.missing} steps were not reached." if summary.missing else ""
    unmet = summary.failures - summary.missing
    return f"NOT AS EXPECTED: {unmet} expectations were not met.{missing}"


def moves_text(facts: Facts) -> str:
    return ", ".join(f"{p} {before} -> {after}" for p, (before, after) in facts.moved.items()) or "none"


def ownerless_text(facts: Facts) -> str:
    return ", ".join(f"{p} for {seconds:.2f} s" for p, seconds in facts.ownerless_s.items()) or "none"


def plain_lines(summary: Summary) -> list[str]:
    """The summary for pipes and logs."""
    lines = ["", f"SUMMARY, computed from {summary.happenings} recorded happenings"]
    for facts, checks in summary.steps:
        lines += _step_lines(facts, checks)
    return [*lines, "", verdict(summary)]


def _step_lines(facts: Facts, checks: Sequence[Check]) -> list[str]:
    step = facts.step
    burnt = facts.epoch_after - facts.epoch_before
    return [
        f"step {step.number}/{step.of}: {step.title} ({facts.seconds:.1f} s)",
        f"    moved: {moves_text(facts)}",
        f"    without an owner: {ownerless_text(facts)}",
        f"    group epoch: {facts.epoch_before} -> {facts.epoch_after} ({burnt} burnt)",
        f"    callbacks: {sum(facts.callbacks.values())}, of bystanders: {facts.bystander_callbacks}",
        f"    rebalances seen by bystanders: {facts.bystander_rebalances}",
        *(f"    {'ok' if check.met else 'NOT AS EXPECTED'}: {check.text}" for check in checks),
    ]
