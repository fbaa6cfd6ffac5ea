"""Heartbeats of KIP-848: when one is due, what it says, and what its answer means."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from membership_client.core import siblings
from membership_client.core.backoff import ASAP, FRESH
from membership_client.core.consumer_protocol import JOIN_EPOCH, claims_of, heartbeat, keepalive, statement
from membership_client.core.events import HeartbeatAccepted
from membership_client.core.member import (
    IN_GROUP,
    Claims,
    InFlight,
    Member,
    Target,
    Transition,
    move,
    with_problem,
)
from membership_client.core.requests import recovered, send, slow_down
from membership_client.core.rule import Rule
from membership_client.errors import Problem, ProblemKind
from membership_client.partitions import NOTHING, Partitions
from membership_client.types import Cause, CauseKind, GroupProtocol, MemberState
from membership_client.values import replace

S = MemberState

SHORTEST_INTERVAL_S, LONGEST_INTERVAL_S = 0.02, 600.0
"""The intervals that a broker may set: a shorter one would flood it with requests, a longer one outlasts any session."""
EARLY_FRACTION = 1 / 50
"""The first early heartbeat of a member that is owed partitions comes after this part of the interval."""
EARLY_GROWTH = 1.08
"""Each further gap grows by this: about twenty fall into the first interval, in which all others get their new targets."""
EARLY_EASE = 5
"""The gap before an early heartbeat is at least this many times as long as the last answer took."""
LATE_FRACTION = 1 / 10
LATE_GROWTH = 1.5
"""Gaps longer than LATE_FRACTION of the interval grow by this: members that have not revoked by then are slow."""


def _has_said_everything(member: Member) -> bool:
    """Does the coordinator know everything it should?"""
    subscription = statement(member)
    if subscription is None or member.state is S.LEAVING:
        return True
    return member.accepted == claims_of(member, subscription)


def stays_while_leaving(member: Member) -> bool:
    """Is the member leaving, and still in the group? While callbacks run, others must not get its partitions.

    Once they have returned, the leave request is sent before the next heartbeat.
    """
    return member.state is S.LEAVING and member.epoch > JOIN_EPOCH


def _heartbeat_due(member: Member) -> float | None:
    if member.state not in IN_GROUP and not stays_while_leaving(member):
        return None
    if member.coordinator is None or member.dialogue is not None:
        return None  # The requests of an instance id conflict come first, by a rule before this one.
    due = min(member.heartbeat_due, siblings.due(member)) if _has_said_everything(member) else ASAP
    return max(due, member.dialogue_backoff.not_before)


def _send_heartbeat(member: Member, now: float) -> Transition:
    subscription = statement(member)
    if member.state is S.LEAVING or subscription is None:
        member, effects = send(member, "dialogue", keepalive(member), now, to=member.coordinator)
    else:
        claims = claims_of(member, subscription)
        request = heartbeat(member, claims)
        member, effects = send(member, "dialogue", request, now, to=member.coordinator, claims=claims)
    return replace(siblings.sent(member, now), enrolled=True, heartbeat_due=now + member.interval_s), effects


HEARTBEAT = Rule(_heartbeat_due, _send_heartbeat)


def deny(member: Member, problem: Problem, now: float) -> Member:
    """A topic of our subscription is denied; it is stated again later, because access may be granted.

    The broker refuses such a heartbeat before the coordinator sees it. A member must go on without it, or its session
    would end while it still owns partitions.
    """
    member = slow_down(with_problem(member, problem), "denial_backoff", now, cap_s=member.interval_s)
    if member.stated is None:
        return replace(member, dialogue_backoff=member.dialogue_backoff.wait_until(member.denial_backoff.not_before))
    return replace(member, denied_until=member.denial_backoff.not_before)


def _restate_due(member: Member) -> float | None:
    return member.denied_until if member.state in IN_GROUP else None


def _restate(member: Member, now: float) -> Transition:
    return replace(member, denied_until=None), ()


RESTATE = Rule(_restate_due, _restate)


def accepted(member: Member, flight: InFlight, answer: HeartbeatAccepted, now: float) -> Member:
    """The coordinator accepted a heartbeat."""
    member = replace(member, dialogue=None)
    if SHORTEST_INTERVAL_S <= answer.interval_s <= LONGEST_INTERVAL_S:
        member = replace(member, interval_s=answer.interval_s)
    if answer.epoch == JOIN_EPOCH and member.state is S.JOINING:
        return _must_wait(member, _asked_at(member, flight), now)
    if answer.epoch < max(member.epoch, 1):
        # A coordinator never lowers an epoch, so it has lost its state: send a full heartbeat, after a backoff.
        return slow_down(replace(member, accepted=None), "dialogue_backoff", now)
    known = flight.claims or member.accepted
    member = replace(
        recovered(siblings.answered(member, answer.epoch)),
        settled=GroupProtocol.CONSUMER,
        epoch=answer.epoch,
        confirmed_at=_asked_at(member, flight),
        id_conflict=None,
        accepted=known,
    )
    if member.state in IN_GROUP and flight.claims is not None:
        member = _in_group(member, flight.claims, answer)
    gap = member.interval_s if member.owed_gap_s is None else member.owed_gap_s
    # Answers that take long come from a busy coordinator, or to a busy process: early heartbeats become rarer then.
    gap = min(member.interval_s, max(gap, EARLY_EASE * (now - flight.sent_at)))
    return replace(member, heartbeat_due=flight.sent_at + gap)


def _asked_at(member: Member, flight: InFlight) -> float:
    """When this heartbeat was sent, or a later one of the keeper: at that time the coordinator counted the member.

    The time at which the answer is read says nothing: it may have lain unread while the process was stopped, and other
    members may have the partitions by now. Found by a soak.
    """
    return max(flight.sent_at, member.confirmed_at or flight.sent_at)


def _must_wait(member: Member, asked_at: float, now: float) -> Member:
    """Some coordinators answer a joiner that must wait with epoch 0 and no error: the whole join is repeated."""
    gap = min(member.interval_s, _next_gap(member, member.owed_gap_s or _first_gap(member)))
    member = replace(recovered(member), confirmed_at=asked_at, owed_gap_s=gap)
    return replace(member, dialogue_backoff=FRESH.wait_until(now + gap))


def _in_group(member: Member, claims: Claims, answer: HeartbeatAccepted) -> Member:
    joined = member.state is S.JOINING
    assignment = NOTHING if joined and answer.assignment is None else answer.assignment
    if assignment is not None:
        # Shared with `owned`, because the rules compare the two very often.
        assignment = assignment.sharing(member.owned)
    resubscribed = not joined and claims.subscription != member.stated
    owed_more = member.owed_gap_s is not None and assignment is not None and _grows(member, assignment)
    member = _expect_more(member, restart=(joined and not assignment) or owed_more or resubscribed)
    if assignment is not None:
        member = _adopt(member, assignment, resubscribed=resubscribed)
    return _without_denial(replace(member, stated=claims.subscription))


def _grows(member: Member, assignment: Partitions) -> bool:
    return bool(assignment - (member.target.partitions if member.target else NOTHING))


def _without_denial(member: Member) -> Member:
    """Once the coordinator knows our newest subscription, no topic of it is denied any more."""
    if member.denied_until is not None or member.stated != member.subscription:
        return member
    denied = member.problem is not None and member.problem.kind is ProblemKind.TOPIC_DENIED
    return replace(member, denial_backoff=FRESH, problem=None if denied else member.problem)


def _first_gap(member: Member) -> float:
    return member.interval_s * EARLY_FRACTION


def _next_gap(member: Member, gap_s: float) -> float:
    return gap_s * (EARLY_GROWTH if gap_s < member.interval_s * LATE_FRACTION else LATE_GROWTH)


def _expect_more(member: Member, *, restart: bool) -> Member:
    """Early heartbeats begin (again), or the gap between them grows until it is the broker's interval."""
    if restart:
        return replace(member, owed_gap_s=_first_gap(member))
    if member.owed_gap_s is None:
        return member
    gap = _next_gap(member, member.owed_gap_s)
    return replace(member, owed_gap_s=gap if gap < member.interval_s else None)


def _adopt(member: Member, assignment: Partitions, *, resubscribed: bool) -> Member:
    """A new target, unless it only repeats the one we have."""
    if member.target is not None and member.target.partitions == assignment:
        return member
    number = member.targets + 1
    target = Target(assignment, number)
    # A running callback may bring partitions of a topic that is no longer in the target: they will be revoked, by name.
    running = member.call.partitions if member.call else NOTHING
    known = assignment.topics | member.owned.topics | running.topics
    given = member.target.partitions if member.target else NOTHING
    # Partitions withdrawn before they were assigned are released with a full heartbeat: no callback runs for them.
    withdrawn = given - assignment - member.owned - running
    return replace(
        move(member, S.RECONCILING),
        accepted=None if withdrawn else member.accepted,
        target=target,
        targets=number,
        names=_names_of(member, known),
        cause=_cause(member, resubscribed),
        call_backoff=FRESH,
    )


def _names_of(member: Member, topics: frozenset[UUID]) -> Mapping[UUID, str]:
    over = frozenset(member.names).difference(topics)
    return {topic: name for topic, name in member.names.items() if topic not in over} if over else member.names


def _cause(member: Member, resubscribed: bool) -> Cause | None:
    if member.state is S.JOINING:
        return member.cause
    if resubscribed:
        return Cause(CauseKind.SUBSCRIPTION_CHANGED, "our subscription changed")
    return Cause(CauseKind.GROUP_CHANGED, f"the coordinator gave us a new target at epoch {member.epoch}")
