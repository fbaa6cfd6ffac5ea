"""The memberships of one run, each with its end, and the periods in which the run owned a partition."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from membership_client.core import reasons
from membership_client.core.error_codes import code_name
from membership_client.core.events import Answered, Close, Heartbeat, LeaveGroup, Refused, Send, Unsubscribe
from membership_client.debugger.model.trace_entry import TraceEntry
from membership_client.types import MemberState, TopicPartition

S = MemberState


class MembershipEnd(enum.Enum):
    OPEN = "is still in the group where its trace ends"
    LEFT = "left"
    AWAY = "left for a while"
    FENCED = "was fenced"
    STALE = "left because it did not poll"
    FATAL = "ended by an error"


LOST = frozenset({MembershipEnd.FENCED, MembershipEnd.STALE, MembershipEnd.FATAL})
"""Ends after which the member lost its partitions without a revoked callback."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    joined: TraceEntry | None
    """None if it was in the group already when the trace began."""
    first: TraceEntry
    last: TraceEntry
    """The request to leave, the fence, or the last entry of the trace."""
    epochs: tuple[tuple[int, TraceEntry], ...]
    """Each epoch it reached, and when."""
    ending: MembershipEnd = MembershipEnd.OPEN
    reason: str = ""
    """What it told the coordinator, or was told."""

    @property
    def lasted_s(self) -> float:
        return self.last.at - self.first.at

    @property
    def last_epoch(self) -> int:
        return self.epochs[-1][0] if self.epochs else 0


def memberships_of(steps: Sequence[TraceEntry], member_id: str) -> tuple[Membership, ...]:
    found: list[Membership] = []
    stretch: list[TraceEntry] = []
    for step in steps:
        if step.epoch > 0 or step.epoch_before > 0:
            stretch.append(step)
        if step.epoch == 0 and stretch:
            found.append(_membership(stretch, member_id))
            stretch = []
    if stretch:
        found.append(_membership(stretch, member_id))
    return tuple(found)


def _membership(stretch: list[TraceEntry], member_id: str) -> Membership:
    first = stretch[0]
    epochs = {step.epoch: step for step in reversed(stretch) if step.epoch > 0}
    last, ending, reason = _ending(stretch, member_id)
    return Membership(
        joined=first if first.epoch_before == 0 else None,
        first=first,
        last=last,
        epochs=tuple(sorted(epochs.items(), key=lambda reached: reached[0])),
        ending=ending,
        reason=reason,
    )


def _ending(stretch: list[TraceEntry], member_id: str) -> tuple[TraceEntry, MembershipEnd, str]:
    last = stretch[-1]
    if (fence := refusal_of(last)) is not None and last.epoch == 0:
        ending = MembershipEnd.FATAL if last.state is S.FATAL else MembershipEnd.FENCED
        return last, ending, fence
    if last.state is S.FENCED:
        return last, MembershipEnd.FENCED, (last.cause or "").removeprefix("fenced: ")
    if last.state is S.STALE or (last.cause or "").startswith("poll interval"):
        return last, MembershipEnd.STALE, "the poll interval was exceeded"
    if (leave := _leave_request(stretch, member_id)) is not None:
        return leave
    if last.epoch > 0:
        return last, MembershipEnd.FATAL if last.state is S.FATAL else MembershipEnd.OPEN, ""
    return last, MembershipEnd.LEFT, _given_reason(stretch)


def refusal_of(entry: TraceEntry) -> str | None:
    """The error of the coordinator's answer in that entry, if it is one."""
    event = entry.event
    if not isinstance(event, Answered) or not isinstance(event.response, Refused):
        return None
    name = code_name(event.response.code)
    return f"{name}: {event.response.message}" if event.response.message else name


def _leave_request(stretch: list[TraceEntry], member_id: str) -> tuple[TraceEntry, MembershipEnd, str] | None:
    for step in reversed(stretch):
        for send in step.effects_of(Send):
            request = send.request
            if isinstance(request, LeaveGroup):
                return step, _ended_by(step, MembershipEnd.LEFT), request.reason or _given_reason(stretch)
            if isinstance(request, Heartbeat) and request.epoch < 0 and request.member_id == member_id:
                ending = MembershipEnd.AWAY if request.epoch < -1 else MembershipEnd.LEFT
                return step, _ended_by(step, ending), _given_reason(stretch)
    return None


def _ended_by(leave: TraceEntry, ending: MembershipEnd) -> MembershipEnd:
    """A member that an error has ended leaves, too, but it did not give its partitions back."""
    return MembershipEnd.FATAL if leave.state is S.FATAL else ending


def _given_reason(stretch: list[TraceEntry]) -> str:
    """The reason that the application gave for the close or unsubscribe."""
    wishes = (step.event for step in reversed(stretch) if isinstance(step.event, Close | Unsubscribe))
    return next((wish.reason or reasons.CLOSED for wish in wishes), "")


# --- owned periods ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnedPeriod:
    """From the return of the assigned callback to the return of the one that took it away."""

    partition: TopicPartition
    began: TraceEntry
    """Or the first entry of the trace, if it was owned then."""
    ended: TraceEntry
    """Or the last entry of the trace, if it was still owned then."""
    is_open: bool
    """Nothing says that it ended."""


def owned_periods_of(steps: Sequence[TraceEntry], entries: Sequence[TraceEntry]) -> tuple[OwnedPeriod, ...]:
    """In the order they ended."""
    if not steps:
        return ()
    since = dict.fromkeys(sorted(steps[0].owned_before), entries[0])
    found: list[OwnedPeriod] = []
    for step in steps:
        gone = sorted(set(since) - step.owned)
        found += [OwnedPeriod(partition=p, began=since.pop(p), ended=step, is_open=False) for p in gone]
        since |= dict.fromkeys(sorted(step.owned - set(since)), step)
    found += [OwnedPeriod(partition=p, began=began, ended=entries[-1], is_open=True) for p, began in since.items()]
    return tuple(found)
