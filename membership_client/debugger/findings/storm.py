"""REBALANCE_STORM: members that come and go, again and again, or change their subscriptions."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from membership_client.core.events import Send
from membership_client.debugger.findings.finding import Finding, Kind
from membership_client.debugger.model.epochs import Trigger, rebalances_of
from membership_client.debugger.model.member_run import MemberRun
from membership_client.debugger.model.memberships import Membership, MembershipEnd
from membership_client.debugger.model.timeline import Group, ended_without_close
from membership_client.debugger.words import counted, joined, lasting, listed

_WINDOW_S = 300.0
_SHORT_S = 60.0
"""A membership that is shorter than this counts as part of a storm."""
_MANY = 4


@dataclass(frozen=True, slots=True)
class _Churn:
    """The end of a short membership, or a change of a subscription."""

    trigger: Trigger
    joined: float
    """When the membership began; of a change, when it was made."""

    @property
    def time(self) -> float:
        return self.trigger.entry.time


def rebalance_storm(group: Group) -> list[Finding]:
    churn = sorted(_churn(group), key=lambda each: (each.time, each.trigger.run.member_id))
    found: list[list[_Churn]] = []
    for each in churn:
        if found and each.time - found[-1][-1].time <= _WINDOW_S / _MANY:
            found[-1].append(each)
        else:
            found.append([each])
    storms = ([each.trigger for each in _repeated(storm)] for storm in found)
    return [_storm_finding(group, storm) for storm in storms if len(storm) >= _MANY]


def _churn(group: Group) -> list[_Churn]:
    """Short memberships, by their last entry, and changes of a subscription."""
    memberships = [
        _Churn(Trigger(run, membership.last, _ended_text(run, membership), sure=True), membership.first.time)
        for run in group.runs
        for membership in run.memberships
        if membership.joined is not None and membership.lasted_s < _SHORT_S and _disturbs(group, run, membership)
    ]
    changes = [t for r in rebalances_of(group) for t in r.triggers if t.is_change]
    return memberships + [_Churn(change, change.entry.time) for change in changes]


def _ended_text(run: MemberRun, membership: Membership) -> str:
    if membership.ending is MembershipEnd.OPEN:
        return f"{run.name} ended without leaving"
    return f"{run.name} {membership.ending.value}{f' ({membership.reason})' if membership.reason else ''}"


def _disturbs(group: Group, run: MemberRun, membership: Membership) -> bool:
    """Did its end make the others rebalance? A temporary leave, or an end without LeaveGroup (static classic members), did not."""
    if membership.ending is MembershipEnd.LEFT:
        return bool(membership.last.effects_of(Send))
    if membership.ending is MembershipEnd.OPEN:
        # The next process with that instance id takes its place.
        return run.instance_id is None and ended_without_close(group, run)
    return membership.ending is not MembershipEnd.AWAY


def _repeated(churn: list[_Churn]) -> list[_Churn]:
    """Members that come after others have gone, and go again, and so on; and subscriptions that one member changes again.

    A rolling restart is none of this: each member goes once, and so does its replacement when the group is shut down. Nor
    is a new version that changes the subscription of each member.
    """
    ends = [each for each in churn if not each.trigger.is_change]
    earlier = rounds_of([(each.joined, each.time) for each in ends])
    later = rounds_of([(-each.time, -each.joined) for each in ends])
    repeated = {
        id(each) for each, before, after in zip(ends, earlier, later, strict=True) if before + after - 1 >= _MANY
    }
    changes = Counter(each.trigger.run for each in churn if each.trigger.is_change)
    flapping = max(changes.values(), default=0) > 1
    return [each for each in churn if id(each) in repeated or (flapping and each.trigger.is_change)]


def rounds_of(spans: Sequence[tuple[float, float]]) -> list[int]:
    """For each span of time, the most spans up to it of which each began after the one before had ended."""
    order = sorted(range(len(spans)), key=lambda number: spans[number][1])
    ends = [spans[number][1] for number in order]
    rounds, most = [0] * len(spans), [0]
    for place, number in enumerate(order):
        rounds[number] = 1 + most[min(place, bisect_right(ends, spans[number][0]))]
        most.append(max(most[-1], rounds[number]))
    return rounds


def _storm_finding(group: Group, storm: list[Trigger]) -> Finding:
    counts = Counter(trigger.run.name for trigger in storm)
    began, ended = storm[0].entry.time - _SHORT_S, storm[-1].entry.time
    rounds = sum(began <= rebalance.began <= ended + group.skew_s for rebalance in rebalances_of(group))
    hosts = {trigger.run.host for trigger in storm}
    where = f", all on {hosts.pop()}" if len(hosts) == 1 and len(counts) > 1 else ""
    changes = Counter(trigger.run.name for trigger in storm if trigger.is_change)
    lasted = lasting(ended - storm[0].entry.time)
    did = [(counts - changes, "did not stay in the group"), (changes, "changed subscriptions")]
    return Finding(
        kind=Kind.REBALANCE_STORM,
        group=group.name,
        members=tuple(name for name, _ in counts.most_common()),
        began=storm[0].entry.time,
        ended=ended,
        brief=f"{_did(did, _FEW)}: {counted(rounds, 'rebalance')} around {lasted}",
        sentence=(
            f"{counted(rounds, 'rebalance')} around {lasted} of joins, leaves and changed subscriptions: "
            f"{_did(did, len(counts))}{where}."
        ),
        evidence=tuple(trigger.run.evidence(trigger.entry, trigger.text) for trigger in storm[:8]),
        advice="Mend that member first. A group.instance.id lets it restart without a rebalance.",
    )


_FEW = 2
"""Members that the first line names."""


def _did(clauses: list[tuple[Counter[str], str]], most: int) -> str:
    """What which members did, of each clause `most` names."""
    return joined(f"{_named(counts, most)} {what}" for counts, what in clauses if counts)


def _named(counts: Counter[str], most: int) -> str:
    names = [f"{name} ({count} times)" if count > 1 else name for name, count in counts.most_common()]
    if len(names) <= most + 1:
        return listed(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"
