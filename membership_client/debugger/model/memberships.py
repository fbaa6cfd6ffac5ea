"""When a member was in its group, and how each of those times ended."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from membership_client.core import reasons
from membership_client.core.error_codes import code_name
from membership_client.core.events import Answered, Close, Heartbeat, LeaveGroup, Refused, Send, Unsubscribe
from membership_client.debugger.model.history_step import Moment
from membership_client.types import MemberState

S = MemberState


class Ending(enum.Enum):
    OPEN = "is still in the group where its trace ends"
    LEFT = "left"
    AWAY = "left for a while"
    FENCED = "was thrown out"
    STALE = "left because it did not poll"
    FATAL = "ended by an error"


LOST = frozenset({Ending.FENCED, Ending.STALE, Ending.FATAL})
"""It did not give up what it owned, but had to let it go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stay:
    joined: Moment | None
    """None if it was in the group already when the trace began."""
    first: Moment
    last: Moment
    """The farewell, the fence, or the last moment there is."""
    epochs: tuple[tuple[int, Moment], ...]
    """Each epoch it reached, and when."""
    ending: Ending = Ending.OPEN
    reason: str = ""
    """What it told the coordinator, or was told."""

    @property
    def lasted_s(self) -> float:
        return self.last.at - self.first.at

    @property
    def last_epoch(self) -> int:
        return self.epochs[-1][0] if self.epochs else 0


def stays_of(steps: Sequence[Moment], member_id: str) -> tuple[Stay, ...]:
    found: list[Stay] = []
    stretch: list[Moment] = []
    for step in steps:
        if step.epoch > 0 or step.epoch_before > 0:
            stretch.append(step)
        if step.epoch == 0 and stretch:
            found.append(_stay(stretch, member_id))
            stretch = []
    if stretch:
        found.append(_stay(stretch, member_id))
    return tuple(found)


def _stay(stretch: list[Moment], member_id: str) -> Stay:
    first = stretch[0]
    epochs = {step.epoch: step for step in reversed(stretch) if step.epoch > 0}
    last, ending, reason = _ending(stretch, member_id)
    return Stay(
        joined=first if first.epoch_before == 0 else None,
        first=first,
        last=last,
        epochs=tuple(sorted(epochs.items(), key=lambda reached: reached[0])),
        ending=ending,
        reason=reason,
    )


def _ending(stretch: list[Moment], member_id: str) -> tuple[Moment, Ending, str]:
    last = stretch[-1]
    if (fence := refusal_of(last)) is not None and last.epoch == 0:
        ending = Ending.FATAL if last.state is S.FATAL else Ending.FENCED
        return last, ending, fence
    if last.state is S.FENCED:
        return last, Ending.FENCED, last.cause or ""
    if last.state is S.STALE or (last.cause or "").startswith("poll interval"):
        return last, Ending.STALE, "the poll interval was exceeded"
    if (farewell := _farewell(stretch, member_id)) is not None:
        return farewell
    if last.epoch > 0:
        return last, Ending.FATAL if last.state is S.FATAL else Ending.OPEN, ""
    return last, Ending.LEFT, _wish(stretch)


def refusal_of(moment: Moment) -> str | None:
    """What the coordinator said, if it refused something at that moment."""
    event = moment.event
    if not isinstance(event, Answered) or not isinstance(event.response, Refused):
        return None
    name = code_name(event.response.code)
    return f"{name}: {event.response.message}" if event.response.message else name


def _farewell(stretch: list[Moment], member_id: str) -> tuple[Moment, Ending, str] | None:
    for step in reversed(stretch):
        for send in step.effects_of(Send):
            request = send.request
            if isinstance(request, LeaveGroup):
                return step, _ended_by(step, Ending.LEFT), request.reason or _wish(stretch)
            if isinstance(request, Heartbeat) and request.epoch < 0 and request.member_id == member_id:
                ending = Ending.AWAY if request.epoch < -1 else Ending.LEFT
                return step, _ended_by(step, ending), _wish(stretch)
    return None


def _ended_by(farewell: Moment, ending: Ending) -> Ending:
    """A member that an error has ended says farewell too, but it did not give its partitions back."""
    return Ending.FATAL if farewell.state is S.FATAL else ending


def _wish(stretch: list[Moment]) -> str:
    """Why the application wanted to go."""
    wishes = (step.event for step in reversed(stretch) if isinstance(step.event, Close | Unsubscribe))
    return next((wish.reason or reasons.CLOSED for wish in wishes), "")
