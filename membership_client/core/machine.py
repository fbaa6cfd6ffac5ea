"""The membership state machine: `step()` and `deadline()`.

How it works:

1. An event is a fact. Its handler records the fact and draws no conclusions beyond it.
2. `RULES` draw the conclusions. They are tried in order, again and again, until none is due: the fixed point.
3. A rule's due time is its only guard, and `deadline()` is the earliest of them. So after every step the deadline lies
   in the future: the owning thread can neither spin nor oversleep, and there are no timers to cancel.
4. Anything asynchronous has an id and a slot in `Member`. An answer whose id is in no slot is ignored.
5. After any failure what was accepted is forgotten, so the next heartbeat says everything.

Nothing here knows a clock, a socket, a thread or randomness: the same events at the same times give the same run.
It is deliberately not thread-safe; one thread owns a member. An AssertionError out of here is a bug: please report it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from membership_client.core import (
    callbacks,
    classic_joining,
    contest,
    coordinator,
    joining,
    leading,
    leaving,
    policy,
    polling,
    pulse,
    reasons,
    reconciliation,
    refusals,
    topic_check,
    watchdog,
)
from membership_client.core.copying import replace
from membership_client.core.events import (
    Answered,
    CallbackDelayed,
    CallbackReturned,
    ClassicHeartbeat,
    Close,
    CoordinatorDoubted,
    DescribeClassicGroup,
    DescribeGroup,
    DescribeSessionTimeout,
    DescribeTopics,
    Disconnect,
    Effect,
    Event,
    Failed,
    FailureKind,
    GroupJoined,
    GroupSynced,
    Heartbeat,
    HeartbeatAccepted,
    HeartbeatConfirmed,
    JoinGroup,
    MemberIdGiven,
    Polled,
    Rebalance,
    Refused,
    ResolveTopics,
    Response,
    Subscribe,
    SyncGroup,
    Tick,
    TopicsDescribed,
    TopicsResolved,
    Unsubscribe,
)
from membership_client.core.member import IN_GROUP, Change, InFlight, Member, move
from membership_client.core.requests import (
    SLOTS,
    Slot,
    forget_coordinator,
    patience_s,
    sentence,
    slow_down,
    unanswered,
)
from membership_client.core.rule import Rule, spoken
from membership_client.errors import Problem, ProblemKind, may_resubscribe
from membership_client.types import Cause, CauseKind, GroupProtocol, MemberState
from membership_client.values import dataclass

S = MemberState
CLASSIC, CONSUMER = GroupProtocol.CLASSIC, GroupProtocol.CONSUMER

LONGEST_THROTTLE_S = 60.0
"""No quota holds clients back for longer, and after that the group would not know us any more."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of one member: everything that watches (logs, traces, tests) gets this and nothing else."""

    at: float
    before: Member
    event: Event
    effects: tuple[Effect, ...]
    after: Member


def step(member: Member, event: Event, now: float) -> Change:
    """The next member, and what it wants done, in that order."""
    if member.closed is not None:
        return member, ()
    member, effects = _HANDLERS[type(event)](member, event, now)
    return _settle(member, effects, now)


def deadline(member: Member) -> float | None:
    """When time alone will change something; None if never."""
    if member.closed is not None:
        return None
    times = [at for rule in rules_of(member) if (at := rule.due(member)) is not None]
    return min(times, default=None)


_MOST_ROUNDS = 100


def _settle(member: Member, effects: tuple[Effect, ...], now: float) -> Change:
    for _ in range(_MOST_ROUNDS):
        rule = _first_due(member, now)
        if rule is None:
            return member, effects
        member, more = rule.act(member, now)
        effects += more
    raise AssertionError(f"no fixed point in state {member.state.name}")


def _first_due(member: Member, now: float) -> Rule | None:
    if member.closed is not None:
        return None
    for rule in rules_of(member):
        at = rule.due(member)
        if at is not None and at <= now:
            return rule
    return None


# --- what the user asks for ------------------------------------------------------------------------------------------


def _on_subscribe(member: Member, event: Subscribe, now: float) -> Change:
    if member.departure is not None and member.departure.closes:
        return member, ()
    if member.state is S.FATAL:
        if member.problem is not None and not may_resubscribe(member.problem):
            return member, ()
        member = replace(move(member, S.UNSUBSCRIBED), problem=None, epoch=0, fences=0)
    return replace(leading.resubscribed(member, event), subscription=event, denied_until=None), ()


def _on_unsubscribe(member: Member, event: Unsubscribe, now: float) -> Change:
    member = replace(member, subscription=None)
    if member.state not in IN_GROUP:
        return member, ()
    reason = event.reason or reasons.UNSUBSCRIBED
    cause = Cause(CauseKind.UNSUBSCRIBED, reason)
    return leaving.depart(member, event.mode, reason, cause, now, ending=S.UNSUBSCRIBED), ()


def _on_close(member: Member, event: Close, now: float) -> Change:
    if member.departure is not None and member.departure.closes:
        return member, ()
    reason = event.reason or reasons.CLOSED
    cause = Cause(CauseKind.CLOSED, reason)
    member = leaving.depart(
        replace(member, subscription=None),
        event.mode,
        reason,
        cause,
        now,
        ending=S.UNSUBSCRIBED,
        closes=True,
        give_up_at=now + event.timeout_s,
        callback_timeout_s=event.callback_timeout_s,
    )
    return member, ()


def _on_rebalance(member: Member, event: Rebalance, now: float) -> Change:
    """Under KIP-848 the coordinator decides; all a member can do is to say everything once more."""
    if member.protocol is GroupProtocol.CLASSIC:
        return classic_joining.enforced(member, event.reason or reasons.ENFORCED), ()
    return replace(member, accepted=None), ()


def _on_polled(member: Member, event: Polled, now: float) -> Change:
    return polling.polled(member, event), ()


def _on_doubted(member: Member, event: CoordinatorDoubted, now: float) -> Change:
    """A heartbeat would find out too, but only when the next one is due."""
    doubted = member.coordinator is not None and member.coordinator == event.node
    return forget_coordinator(member) if doubted else member, ()


def _on_tick(member: Member, event: Tick, now: float) -> Change:
    return member, ()


# --- what brokers answer ---------------------------------------------------------------------------------------------


def _slot_of(member: Member, request_id: int) -> tuple[Slot, InFlight] | None:
    flights = ((slot, getattr(member, slot)) for slot in SLOTS)
    return next(((slot, flight) for slot, flight in flights if flight and flight.request_id == request_id), None)


def _on_answered(member: Member, event: Answered, now: float) -> Change:
    found = _slot_of(member, event.request_id)
    if found is None:
        return member, ()
    slot, flight = found
    member, effects = _ANSWERED[slot](member, flight, event, now)
    if _sends_back(flight, event.response):
        member = forget_coordinator(member)
    if event.throttle_s > 0:
        held_until = now + min(event.throttle_s, LONGEST_THROTTLE_S)
        member = replace(member, dialogue_pace=member.dialogue_pace.wait_until(held_until))
    return member, effects


def _sends_back(flight: InFlight, response: Response) -> bool:
    """Does the broker want the cluster to be looked for from the bootstrap servers on (KIP-1102)?"""
    is_metadata = isinstance(flight.request, DescribeTopics | ResolveTopics)
    return (
        is_metadata and isinstance(response, Refused) and policy.METADATA.get(response.code) is policy.Action.REDISCOVER
    )


def _answered_lookup(member: Member, flight: InFlight, event: Answered, now: float) -> Change:
    return coordinator.answered(member, event.response, now)


def _answered_naming(member: Member, flight: InFlight, event: Answered, now: float) -> Change:
    if isinstance(event.response, TopicsResolved):
        return reconciliation.named(member, event.response, now), ()
    return reconciliation.unnamed(member, now), ()


def _answered_survey(member: Member, flight: InFlight, event: Answered, now: float) -> Change:
    if isinstance(flight.request, DescribeClassicGroup):
        return leading.compared(member, event.response, now), ()
    if isinstance(event.response, TopicsDescribed):
        return leading.looked(member, flight, event.response, now), ()
    return leading.not_looked(member, now), ()


def _answered_checking(member: Member, flight: InFlight, event: Answered, now: float) -> Change:
    return topic_check.answered(member, flight, event.response, now), ()


def _answered_dialogue(member: Member, flight: InFlight, event: Answered, now: float) -> Change:
    response = event.response
    if leaving.is_farewell(member, flight):
        return leaving.answered(member, flight, response, now), ()
    if isinstance(flight.request, DescribeClassicGroup) and member.contest is None:
        return classic_joining.compared(member, response, now)
    if _is_question(flight):
        return contest.answered(member, response, now)
    if isinstance(response, Refused):
        return refusals.refused(member, flight, response, now)
    return _accepted(member, flight, response, now)


def _accepted(member: Member, flight: InFlight, response: Response, now: float) -> Change:
    match flight.request, response:
        case Heartbeat(), HeartbeatAccepted():
            return joining.accepted(member, flight, response, now), ()
        case ClassicHeartbeat(), HeartbeatConfirmed():
            return classic_joining.confirmed(member, flight), ()
        case JoinGroup(), MemberIdGiven():
            return classic_joining.identified(member, response.member_id), ()
        case JoinGroup(), GroupJoined():
            return classic_joining.joined(member, flight, response, now)
        case SyncGroup(), GroupSynced():
            return classic_joining.synced(member, flight, response, now), ()
        case _:
            member = classic_joining.restarted(replace(member, dialogue=None, accepted=None), reasons.NO_ANSWER)
            return slow_down(member, "dialogue_pace", now), ()


def _answered_pulse(member: Member, flight: InFlight, event: Answered, now: float) -> Change:
    return pulse.answered(member, flight, event.response, now)


def _is_question(flight: InFlight) -> bool:
    """Was it asked in a contest for the instance id: who holds it, for how long, or its release?"""
    asked = DescribeGroup | DescribeClassicGroup | DescribeSessionTimeout
    return isinstance(flight.request, asked) or leaving.says_goodbye(flight)


_ANSWERED: dict[Slot, Callable[[Member, InFlight, Answered, float], Change]] = {
    "lookup": _answered_lookup,
    "naming": _answered_naming,
    "survey": _answered_survey,
    "checking": _answered_checking,
    "dialogue": _answered_dialogue,
    "pulse": _answered_pulse,
}

# --- what does not come back -----------------------------------------------------------------------------------------


def _on_failed(member: Member, event: Failed, now: float) -> Change:
    found = _slot_of(member, event.request_id)
    if found is None:
        return member, ()
    slot, flight = found
    if event.kind in policy.FATAL_FAILURES and member.state in IN_GROUP:
        member = joining.as_before(member, flight) if slot == "dialogue" else member
        return joining.fatal(member, Problem(kind=policy.FATAL_FAILURES[event.kind], detail=sentence(event.detail)))
    if event.kind in policy.FATAL_FAILURES and leaving.is_telling(member) and slot in {"dialogue", "lookup"}:
        return leaving.cannot_be_told(replace(member, lookup=None), event, now), ()
    return _FAILED[slot](member, flight, event, now)


def _failed_lookup(member: Member, flight: InFlight, event: Failed, now: float) -> Change:
    member = unanswered(replace(member, lookup=None), event.kind, event.detail)
    return slow_down(member, "lookup_pace", now), ()


def _failed_naming(member: Member, flight: InFlight, event: Failed, now: float) -> Change:
    return reconciliation.unnamed(member, now), ()


def _failed_survey(member: Member, flight: InFlight, event: Failed, now: float) -> Change:
    if (
        event.kind is FailureKind.UNSUPPORTED
        and isinstance(flight.request, DescribeTopics)
        and member.state in IN_GROUP
    ):
        return joining.fatal(member, Problem(kind=ProblemKind.BROKER_TOO_OLD, detail=event.detail))
    return leading.not_looked(member, now), ()


def _failed_checking(member: Member, flight: InFlight, event: Failed, now: float) -> Change:
    return topic_check.failed(member, now), ()


def _failed_dialogue(member: Member, flight: InFlight, event: Failed, now: float) -> Change:
    if leaving.is_farewell(member, flight):
        return leaving.failed(member, event, now), ()
    if isinstance(flight.request, DescribeClassicGroup) and member.contest is None:
        return classic_joining.compared(member, None, now)
    if event.kind is FailureKind.UNSUPPORTED:
        if _is_question(flight):
            return contest.unanswerable(member, now)
        if joining.may_fall_back(member):
            return joining.fall_back(member), ()
        if member.state in IN_GROUP:
            problem = Problem(kind=ProblemKind.BROKER_TOO_OLD, detail=event.detail)
            return joining.fatal(joining.as_before(member, flight), problem)
    member = forget_coordinator(classic_joining.restarted(replace(member, dialogue=None), reasons.NO_ANSWER))
    return slow_down(unanswered(member, event.kind, event.detail), "dialogue_pace", now), ()


def _failed_pulse(member: Member, flight: InFlight, event: Failed, now: float) -> Change:
    return pulse.failed(member), ()


_FAILED: dict[Slot, Callable[[Member, InFlight, Failed, float], Change]] = {
    "lookup": _failed_lookup,
    "naming": _failed_naming,
    "survey": _failed_survey,
    "checking": _failed_checking,
    "dialogue": _failed_dialogue,
    "pulse": _failed_pulse,
}


def _flights(member: Member) -> tuple[InFlight | None, ...]:
    return member.dialogue, member.pulse, member.lookup, member.naming, member.survey, member.checking


def _most_overdue(member: Member) -> tuple[float, InFlight] | None:
    """The request whose time is up first, and when."""
    found: tuple[float, InFlight] | None = None
    for flight in _flights(member):
        if flight is not None:
            at = flight.sent_at + patience_s(member, flight)
            found = (at, flight) if found is None or at < found[0] else found
    return found


def _times_out(member: Member) -> float | None:
    found = _most_overdue(member)
    return found[0] if found else None


def _time_out(member: Member, now: float) -> Change:
    """The connection is dropped, and with it every other request on it: none of them will be answered."""
    found = _most_overdue(member)
    assert found is not None
    late = found[1]
    effects: tuple[Effect, ...] = (Disconnect(late.to),)
    nobody = f"None of the bootstrap servers ({member.config.bootstrap_servers}) answered"
    who = f"{late.to} did not answer" if late.to else nobody
    detail = f"{who} within {patience_s(member, late):g} s."
    for flight in _flights(member):
        if flight is not None and flight.to == late.to:
            member, more = _on_failed(member, Failed(flight.request_id, FailureKind.TIMED_OUT, detail), now)
            effects += more
    return member, effects


TIME_OUT = Rule(_times_out, _time_out)

# --- what callbacks report -------------------------------------------------------------------------------------------


def _on_returned(member: Member, event: CallbackReturned, now: float) -> Change:
    return callbacks.returned(member, event, now)


def _on_delayed(member: Member, event: CallbackDelayed, now: float) -> Change:
    if member.call is None or member.call.call_id != event.call_id:
        return member, ()
    return replace(member, call=replace(member.call, delayed=event)), ()


_HANDLERS: dict[type[Any], Callable[[Member, Any, float], Change]] = {
    Subscribe: _on_subscribe,
    Unsubscribe: _on_unsubscribe,
    Close: _on_close,
    Rebalance: _on_rebalance,
    Polled: _on_polled,
    Answered: _on_answered,
    Failed: _on_failed,
    CallbackReturned: _on_returned,
    CallbackDelayed: _on_delayed,
    CoordinatorDoubted: _on_doubted,
    Tick: _on_tick,
}

RULES: tuple[Rule, ...] = (
    TIME_OUT,
    leaving.GIVE_UP,
    contest.GIVE_UP,
    spoken(CLASSIC, classic_joining.EXPIRE),
    polling.EXPIRE,
    polling.WARN,
    watchdog.WARN_OF_CALL,
    watchdog.WARN_OF_CLOSE,
    callbacks.LOSE,
    reconciliation.GIVE_BACK,
    leaving.LEAVE_AFTER_ERROR,
    leaving.TELL,
    leaving.END,
    joining.START,
    joining.RESTATE,
    spoken(CLASSIC, classic_joining.REJOIN),
    reconciliation.RECONCILE,
    spoken(CONSUMER, reconciliation.CONFIRM),
    spoken(CLASSIC, classic_joining.CONFIRM),
    spoken(CLASSIC, classic_joining.FOLLOW_UP),
    coordinator.LOOK_UP,
    reconciliation.RESOLVE,
    contest.ASK,
    spoken(CONSUMER, joining.BEAT),
    spoken(CLASSIC, leading.LOOK),
    spoken(CLASSIC, leading.COMPARE),
    spoken(CLASSIC, classic_joining.ENTER),
    spoken(CLASSIC, classic_joining.BEAT),
    spoken(CLASSIC, pulse.ASK),
    topic_check.CHANGE_QUESTION,
    topic_check.LOOK,
)
"""In order of precedence: time that ran out first, then what must be given up, then what can be gained."""

_RULES_OF = {protocol: tuple(rule for rule in RULES if rule.protocol in {None, protocol}) for protocol in GroupProtocol}


def rules_of(member: Member) -> tuple[Rule, ...]:
    """Those that count in the protocol it speaks."""
    return _RULES_OF[member.protocol]
