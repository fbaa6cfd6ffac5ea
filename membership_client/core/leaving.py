"""Leaving: give the partitions back, tell the coordinator, and stop when asked to."""

from __future__ import annotations

from membership_client.core import consumer_protocol, policy, reasons
from membership_client.core.backoff import ASAP
from membership_client.core.classic import protocol
from membership_client.core.error_codes import code_name
from membership_client.core.events import Failed, FailureKind, Heartbeat, LeaveGroup, Refused, Response, Stop
from membership_client.core.member import IN_GROUP, Departure, InFlight, Member, Transition, move
from membership_client.core.policy import Reaction
from membership_client.core.requests import forget_coordinator, send, slow_down, unanswered
from membership_client.core.rule import Rule
from membership_client.core.siblings import settled
from membership_client.errors import Problem, ProblemKind
from membership_client.types import Cause, CloseStep, GroupProtocol, LeaveMode, MemberState
from membership_client.values import replace

S = MemberState


def depart(
    member: Member,
    mode: LeaveMode,
    reason: str,
    cause: Cause,
    now: float,
    *,
    ending: MemberState,
    problem: Problem | None = None,
    closes: bool = False,
    give_up_at: float | None = None,
    callback_timeout_s: float | None = None,
) -> Member:
    """Begin to leave. `ending` STALE tells the coordinator first; every other ending gives partitions back first."""
    departure = Departure(
        mode=mode,
        reason=reason,
        cause=cause,
        began_at=now,
        give_up_at=give_up_at,
        callback_timeout_s=callback_timeout_s,
        ending=ending,
        problem=problem,
        closes=closes,
    )
    leaving = member.state in IN_GROUP | {S.FENCED, S.STALE}
    state = (S.STALE if ending is S.STALE else S.LEAVING) if leaving else member.state
    # The answer to the leave request of an earlier departure must not count for this one.
    dialogue = None if member.dialogue and leaves_the_group(member.dialogue) else member.dialogue
    return replace(
        settled(move(member, state)),
        departure=departure,
        cause=cause,
        target=None,
        id_conflict=None,
        dialogue=dialogue,
        owed_gap_s=None,
        classic=replace(member.classic, admission=None, rejoin=None),
    )


def leaves_the_group(flight: InFlight) -> bool:
    """Does that request take a member out of the group: us, or the holder of our instance id?"""
    return isinstance(flight.request, LeaveGroup) or (
        isinstance(flight.request, Heartbeat) and flight.request.epoch < 0
    )


def is_own_leave(member: Member, flight: InFlight) -> bool:
    """Is that request the leave request of the current departure?"""
    return member.departure is not None and leaves_the_group(flight)


# --- after an error --------------------------------------------------------------------------------------------------

_CANNOT_BE_TOLD = frozenset(
    {ProblemKind.AUTHENTICATION, ProblemKind.UNTRUSTED, ProblemKind.GROUP_DENIED, ProblemKind.CLUSTER_DENIED}
)
"""After these the leave would fail in the same way: one more wrong password may lock an account, and one more denied
request is one more line in the broker's log. The coordinator drops the member when its session ends."""


def _leave_after_error_due(member: Member) -> float | None:
    if member.state is not S.FATAL or member.departure is not None or not member.enrolled:
        return None
    # If told now, the coordinator would assign the partitions to others while the application still handles their loss.
    if member.owned or member.call is not None or member.problem is None or member.problem.kind in _CANNOT_BE_TOLD:
        return None
    request = _LEAVE_REQUESTS[member.protocol](member, LeaveMode.DEFAULT, "", reason_refused=False)
    return None if request is None else ASAP


def _leave_after_error(member: Member, now: float) -> Transition:
    """Leave after a fatal error: no more heartbeats will come, and the group would wait until the session ends."""
    problem, cause = member.problem, member.cause
    assert problem is not None
    assert cause is not None
    reason = f"{reasons.ENDED_BY_ERROR}: {problem.kind.value}"
    return depart(member, LeaveMode.DEFAULT, reason, cause, now, ending=S.FATAL), ()


LEAVE_AFTER_ERROR = Rule(_leave_after_error_due, _leave_after_error)

# --- telling the coordinator -----------------------------------------------------------------------------------------


_LEAVE_REQUESTS = {
    GroupProtocol.CONSUMER: consumer_protocol.leave_request,
    GroupProtocol.CLASSIC: protocol.leave_request,
}


def _leave_request(member: Member, departure: Departure) -> Heartbeat | LeaveGroup | None:
    if not member.enrolled:
        return None
    return _LEAVE_REQUESTS[member.protocol](
        member, departure.mode, departure.reason, reason_refused=departure.reason_refused
    )


def _is_giving_back(member: Member) -> bool:
    """Partitions that are owned without a callback under way are given back first, by a rule before `TELL`."""
    return member.call is not None and member.state is not S.STALE


def _tell_due(member: Member) -> float | None:
    departure = member.departure
    if departure is None or departure.outcome is not None:
        return None
    if _is_giving_back(member):
        return None
    if departure.telling_since is None or _leave_request(member, departure) is None:
        return ASAP
    if member.coordinator is None or (member.dialogue and is_own_leave(member, member.dialogue)):
        return None
    return member.dialogue_backoff.not_before


def _tell(member: Member, now: float) -> Transition:
    departure = member.departure
    assert departure is not None
    request = _leave_request(member, departure)
    if request is None:
        outcome = (
            "nothing to tell: not in the group" if not member.enrolled else "nothing told: stays until its session ends"
        )
        return _with_outcome(member, outcome, now), ()
    if departure.telling_since is None:
        give_up_at = departure.give_up_at if departure.closes else now + member.request_timeout_s
        return replace(member, departure=replace(departure, telling_since=now, give_up_at=give_up_at)), ()
    return send(member, "dialogue", request, now, to=member.coordinator)


def _with_outcome(member: Member, outcome: str, now: float, *, clean: bool = True) -> Member:
    departure = member.departure
    assert departure is not None
    since = now if departure.telling_since is None else departure.telling_since
    step = CloseStep("leave", now - since, outcome)
    return replace(
        member,
        dialogue=None,
        enrolled=False,
        departure=replace(departure, outcome=outcome, clean=departure.clean and clean, steps=(*departure.steps, step)),
    )


def answered(member: Member, flight: InFlight, response: Response, now: float) -> Member:
    """The coordinator answered our leave request."""
    if not isinstance(response, Refused):
        return _with_outcome(member, _confirmation(flight), now)
    action = policy.LEAVE.get(response.code)
    if action is Reaction.DONE:
        return _with_outcome(member, f"already out of the group ({code_name(response.code)})", now)
    if action is Reaction.REDISCOVER:
        member = forget_coordinator(member)
    if action is not None:
        return slow_down(replace(member, dialogue=None), "dialogue_backoff", now)
    if isinstance(flight.request, LeaveGroup) and flight.request.reason is not None:
        return _without_reason(member)
    return _with_outcome(member, f"refused: {response.message or code_name(response.code)}", now, clean=False)


def _confirmation(flight: InFlight) -> str:
    if isinstance(flight.request, LeaveGroup):
        return "confirmed" if flight.request.reason is None else "confirmed, with its reason"
    permanent = isinstance(flight.request, Heartbeat) and flight.request.epoch == -1
    return "confirmed" if permanent else "confirmed as temporary"


def _without_reason(member: Member) -> Member:
    assert member.departure is not None
    return replace(member, dialogue=None, departure=replace(member.departure, reason_refused=True))


def is_telling(member: Member) -> bool:
    """Is the coordinator being told, or looked for to be told?"""
    departure = member.departure
    return departure is not None and departure.telling_since is not None and departure.outcome is None


def cannot_be_told(member: Member, event: Failed, now: float) -> Member:
    """No connection can be made, and each further attempt with a wrong password may lock the account."""
    return _with_outcome(member, f"not told: {event.detail}", now, clean=False)


def failed(member: Member, event: Failed, now: float) -> Member:
    """No answer to our leave request: it is sent again until the departure gives up."""
    if event.kind is FailureKind.UNSUPPORTED:
        assert member.departure is not None
        if member.departure.reason_refused:
            return _with_outcome(member, event.detail, now, clean=False)
        return _without_reason(member)
    member = unanswered(forget_coordinator(replace(member, dialogue=None)), event.kind, event.detail)
    return slow_down(member, "dialogue_backoff", now)


# --- giving up, and the end ------------------------------------------------------------------------------------------


def _give_up_due(member: Member) -> float | None:
    departure = member.departure
    if departure is None or departure.outcome is not None:
        return None
    return departure.give_up_at if member.call is None else callback_deadline(departure, member.call.began_at)


def callback_deadline(departure: Departure, began_at: float) -> float | None:
    """Until when a departure waits for a callback that began at `began_at`."""
    at, granted_s = departure.give_up_at, departure.callback_timeout_s
    return at if at is None or granted_s is None else max(at, began_at + granted_s)


def without_callback(departure: Departure, began_at: float, now: float) -> Departure:
    """A callback with a time limit of its own uses up nothing of the departure's: the coordinator is still to be told."""
    if departure.give_up_at is None or departure.callback_timeout_s is None:
        return departure
    return replace(departure, give_up_at=departure.give_up_at + now - max(began_at, departure.began_at))


def _give_up(member: Member, now: float) -> Transition:
    """The time is over. While a callback still has its partitions, the coordinator is not told: it would assign them to others."""
    if member.call is not None:
        return _with_outcome(
            member, f"not told: the {member.call.kind.value} callback still runs", now, clean=False
        ), ()
    why = member.problem.detail if member.problem else "no coordinator was found"
    return _with_outcome(member, f"given up: {why}", now, clean=False), ()


def _end_due(member: Member) -> float | None:
    """At once after the coordinator was told: only a STALE member still has to lose its partitions then."""
    return ASAP if member.departure is not None and member.departure.outcome is not None else None


def _end(member: Member, now: float) -> Transition:
    departure = member.departure
    assert departure is not None
    member = replace(member, departure=None, accepted=None)
    if departure.ending is S.STALE:
        return member, ()
    if member.state in {S.LEAVING, departure.ending}:
        member = replace(move(member, departure.ending), epoch=0)
    if departure.problem is not None:
        member = replace(member, problem=departure.problem)
    if departure.closes:
        return replace(member, closed=departure), (Stop(),)
    return member, ()


TELL = Rule(_tell_due, _tell)
GIVE_UP = Rule(_give_up_due, _give_up)
END = Rule(_end_due, _end)
