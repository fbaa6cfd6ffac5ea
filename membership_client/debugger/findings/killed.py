"""KILLED: a trace that ends without a close while others go on."""

from __future__ import annotations

from membership_client.core.member import IN_GROUP
from membership_client.debugger.finding import Evidence, Finding, Kind
from membership_client.debugger.life import Life
from membership_client.debugger.timeline import Group
from membership_client.debugger.words import lasting, partitions_text
from membership_client.types import MemberState

_ALIVE = IN_GROUP | {MemberState.LEAVING, MemberState.FENCED, MemberState.STALE}


def killed(group: Group) -> list[Finding]:
    return [finding for life in group.lives if (finding := _finding(group, life)) is not None]


def _finding(group: Group, life: Life) -> Finding | None:
    last = life.moments[-1]
    if life.stop is not None or last.state not in _ALIVE:
        return None
    proof = [found for found in (_successor(group, life) or _heir(group, life),) if found is not None]
    if not proof and not life.torn and not _others_go_on(group, life):
        return None
    owned = f" It owned {partitions_text(last.owned)}." if last.owned else ""
    return Finding(
        kind=Kind.KILLED,
        group=life.group,
        members=(life.name,),
        partitions=tuple(sorted(last.owned)),
        began=last.time,
        ended=last.time,
        sentence=(
            f"{life.name} ({life.where}) ended without leaving: its trace just stops, and others go on. "
            f"The process was killed, crashed or stands still to this day, or its file was cut off.{owned}"
        ),
        evidence=(life.evidence(last, f"the last line{', torn in the middle' if life.torn else ''}"), *proof),
        advice=(
            "Look for the out-of-memory killer, an eviction or a crash at that time. A static member (group.instance.id) "
            "with group.instance.id.conflict=takeover gets its partitions back at once."
        ),
        certainty="certain" if proof else "likely",
    )


def _others_go_on(group: Group, life: Life) -> bool:
    """By more than it may be silent: an interval, or as long as it waits for an answer."""
    silent_s = life.interval_s + life.start.request_timeout_s
    return group.clearly_before(life.ended + silent_s, group.until)


def _successor(group: Group, life: Life) -> Evidence | None:
    """Another run under its instance id."""
    if life.instance_id is None:
        return None
    later = (other for other in group.lives if other.instance_id == life.instance_id and other is not life)
    found = (other for other in later if group.clearly_before(life.ended, other.ended) and other.began >= life.began)
    other = next(found, None)
    return other.evidence(other.moments[0], f"a new run of {life.name}, {other.where}") if other else None


def _heir(group: Group, life: Life) -> Evidence | None:
    """Somebody who got a partition that this one had never given up."""
    mine = {holding.partition for holding in life.holdings if holding.is_open}
    for other in group.lives:
        for holding in other.holdings:
            taken = holding.partition in mine and group.clearly_before(life.ended, holding.began.time)
            if taken and other is not life:
                after = lasting(holding.began.time - life.ended)
                return other.evidence(holding.began, f"gets {holding.partition}, {after} later")
    return None
