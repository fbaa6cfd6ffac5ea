"""Did a run end without a word while others go on? Its process died, or its file was cut off."""

from __future__ import annotations

import weakref

from membership_client.core.member import IN_GROUP
from membership_client.debugger.findings.finding import Evidence
from membership_client.debugger.model.member_history import Life
from membership_client.debugger.model.timeline import Group
from membership_client.debugger.words import lasting
from membership_client.types import MemberState

_ALIVE = IN_GROUP | {MemberState.LEAVING, MemberState.FENCED, MemberState.STALE}


_known: weakref.WeakKeyDictionary[Group, dict[Life, bool]] = weakref.WeakKeyDictionary()
"""Answers given so far: asked again for each partition of a member that had thousands, it took minutes."""


def just_ends(group: Group, life: Life) -> bool:
    """It was not closed, and something shows that it should have gone on."""
    known = _known.setdefault(group, {})
    if life not in known:
        known[life] = _just_ends(group, life)
    return known[life]


def _just_ends(group: Group, life: Life) -> bool:
    if life.saved or life.stop is not None or life.moments[-1].state not in _ALIVE:
        return False
    return life.torn or proof_of_death(group, life) is not None or _others_go_on(group, life)


def proof_of_death(group: Group, life: Life) -> Evidence | None:
    """Somebody else's line that tells of it."""
    return _successor(group, life) or _heir(group, life)


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
