"""Whether members without a trace were in the group: then nothing is known of partitions that no traced member owns."""

from __future__ import annotations

import functools

from membership_client.core.events import Answered, GroupJoined
from membership_client.debugger.model.epochs import rebalances_of
from membership_client.debugger.model.timeline import Group

UNTRACED = "Members without a trace may have been in the group: what they owned looks as if it had no owner."


@functools.lru_cache(maxsize=1)
def has_untraced_members(group: Group) -> bool:
    """A classic leader is told of all members. Under KIP-848 an epoch without a reason in the traces is the only sign."""
    traced = frozenset[str]().union(*(run.ids for run in group.runs))
    answers = (step.event.response for run in group.runs for step in run.steps if isinstance(step.event, Answered))
    known = {member.member_id for answer in answers if isinstance(answer, GroupJoined) for member in answer.members}
    return bool(known - traced) or any(not rebalance.triggers for rebalance in rebalances_of(group))
