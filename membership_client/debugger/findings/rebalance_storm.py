"""REBALANCE_STORM: a member that joins and leaves, or changes its subscription, again and again."""

from __future__ import annotations

from collections import Counter

from membership_client.core.events import Send
from membership_client.debugger.findings.finding import Finding, Kind
from membership_client.debugger.model.epochs import Trigger, rebalances_of
from membership_client.debugger.model.memberships import Membership, MembershipEnd
from membership_client.debugger.model.timeline import Group
from membership_client.debugger.words import lasting, listed

_WINDOW_S = 300.0
_SHORT_S = 60.0
"""A membership that is shorter counts as a part of a storm."""
_MANY = 4


def rebalance_storm(group: Group) -> list[Finding]:
    churn = sorted(_churn(group), key=lambda trigger: (trigger.entry.time, trigger.run.member_id))
    found: list[list[Trigger]] = []
    for trigger in churn:
        if found and trigger.entry.time - found[-1][-1].entry.time <= _WINDOW_S / _MANY:
            found[-1].append(trigger)
        else:
            found.append([trigger])
    return [_finding(group, storm) for storm in found if len(storm) >= _MANY]


def _churn(group: Group) -> list[Trigger]:
    """Short memberships, by their last entry, and changes of a subscription."""
    memberships = [
        Trigger(
            run,
            membership.last,
            f"{run.name} {membership.ending.value}{f' ({membership.reason})' if membership.reason else ''}",
            sure=True,
        )
        for run in group.runs
        for membership in run.memberships
        if membership.joined is not None and membership.lasted_s < _SHORT_S and _disturbs(membership)
    ]
    changes = [t for r in rebalances_of(group) for t in r.triggers if t.is_change]
    return memberships + changes


def _disturbs(membership: Membership) -> bool:
    """Did its end make the others rebalance? A temporary leave, or an end without LeaveGroup (static classic members), did not."""
    if membership.ending is MembershipEnd.LEFT:
        return bool(membership.last.effects_of(Send))
    return membership.ending not in {MembershipEnd.OPEN, MembershipEnd.AWAY}


def _finding(group: Group, storm: list[Trigger]) -> Finding:
    counts = Counter(trigger.run.name for trigger in storm)
    began, ended = storm[0].entry.time - _SHORT_S, storm[-1].entry.time
    rounds = sum(began <= rebalance.began <= ended + group.skew_s for rebalance in rebalances_of(group))
    hosts = {trigger.run.host for trigger in storm}
    where = f", all on {hosts.pop()}," if len(hosts) == 1 and len(counts) > 1 else ""
    names = [f"{name} ({count} times)" if count > 1 else name for name, count in counts.most_common()]
    return Finding(
        kind=Kind.REBALANCE_STORM,
        group=group.name,
        members=tuple(name for name, _ in counts.most_common()),
        began=storm[0].entry.time,
        ended=ended,
        sentence=(
            f"{rounds} rebalances around {lasting(ended - storm[0].entry.time)} of joins and leaves: "
            f"{listed(names)}{where} did not stay in the group."
        ),
        evidence=tuple(trigger.run.evidence(trigger.entry, trigger.text) for trigger in storm[:8]),
        advice="Mend that member first. A group.instance.id lets it restart without a rebalance.",
    )
