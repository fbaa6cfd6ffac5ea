"""The summary: facts and expectations of a whole run, and their plain text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from membership_client.demo.events import StepKind
from membership_client.demo.facts import Facts, facts_of
from membership_client.demo.kit import numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from membership_client.demo.events import DemoEvent


@dataclass(frozen=True, slots=True)
class Summary:
    """The summary of a run, computed from the recording alone."""

    steps: tuple[tuple[Facts, tuple[Check, ...]], ...]
    missing: int
    """The number of steps that were not reached."""
    events: int

    @property
    def failures(self) -> int:
        return self.missing + sum(not check.met for _, checks in self.steps for check in checks)

    @property
    def as_expected(self) -> bool:
        return bool(self.steps) and self.failures == 0


def summarize(events: Sequence[DemoEvent]) -> Summary:
    facts = facts_of(events)
    planned = max((f.step.of for f in facts), default=0)
    return Summary(
        steps=tuple((f, tuple(checks_of(f))) for f in facts),
        missing=planned - len(facts),
        events=len(events),
    )


def verdict(summary: Summary) -> str:
    """The last line of the summary."""
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
    lines = ["", f"SUMMARY, computed from {summary.events} recorded events"]
    for facts, checks in summary.steps:
        lines += _step_lines(facts, checks)
    return [*lines, "", verdict(summary)]


def _step_lines(facts: Facts, checks: Sequence[Check]) -> list[str]:
    step = facts.step
    raised = facts.epoch_after - facts.epoch_before
    return [
        f"step {step.number}/{step.of}: {step.title} ({facts.seconds:.1f} s)",
        f"    moved: {moves_text(facts)}",
        f"    without an owner: {ownerless_text(facts)}",
        f"    group epoch: {facts.epoch_before} -> {facts.epoch_after} (raised by {raised})",
        f"    callbacks: {sum(facts.callbacks.values())}, of other members: {facts.others_callbacks}",
        f"    rebalances seen by other members: {facts.others_rebalances}",
        *(f"    {'ok' if check.met else 'NOT AS EXPECTED'}: {check.text}" for check in checks),
    ]


# --- expectations ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Check:
    """One expectation: whether it was met, and a sentence that is true either way."""

    met: bool
    text: str


def checks_of(facts: Facts) -> list[Check]:
    """All expectations of a step, checked."""
    return [check for rule in (*_ALWAYS, *_RULES[facts.step.kind]) for check in rule(facts)]


Rule = Callable[["Facts"], Iterator[Check]]


def _settles(facts: Facts) -> Iterator[Check]:
    if not facts.settled:
        yield Check(met=False, text=f"the group did not settle within {facts.seconds:.1f} s")


def _one_owner(facts: Facts) -> Iterator[Check]:
    shared = f"two members owned the same partition at once: {numbers(facts.shared)}"
    yield Check(not facts.shared, shared if facts.shared else "no partition ever had two owners")


def _all_owned(facts: Facts) -> Iterator[Check]:
    missing = [p for p in range(facts.partitions) if p not in facts.owners_after]
    none = f"without an owner at the end: {numbers(missing)}"
    yield Check(not missing, none if missing else f"all {facts.partitions} partitions are owned at the end")


def _shares(facts: Facts) -> Iterator[Check]:
    for name in facts.step.members:
        share = _share(facts.owners_after, name)
        yield Check(bool(share), f"{name} owns {numbers(share)}")


def _moves_little(facts: Facts) -> Iterator[Check]:
    needless = {p: pair for p, pair in facts.moved.items() if pair[1] not in facts.step.members}
    moved = numbers(facts.moved)
    text = f"moved between members that stayed: {numbers(needless)}" if needless else f"only {moved} moved"
    yield Check(not needless, text)


def _same_partitions(facts: Facts) -> Iterator[Check]:
    for name in facts.step.members:
        before, after = _share(facts.owners_before, name), _share(facts.owners_after, name)
        if before == after and after:
            yield Check(met=True, text=f"{name} owns {numbers(after)} again, {_recovery(facts, name)}")
        else:
            yield Check(met=False, text=f"{name} owned {numbers(before)}, now {numbers(after)}")


def _share(owners: Mapping[int, str], name: str) -> list[int]:
    return [partition for partition, owner in owners.items() if owner == name]


def _recovery(facts: Facts, name: str) -> str:
    seconds = facts.recovered_s.get(name)
    return "though it was never assigned" if seconds is None else f"{seconds:.2f} s after its new process started"


def _new_process(facts: Facts) -> Iterator[Check]:
    for name in facts.step.members:
        pids = facts.pids.get(name, ())
        yield Check(len(pids) == 1, f"{name} is a new process: {numbers(pids)}")


def _epoch_stays(facts: Facts) -> Iterator[Check]:
    before, after = facts.epoch_before, facts.epoch_after
    same = f"the group epoch stayed {after}"
    yield Check(before == after, same if before == after else f"the group epoch rose from {before} to {after}")


def _others_unaffected(facts: Facts) -> Iterator[Check]:
    callbacks, rebalances = facts.others_callbacks, facts.others_rebalances
    yield Check(callbacks == rebalances == 0, f"the others ran {callbacks} callbacks and saw {rebalances} rebalances")


def _clean_leaves(facts: Facts) -> Iterator[Check]:
    for name in facts.step.members:
        closed = [c for c in facts.closed if c.name == name]
        how = f"left: {closed[-1].outcome}" if closed else "did not report that it left"
        yield Check(bool(closed) and closed[-1].clean, f"{name} {how}")


def _nothing_left(facts: Facts) -> Iterator[Check]:
    yield Check(not facts.owners_after, f"partitions that are still owned: {numbers(facts.owners_after)}")
    if facts.members_left is not None:
        yield Check(facts.members_left == 0, f"the coordinator counts {facts.members_left} members")


def _reasons_heard(facts: Facts) -> Iterator[Check]:
    if facts.reasons_logged is not None:
        given = {closed.reason for closed in facts.closed}
        heard = given & set(facts.reasons_logged)
        yield Check(heard == given, f"the broker's log has {len(heard)} of {len(given)} reasons for leaving")


_ALWAYS: tuple[Rule, ...] = (_settles, _one_owner)
_UNNOTICED: tuple[Rule, ...] = (_all_owned, _new_process, _same_partitions, _epoch_stays, _others_unaffected)
_RULES: dict[StepKind, tuple[Rule, ...]] = {
    StepKind.JOIN: (_all_owned, _shares),
    StepKind.LATE: (_all_owned, _shares, _moves_little),
    StepKind.RESTART: _UNNOTICED,
    StepKind.TAKEOVER: _UNNOTICED,
    StepKind.LEAVE: (_clean_leaves, _nothing_left, _reasons_heard),
}
