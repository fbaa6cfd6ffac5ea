"""UNOWNED_PARTITION: partitions that nobody read for a while, although somebody should have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from membership_client.core.events import CallbackKind
from membership_client.debugger.deaths import just_ends
from membership_client.debugger.finding import Evidence, Finding, Kind
from membership_client.debugger.holdings import Holding
from membership_client.debugger.life import Life
from membership_client.debugger.stays import Ending, Stay
from membership_client.debugger.timeline import Group
from membership_client.debugger.words import lasting, partitions_text
from membership_client.types import TopicPartition

_LONG_S = 10.0
_LONG_AWAY_S = 45.0
"""A static member that leaves for a while is meant to keep its partitions meanwhile; so long is a default session."""


@dataclass(frozen=True, slots=True)
class _Void:
    partition: TopicPartition
    before: Life
    held: Holding
    after: Life | None
    taken: Holding | None
    until: float


def unowned_partition(group: Group) -> list[Finding]:
    """One finding for all partitions that shared a fate."""
    voids: dict[tuple[str, str], list[_Void]] = defaultdict(list)
    for void in _voids(group):
        voids[void.before.member_id, void.after.member_id if void.after else ""].append(void)
    return [_finding(group, found) for found in voids.values()]


def _voids(group: Group) -> Iterator[_Void]:
    held: dict[TopicPartition, list[tuple[Life, Holding]]] = defaultdict(list)
    for life in group.lives:
        for holding in life.holdings:
            held[holding.partition].append((life, holding))
    for partition, owners in sorted(held.items()):
        yield from (void for void in _between(group, partition, owners) if _matters(group, void))


def _between(group: Group, partition: TopicPartition, owners: list[tuple[Life, Holding]]) -> Iterator[_Void]:
    owners.sort(key=lambda owner: (owner[1].began.time, owner[0].member_id))
    life, held = owners[0]
    for after, taken in owners[1:]:
        if taken.began.time > held.ended.time:
            yield _Void(partition, life, held, after, taken, taken.began.time)
        if taken.ended.time >= held.ended.time:
            life, held = after, taken
    yield _Void(partition, life, held, None, None, max(life.ended for life in group.lives))


def _matters(group: Group, void: _Void) -> bool:
    stay = _stay(void)
    away = stay is not None and stay.ending is Ending.AWAY
    if void.held.is_open and not _is_dead(group, void):
        return False
    if void.until - void.held.ended.time <= group.skew_s + (_LONG_AWAY_S if away else _LONG_S):
        return False
    died = _is_dead(group, void) or (stay is not None and stay.ending in {Ending.FENCED, Ending.STALE, Ending.FATAL})
    # Given up in peace and taken by nobody: it is with a member that has no trace, or its topic is gone.
    return died if void.after is None else died or _somebody_was_there(group, void)


def _is_dead(group: Group, void: _Void) -> bool:
    return void.held.is_open and just_ends(group, void.before)


def _stay(void: _Void) -> Stay | None:
    at = void.held.ended.at
    return next((stay for stay in reversed(void.before.stays) if stay.first.at <= at), None)


def _somebody_was_there(group: Group, void: _Void) -> bool:
    """A group that was shut down has nobody to blame."""
    began, ended = void.held.ended.time, void.until
    stays = (stay for life in group.lives for stay in life.stays)
    return any(group.clearly_before(stay.first.time, began) and stay.last.time >= ended for stay in stays)


def _finding(group: Group, voids: list[_Void]) -> Finding:
    longest = max(voids, key=lambda void: void.until - void.held.ended.time)
    names = dict.fromkeys([longest.before.name])
    partitions = tuple(sorted({void.partition for void in voids}))
    seconds = lasting(longest.until - longest.held.ended.time)
    nobody = "" if longest.after else ", and has none where the traces end"
    return Finding(
        kind=Kind.UNOWNED_PARTITION,
        group=group.name,
        members=tuple(names),
        partitions=partitions,
        began=longest.held.ended.time,
        ended=longest.until,
        sentence=(
            f"{partitions_text(partitions)} had no owner that the traces know for {seconds}{nobody}: {_why(longest)}."
        ),
        evidence=_evidence(longest),
        advice=(
            "See to the cause. Records wait meanwhile; a shorter session timeout (group.consumer.session.timeout.ms) "
            "bounds how long the group waits for the dead."
        ),
        certainty="likely",
    )


def _why(void: _Void) -> str:
    stay = _stay(void)
    if void.held.is_open:
        return f"{void.before.name} ended without leaving, and the group waited for its session to end"
    if stay is not None and stay.ending in {Ending.FENCED, Ending.FATAL, Ending.STALE, Ending.AWAY}:
        return f"{void.before.name} {stay.ending.value}"
    slow = _slow_assign(void)
    if slow is not None:
        return f"the assigned callback of {slow.name} took its time"
    return f"{void.before.name} had given it up, and why nobody took it is unknown"


def _slow_assign(void: _Void) -> Life | None:
    if void.after is None or void.taken is None:
        return None
    void_s, ended_at = void.until - void.held.ended.time, void.taken.began.at
    assigns = (call for call in void.after.calls if call.kind is CallbackKind.ASSIGNED)
    spent_s = (min(call.last.at, ended_at) - max(call.wanted.at, ended_at - void_s) for call in assigns)
    return void.after if any(seconds > void_s / 2 for seconds in spent_s) else None


def _evidence(void: _Void) -> tuple[Evidence, ...]:
    said = "is the last line of its owner" if void.held.is_open else f"gives up {void.partition}"
    found = void.before.evidence(void.held.ended, said)
    if void.after is None or void.taken is None:
        return (found,)
    return found, void.after.evidence(void.taken.began, f"owns {void.partition}")
