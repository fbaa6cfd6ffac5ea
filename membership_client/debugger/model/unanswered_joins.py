"""Requests to join a classic group that no answer followed: the coordinator answers when all members have joined."""

from __future__ import annotations

from membership_client.core.events import JoinGroup, Send
from membership_client.debugger.model.epochs import GroupRebalance, rebalances_of
from membership_client.debugger.model.member_run import MemberRun
from membership_client.debugger.model.timeline import Group
from membership_client.debugger.model.trace_entry import TraceEntry


def asked_to_join(group: Group, rebalance: GroupRebalance) -> list[tuple[MemberRun, TraceEntry]]:
    """Members that asked after the epoch before was reached, and whose traces end before an answer: by when they asked."""
    reached = min(arrival.entry.time for arrival in rebalance.arrivals)
    earlier = [one for one in rebalances_of(group) if one.epoch < rebalance.epoch]
    since = min((arrival.entry.time for arrival in earlier[-1].arrivals), default=reached) if earlier else float("-inf")
    found = [(run, asked) for run in group.runs if (asked := _unanswered_join(run)) is not None]
    return sorted(
        ((run, asked) for run, asked in found if since < asked.time <= reached), key=lambda each: each[1].time
    )


def _unanswered_join(run: MemberRun) -> TraceEntry | None:
    """The last request to join of a member that was never let in, or not again."""
    if not run.is_classic or not run.steps or run.steps[-1].epoch > 0:
        return None
    asks = (
        step for step in reversed(run.steps) if any(isinstance(s.request, JoinGroup) for s in step.effects_of(Send))
    )
    asked = next(asks, None)
    if asked is None or any(membership.first.at > asked.at for membership in run.memberships):
        return None
    return asked
