"""REBALANCE: what caused it, which partitions moved, and how long it took."""

from __future__ import annotations

from membership_client.debugger.findings.finding import Certainty, Finding, Kind
from membership_client.debugger.model.epochs import GroupRebalance, rebalances_of
from membership_client.debugger.model.timeline import Group
from membership_client.debugger.words import joined, lasting, partitions_text
from membership_client.types import TopicPartition

_UNKNOWN = (
    "why is unknown: none of the traced members did it, so it was a member without a trace, a change of the topics, or "
    "an administrator"
)


def rebalances(group: Group) -> list[Finding]:
    return [_finding(group, rebalance) for rebalance in rebalances_of(group)]


def _finding(group: Group, rebalance: GroupRebalance) -> Finding:
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
