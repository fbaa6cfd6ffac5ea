"""The membership state machine: `step()` and `deadline()`.

How it works:

1. An event is a fact. Its handler records the fact and draws no conclusions beyond it.
2. `RULES` draw the conclusions. They are tried in order, again and again, until none is due: the fixed point.
3. A rule's due time is its only guard, and `deadline()` is the earliest of them. So after every step the deadline lies
   in the future: the owning thread can neither spin nor oversleep, and there are no timers to cancel.
4. Anything asynchronous has an id and a slot in `Member`. An answer whose id is in no slot is ignored.
5. After any failure what was accepted is forgotten, so the next heartbeat says everything.

Nothing here knows a clock, a socket, a thread or randomness: the same events at the same times give the same run.
It is deliberately not thread-safe; one thread owns a member. An AssertionError from here is a bug: please report it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from membership_client.core import (
    budgets,
    callbacks,
    coordinator,
    fencing,
    heartbeats,
    instance_id_conflict,
    joining,
    keeper,
    leaving,
    policy,
    reasons,
    reconciliation,
    refusals,
    siblings,
    topic_check,
)
from membership_client.core.classic import group_join, group_leader, join_keepalive
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
    KeeperReported,
    MemberIdGiven,
    MembershipDoubted,
    Polled,
    Rebalance,
    Refused,
    ResolveTopics,
    Response,
    SiblingChanged,
    Subscribe,
    SyncGroup,
    Tick,
    TopicsDescribed,
    TopicsResolved,
    Unsubscribe,
)
from membership_client.core.member import IN_GROUP, InFlight, Member, Transition, move
from membership_client.core.requests import (
    SLOTS,
    Slot,
    forget_coordinator,
    patience_s,
    sentence,
    slow_down,
    unanswered,
)
from membership_client.core.rule import Rule, for_protocol
from membership_client.errors import Problem, ProblemKind, may_resubscribe
from membership_client.types import Cause, CauseKind, GroupProtocol, MemberState
from membership_client.values import dataclass, replace

S = MemberState
CLASSIC, CONSUMER = GroupProtocol.CLASSIC, GroupProtocol.CONSUMER

LONGEST_THROTTLE_S = 60.0
"""The longest throttle time that is obeyed: quotas ask for less, and a longer one would outlast the session."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of one member: everything that watches (logs, traces, tests) gets this and nothing else."""

    at: float
    before: Member
    event: Event
    effects: tuple[Effect, ...]
    after: Member


def step(member: Member, event: Event, now: float) -> Transition:
    """The next member, and the effects that its owner must carry out, in order."""
    if member.closed is not None:
        return member, ()
    member, effects = _HANDLERS[type(event)](member, event, now)
    return _settle(member, effects, now)


def deadline(member: Member) -> float | None:
    """When the next rule is due, if no event comes; None if none is."""
    if member.closed is not None:
        return None
    times = [at for rule in rules_of(member) if (at := rule.due(member)) is not None]
    return min(times, default=None)


_MOST_ROUNDS = 100


def _settle(member: Member, effects: tuple[Effect, ...], now: float) -> Transition:
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


def _on_subscribe(member: Member, event: Subscribe, now: float) -> Transition:
    if member.departure is not None and member.departure.closes:
        return member, ()
    if member.state is S.FATAL:
        if member.problem is not None and not may_resubscribe(member.problem):
            return member, ()
        member = replace(move(member, S.UNSUBSCRIBED), problem=None, epoch=0, fences=0)
    return replace(group_leader.resubscribed(member, event), subscription=event, denied_until=None), ()


def _on_unsubscribe(member: Member, event: Unsubscribe, now: float) -> Transition:
    member = replace(member, subscription=None)
    if member.state not in IN_GROUP:
        return member, ()
    reason = event.reason or reasons.UNSUBSCRIBED
    cause = Cause(CauseKind.UNSUBSCRIBED, reason)
    return leaving.depart(member, event.mode, reason, cause, now, ending=S.UNSUBSCRIBED), ()


def _on_close(member: Member, event: Close, now: float) -> Transition:
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


def _on_rebalance(member: Member, event: Rebalance, now: float) -> Transition:
    """Under KIP-848 only the coordinator can start a rebalance; the member sends a full heartbeat."""
    if member.protocol is GroupProtocol.CLASSIC:
        return group_join.enforced(member, event.reason or reasons.ENFORCED), ()
    return replace(member, accepted=None), ()


def _on_polled(member: Member, event: Polled, now: float) -> Transition:
    return budgets.polled(member, event), ()


def _on_coordinator_doubted(member: Member, event: CoordinatorDoubted, now: float) -> Transition:
    """Find the coordinator again now. A heartbeat would find it out too, but only when the next one is due."""
    doubted = member.coordinator is not None and member.coordinator == event.node
    return forget_coordinator(member) if doubted else member, ()


def _on_membership_doubted(member: Member, event: MembershipDoubted, now: float) -> Transition:
    """Send a heartbeat now, because it tells whether we are fenced: another member may already read the same partitions."""
    return replace(member, heartbeat_due=min(member.heartbeat_due, now)), ()


def _on_tick(member: Member, event: Tick, now: float) -> Transition:
    return member, ()


# --- what brokers answer ---------------------------------------------------------------------------------------------


def _slot_of(member: Member, request_id: int) -> tuple[Slot, InFlight] | None:
    flights = ((slot, getattr(member, slot)) for slot in SLOTS)
    return next(((slot, flight) for slot, flight in flights if flight and flight.request_id == request_id), None)


def _on_answered(member: Member, event: Answered, now: float) -> Transition:
    found = _slot_of(member, event.request_id)
    if found is None:
        return member, ()
    slot, flight = found
    member, effects = _ANSWERED[slot](member, flight, event, now)
    if _sends_back(flight, event.response):
        member = forget_coordinator(member)
    if event.throttle_s > 0:
        held_until = now + min(event.throttle_s, LONGEST_THROTTLE_S)
        member = replace(member, dialogue_backoff=member.dialogue_backoff.wait_until(held_until))
    return member, effects


def _sends_back(flight: InFlight, response: Response) -> bool:
    """Does the broker want the cluster to be looked for from the bootstrap servers on (KIP-1102)?"""
    is_metadata = isinstance(flight.request, DescribeTopics | ResolveTopics)
    return (
        is_metadata
        and isinstance(response, Refused)
        and policy.METADATA.get(response.code) is policy.Reaction.REDISCOVER
    )


def _answered_lookup(member: Member, flight: InFlight, event: Answered, now: float) -> Transition:
    return coordinator.answered(member, event.response, now)


def _answered_naming(member: Member, flight: InFlight, event: Answered, now: float) -> Transition:
    if isinstance(event.response, TopicsResolved):
        return reconciliation.named(member, event.response, now), ()
    return reconciliation.unnamed(member, now), ()


def _answered_survey(member: Member, flight: InFlight, event: Answered, now: float) -> Transition:
    if isinstance(flight.request, DescribeClassicGroup):
        return group_leader.compared(member, event.response, now), ()
    if isinstance(event.response, TopicsDescribed):
        return group_leader.topics_described(member, flight, event.response, now), ()
    return group_leader.topics_not_described(member, now), ()


def _answered_checking(member: Member, flight: InFlight, event: Answered, now: float) -> Transition:
    return topic_check.answered(member, flight, event.response, now), ()


def _answered_dialogue(member: Member, flight: InFlight, event: Answered, now: float) -> Transition:
    response = event.response
    if leaving.is_own_leave(member, flight):
        return leaving.answered(member, flight, response, now), ()
    if isinstance(flight.request, DescribeClassicGroup) and member.id_conflict is None:
        return group_join.compared(member, response, now)
    if _is_question(flight):
        return instance_id_conflict.answered(member, response, now)
    if isinstance(response, Refused):
        return refusals.refused(member, flight, response, now)
    return _accepted(member, flight, response, now)


def _accepted(member: Member, flight: InFlight, response: Response, now: float) -> Transition:
    match flight.request, response:
        case Heartbeat(), HeartbeatAccepted():
            return heartbeats.accepted(member, flight, response, now), ()
        case ClassicHeartbeat(), HeartbeatConfirmed():
            return group_join.confirmed(member, flight), ()
        case JoinGroup(), MemberIdGiven():
            return group_join.identified(member, response.member_id), ()
        case JoinGroup(), GroupJoined():
            return group_join.joined(member, flight, response, now)
        case SyncGroup(), GroupSynced():
            return group_join.synced(member, flight, response, now), ()
        case _:
            member = group_join.restarted(replace(member, dialogue=None, accepted=None), reasons.NO_ANSWER)
            return slow_down(member, "dialogue_backoff", now), ()


def _answered_keepalive(member: Member, flight: InFlight, event: Answered, now: float) -> Transition:
    return join_keepalive.answered(member, flight, event.response, now)


def _is_question(flight: InFlight) -> bool:
    """Is it a request of an instance id conflict: which member holds the id, for how long, or its release?"""
    asked = DescribeGroup | DescribeClassicGroup | DescribeSessionTimeout
    return isinstance(flight.request, asked) or leaving.leaves_the_group(flight)


_ANSWERED: dict[Slot, Callable[[Member, InFlight, Answered, float], Transition]] = {
    "lookup": _answered_lookup,
    "naming": _answered_naming,
    "survey": _answered_survey,
    "checking": _answered_checking,
    "dialogue": _answered_dialogue,
    "join_keepalive": _answered_keepalive,
}

# --- requests without an answer --------------------------------------------------------------------------------------


def _on_failed(member: Member, event: Failed, now: float) -> Transition:
    found = _slot_of(member, event.request_id)
    if found is None:
        return member, ()
    slot, flight = found
    if event.kind in policy.FATAL_FAILURES and member.state in IN_GROUP:
        member = fencing.enrolled_as_before(member, flight) if slot == "dialogue" else member
        return fencing.fatal(member, Problem(kind=policy.FATAL_FAILURES[event.kind], detail=sentence(event.detail)))
    if event.kind in policy.FATAL_FAILURES and leaving.is_telling(member) and slot in {"dialogue", "lookup"}:
        return leaving.cannot_be_told(replace(member, lookup=None), event, now), ()
    return _FAILED[slot](member, flight, event, now)


def _failed_lookup(member: Member, flight: InFlight, event: Failed, now: float) -> Transition:
    member = unanswered(replace(member, lookup=None), event.kind, event.detail)
    return slow_down(member, "lookup_backoff", now), ()


def _failed_naming(member: Member, flight: InFlight, event: Failed, now: float) -> Transition:
    return reconciliation.unnamed(member, now), ()


def _failed_survey(member: Member, flight: InFlight, event: Failed, now: float) -> Transition:
    if (
        event.kind is FailureKind.UNSUPPORTED
        and isinstance(flight.request, DescribeTopics)
        and member.state in IN_GROUP
    ):
        return fencing.fatal(member, Problem(kind=ProblemKind.BROKER_TOO_OLD, detail=event.detail))
    return group_leader.topics_not_described(member, now), ()


def _failed_checking(member: Member, flight: InFlight, event: Failed, now: float) -> Transition:
    return topic_check.failed(member, now), ()


def _failed_dialogue(member: Member, flight: InFlight, event: Failed, now: float) -> Transition:
    if leaving.is_own_leave(member, flight):
        return leaving.failed(member, event, now), ()
    if isinstance(flight.request, DescribeClassicGroup) and member.id_conflict is None:
        return group_join.compared(member, None, now)
    if event.kind is FailureKind.UNSUPPORTED:
        if _is_question(flight):
            return instance_id_conflict.unanswerable(member, now)
        if joining.may_fall_back(member):
            return joining.fall_back(member), ()
        if member.state in IN_GROUP:
            problem = Problem(kind=ProblemKind.BROKER_TOO_OLD, detail=event.detail)
            return fencing.fatal(fencing.enrolled_as_before(member, flight), problem)
    member = forget_coordinator(group_join.restarted(replace(member, dialogue=None), reasons.NO_ANSWER))
    return slow_down(unanswered(member, event.kind, event.detail), "dialogue_backoff", now), ()


def _failed_keepalive(member: Member, flight: InFlight, event: Failed, now: float) -> Transition:
    return join_keepalive.failed(member), ()


_FAILED: dict[Slot, Callable[[Member, InFlight, Failed, float], Transition]] = {
    "lookup": _failed_lookup,
    "naming": _failed_naming,
    "survey": _failed_survey,
    "checking": _failed_checking,
    "dialogue": _failed_dialogue,
    "join_keepalive": _failed_keepalive,
}


def _flights(member: Member) -> tuple[InFlight | None, ...]:
    return member.dialogue, member.join_keepalive, member.lookup, member.naming, member.survey, member.checking


def _most_overdue(member: Member) -> tuple[float, InFlight] | None:
    """The request whose time is up first, and when."""
    found: tuple[float, InFlight] | None = None
    for flight in _flights(member):
        if flight is not None:
            at = flight.sent_at + patience_s(member, flight)
            found = (at, flight) if found is None or at < found[0] else found
    return found


def _time_out_due(member: Member) -> float | None:
    found = _most_overdue(member)
    return found[0] if found else None


def _time_out(member: Member, now: float) -> Transition:
    """The connection is dropped, and with it every other request on it: none of them will be answered."""
    found = _most_overdue(member)
    assert found is not None
    late = found[1]
    effects: tuple[Effect, ...] = (Disconnect(late.to),)
    no_server = f"None of the bootstrap servers ({member.config.bootstrap_servers}) answered"
    what = f"{late.to} did not answer" if late.to else no_server
    detail = f"{what} within {patience_s(member, late):g} s."
    for flight in _flights(member):
        if flight is not None and flight.to == late.to:
            member, more = _on_failed(member, Failed(flight.request_id, FailureKind.TIMED_OUT, detail), now)
            effects += more
    return member, effects


TIME_OUT = Rule(_time_out_due, _time_out)

# --- what callbacks report -------------------------------------------------------------------------------------------


def _on_returned(member: Member, event: CallbackReturned, now: float) -> Transition:
    return callbacks.returned(member, event, now)


def _on_delayed(member: Member, event: CallbackDelayed, now: float) -> Transition:
    if member.call is None or member.call.call_id != event.call_id:
        return member, ()
    return replace(member, call=replace(member.call, delayed=event)), ()


_HANDLERS: dict[type[Any], Callable[[Member, Any, float], Transition]] = {
    Subscribe: _on_subscribe,
    Unsubscribe: _on_unsubscribe,
    Close: _on_close,
    Rebalance: _on_rebalance,
    Polled: _on_polled,
    Answered: _on_answered,
    Failed: _on_failed,
    CallbackReturned: _on_returned,
    CallbackDelayed: _on_delayed,
    CoordinatorDoubted: _on_coordinator_doubted,
    MembershipDoubted: _on_membership_doubted,
    KeeperReported: keeper.reported,
    SiblingChanged: siblings.told,
    Tick: _on_tick,
}

RULES: tuple[Rule, ...] = (
    TIME_OUT,
    leaving.GIVE_UP,
    instance_id_conflict.GIVE_UP,
    for_protocol(CLASSIC, group_join.EXPIRE),
    budgets.EXPIRE,
    budgets.WARN,
    budgets.WARN_OF_CALL,
    budgets.LOOK_AT_CALL,
    budgets.WARN_OF_CLOSE,
    callbacks.LOSE,
    reconciliation.GIVE_BACK,
    leaving.LEAVE_AFTER_ERROR,
    leaving.TELL,
    leaving.END,
    joining.START,
    heartbeats.RESTATE,
    for_protocol(CLASSIC, group_join.REJOIN),
    reconciliation.RECONCILE,
    for_protocol(CONSUMER, reconciliation.CONFIRM),
    for_protocol(CLASSIC, group_join.CONFIRM),
    for_protocol(CLASSIC, group_join.FOLLOW_UP),
    coordinator.LOOK_UP,
    reconciliation.RESOLVE,
    instance_id_conflict.ASK,
    for_protocol(CONSUMER, heartbeats.HEARTBEAT),
    for_protocol(CLASSIC, group_leader.LOOK),
    for_protocol(CLASSIC, group_leader.COMPARE),
    for_protocol(CLASSIC, group_join.ENTER),
    for_protocol(CLASSIC, group_join.HEARTBEAT),
    for_protocol(CLASSIC, join_keepalive.ASK),
    topic_check.CHANGE_QUESTION,
    topic_check.LOOK,
)
"""In order of precedence: first time limits, then what must be given up, then what can be gained."""

_RULES_OF = {protocol: tuple(rule for rule in RULES if rule.protocol in {None, protocol}) for protocol in GroupProtocol}


def rules_of(member: Member) -> tuple[Rule, ...]:
    """The rules of the protocol that the member speaks."""
    return _RULES_OF[member.protocol]
