"""REBALANCE_STORM: a member that comes and goes, or changes its mind, and takes the whole group with it."""

from __future__ import annotations

from collections import Counter

from membership_client.core.events import Send
from membership_client.debugger.findings.finding import Finding, Kind
from membership_client.debugger.model.epochs import Trigger, rebalances_of
from membership_client.debugger.model.memberships import Ending, Stay
from membership_client.debugger.model.timeline import Group
from membership_client.debugger.words import lasting, listed

_WINDOW_S = 300.0
_SHORT_S = 60.0
"""Whoever stays for less has hardly come to work."""
_MANY = 4


def rebalance_storm(group: Group) -> list[Finding]:
    churn = sorted(_churn(group), key=lambda trigger: (trigger.moment.time, trigger.life.member_id))
    found: list[list[Trigger]] = []
    for trigger in churn:
        if found and trigger.moment.time - found[-1][-1].moment.time <= _WINDOW_S / _MANY:
            found[-1].append(trigger)
        else:
            found.append([trigger])
    return [_finding(group, storm) for storm in found if len(storm) >= _MANY]


def _churn(group: Group) -> list[Trigger]:
    """Short stays by where they ended, and changes of a subscription."""
    stays = [
        Trigger(
            life, stay.last, f"{life.name} {stay.ending.value}{f' ({stay.reason})' if stay.reason else ''}", sure=True
        )
        for life in group.lives
        for stay in life.stays
        if stay.joined is not None and stay.lasted_s < _SHORT_S and _disturbs(stay)
    ]
    changes = [t for r in rebalances_of(group) for t in r.triggers if t.is_change]
    return stays + changes


def _disturbs(stay: Stay) -> bool:
    """Leaving for a while does not, nor does going without a word, as static members of classic groups do."""
    if stay.ending is Ending.LEFT:
        return bool(stay.last.effects_of(Send))
    return stay.ending not in {Ending.OPEN, Ending.AWAY}


def _finding(group: Group, storm: list[Trigger]) -> Finding:
    counts = Counter(trigger.life.name for trigger in storm)
    began, ended = storm[0].moment.time - _SHORT_S, storm[-1].moment.time
    rounds = sum(began <= rebalance.began <= ended + group.skew_s for rebalance in rebalances_of(group))
    hosts = {trigger.life.host for trigger in storm}
    where = f", all on {hosts.pop()}," if len(hosts) == 1 and len(counts) > 1 else ""
    names = [f"{name} ({count} times)" if count > 1 else name for name, count in counts.most_common()]
    return Finding(
        kind=Kind.REBALANCE_STORM,
        group=group.name,
        members=tuple(name for name, _ in counts.most_common()),
        began=storm[0].moment.time,
        ended=ended,
        sentence=(
            f"{rounds} rebalances around {lasting(ended - storm[0].moment.time)} of coming and going: "
            f"{listed(names)}{where} did not stay."
        ),
        evidence=tuple(trigger.life.evidence(trigger.moment, trigger.text) for trigger in storm[:8]),
        advice="Mend that member first; the others only follow. A group.instance.id makes restarts silent.",
    )
