"""REBALANCE and REBALANCE_STORM: what raised the group epoch, which partitions moved, and which members do not stay."""

from __future__ import annotations

from collections import Counter

from membership_client.core.events import Send
from membership_client.debugger.findings.finding import Certainty, Finding, Kind
from membership_client.debugger.model.epochs import GroupRebalance, Trigger, rebalances_of
from membership_client.debugger.model.memberships import Membership, MembershipEnd
from membership_client.debugger.model.timeline import Group
from membership_client.debugger.words import joined, lasting, listed, partitions_text
from membership_client.types import TopicPartition

# --- REBALANCE -------------------------------------------------------------------------------------------------------


_UNKNOWN = (
    "why is unknown: none of the traced members did it, so it was a member without a trace, a change of the topics, or "
    "an administrator"
)


def rebalances(group: Group) -> list[Finding]:
    return [_rebalance_finding(group, rebalance) for rebalance in rebalances_of(group)]


def _rebalance_finding(group: Group, rebalance: GroupRebalance) -> Finding:
    triggers = rebalance.triggers
    names = dict.fromkeys([t.run.name for t in triggers] + [a.run.name for a in rebalance.arrivals])
    moved = sorted({partition for _, partition, _ in (*rebalance.gained, *rebalance.lost)})
    began = min([rebalance.began, *(trigger.entry.time for trigger in triggers)])
    first = rebalance.arrivals[0]
    return Finding(
        kind=Kind.REBALANCE,
        group=group.name,
        members=tuple(names),
        partitions=tuple(moved),
        began=began,
        ended=began + rebalance.lasted_s,
        sentence=f"Epoch {rebalance.epoch}: {_why(rebalance)}; {_moves(rebalance)}{_took(rebalance)}.",
        evidence=(
            *(trigger.run.evidence(trigger.entry, trigger.text) for trigger in triggers),
            first.run.evidence(first.entry, f"reaches epoch {rebalance.epoch}"),
        ),
        advice="Nothing: this is how a group works.",
        certainty=_certainty(rebalance),
    )


def _certainty(rebalance: GroupRebalance) -> Certainty:
    if not rebalance.triggers:
        return "unknown"
    return "certain" if any(trigger.sure for trigger in rebalance.triggers) else "likely"


def _why(rebalance: GroupRebalance) -> str:
    return joined(dict.fromkeys(trigger.text for trigger in rebalance.triggers)) if rebalance.triggers else _UNKNOWN


def _moves(rebalance: GroupRebalance) -> str:
    """The partitions that each member got; of partitions that no traced member got, which member gave them up."""
    gains: dict[str, list[TopicPartition]] = {}
    for run, partition, _ in rebalance.gained:
        gains.setdefault(run.name, []).append(partition)
    got = {partition for _, partition, _ in rebalance.gained}
    losses: dict[str, list[TopicPartition]] = {}
    for run, partition, _ in rebalance.lost:
        if partition not in got:
            losses.setdefault(run.name, []).append(partition)
    said = [f"{name} got {partitions_text(partitions)}" for name, partitions in gains.items()]
    said += [f"{name} gave up {partitions_text(partitions)}" for name, partitions in losses.items()]
    return ", ".join(said) or "no partition moved"


def _took(rebalance: GroupRebalance) -> str:
    return f", within {lasting(rebalance.lasted_s)}" if rebalance.gained or rebalance.lost else ""


# --- REBALANCE_STORM -------------------------------------------------------------------------------------------------


_WINDOW_S = 300.0
_SHORT_S = 60.0
"""A membership that is shorter than this counts as part of a storm."""
_MANY = 4


def rebalance_storm(group: Group) -> list[Finding]:
    churn = sorted(_churn(group), key=lambda trigger: (trigger.entry.time, trigger.run.member_id))
    found: list[list[Trigger]] = []
    for trigger in churn:
        if found and trigger.entry.time - found[-1][-1].entry.time <= _WINDOW_S / _MANY:
            found[-1].append(trigger)
        else:
            found.append([trigger])
    return [_storm_finding(group, storm) for storm in found if len(storm) >= _MANY]


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


def _storm_finding(group: Group, storm: list[Trigger]) -> Finding:
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
