"""Runs whose trace stops without a close while others go on: the process died, or its file was cut off."""

from __future__ import annotations

import weakref

from membership_client.core.member import IN_GROUP
from membership_client.debugger.findings.finding import Evidence
from membership_client.debugger.model.member_run import MemberRun
from membership_client.debugger.model.timeline import Group
from membership_client.debugger.words import lasting
from membership_client.types import MemberState

_ALIVE = IN_GROUP | {MemberState.LEAVING, MemberState.FENCED, MemberState.STALE}


_known: weakref.WeakKeyDictionary[Group, dict[MemberRun, bool]] = weakref.WeakKeyDictionary()
"""Answers given so far: asked again for each partition of a member that had thousands, it took minutes."""


def just_ends(group: Group, run: MemberRun) -> bool:
    """It was not closed, and something shows that it should have gone on."""
    known = _known.setdefault(group, {})
    if run not in known:
        known[run] = _just_ends(group, run)
    return known[run]


def _just_ends(group: Group, run: MemberRun) -> bool:
    if run.saved or run.stop is not None or run.entries[-1].state not in _ALIVE:
        return False
    return run.torn or proof_of_death(group, run) is not None or _others_go_on(group, run)


def proof_of_death(group: Group, run: MemberRun) -> Evidence | None:
    """A line of another run that shows it."""
    return _successor(group, run) or _heir(group, run)


def _others_go_on(group: Group, run: MemberRun) -> bool:
    """By more than it may be silent: an interval, or as long as it waits for an answer."""
    silent_s = run.interval_s + run.start.request_timeout_s
    return group.clearly_before(run.ended + silent_s, group.until)


def _successor(group: Group, run: MemberRun) -> Evidence | None:
    """Another run under its instance id."""
    if run.instance_id is None:
        return None
    later = (other for other in group.runs if other.instance_id == run.instance_id and other is not run)
    found = (other for other in later if group.clearly_before(run.ended, other.ended) and other.began >= run.began)
    other = next(found, None)
    return other.evidence(other.entries[0], f"a new run of {run.name}, {other.where}") if other else None


def _heir(group: Group, run: MemberRun) -> Evidence | None:
    """Another run that got a partition which this one had never given up."""
    mine = {period.partition for period in run.owned_periods if period.is_open}
    for other in group.runs:
        for period in other.owned_periods:
            taken = period.partition in mine and group.clearly_before(run.ended, period.began.time)
            if taken and other is not run:
                after = lasting(period.began.time - run.ended)
                return other.evidence(period.began, f"gets {period.partition}, {after} later")
    return None
