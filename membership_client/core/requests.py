"""Sends requests, and deals with requests that are not answered."""

from __future__ import annotations

from typing import Any, Literal

from membership_client.core.backoff import FRESH, Backoff
from membership_client.core.events import Effect, FailureKind, JoinGroup, Request, Send, SyncGroup
from membership_client.core.member import Claims, InFlight, Member, Transition, with_problem
from membership_client.errors import Problem, ProblemKind
from membership_client.types import Node
from membership_client.values import replace

Slot = Literal["dialogue", "join_keepalive", "lookup", "naming", "survey", "checking"]
BackoffName = Literal[
    "dialogue_backoff", "lookup_backoff", "naming_backoff", "survey_backoff", "call_backoff", "denial_backoff"
]

SLOTS: tuple[Slot, ...] = ("dialogue", "join_keepalive", "lookup", "naming", "survey", "checking")

JOIN_PATIENCE_S = 5.0
"""How much longer than the rebalance timeout, for which the coordinator waits for all others, a join may take."""


def send(
    member: Member, slot: Slot, request: Request, now: float, *, to: Node | None, claims: Claims | None = None
) -> Transition:
    """Occupy a slot with a new request. What was in the slot is forgotten: its answer will not be recognised."""
    request_id = member.ids + 1
    entry = InFlight(
        request_id=request_id, request=request, to=to, sent_at=now, claims=claims, enrolled=member.enrolled
    )
    effects: tuple[Effect, ...] = (Send(request_id, to, request),)
    change: dict[str, Any] = {slot: entry}
    return replace(member, ids=request_id, **change), effects


def may_be_held_back(flight: InFlight | None) -> bool:
    """Is a request under way whose answer waits for other members?"""
    return flight is not None and isinstance(flight.request, JoinGroup | SyncGroup)


def patience_s(member: Member, flight: InFlight) -> float:
    """How long an answer may take. A coordinator holds a join back until all have joined, and a sync until the plan is made."""
    if may_be_held_back(flight):
        return max(member.request_timeout_s, member.poll_interval_s + JOIN_PATIENCE_S)
    return member.request_timeout_s


def slow_down(member: Member, backoff: BackoffName, now: float, *, cap_s: float = 0.0) -> Member:
    """Count one more failure in that backoff."""
    current: Backoff = getattr(member, backoff)
    change: dict[str, Any] = {backoff: current.failed(now, seed=member.member_id, config=member.config, cap_s=cap_s)}
    return replace(member, **change)


def forget_coordinator(member: Member) -> Member:
    """Look for the coordinator again, and tell it everything: a new one may know nothing of what was said before."""
    return replace(member, coordinator=None, accepted=None)


def unanswered(member: Member, kind: FailureKind, detail: str) -> Member:
    """Record why an answer is missing, unless a more serious problem is already known."""
    problem = ProblemKind.NOT_KAFKA if kind is FailureKind.NOT_KAFKA else ProblemKind.UNREACHABLE
    if member.problem and member.problem.kind not in _PASSING:
        return member
    return with_problem(member, Problem(kind=problem, detail=sentence(detail)))


def sentence(detail: str) -> str:
    """The text with a full stop, because advice follows it."""
    return detail if detail.endswith((".", "?")) else f"{detail}."


_PASSING = frozenset({ProblemKind.UNREACHABLE, ProblemKind.NOT_KAFKA, ProblemKind.REJECTED})


def recovered(member: Member) -> Member:
    """The coordinator answers again: problems that were only about reaching it are over."""
    healed = _PASSING | {ProblemKind.WAITING_FOR_ROOM, ProblemKind.WAITING_FOR_INSTANCE_ID}
    problem = None if member.problem and member.problem.kind in healed else member.problem
    return replace(member, problem=problem, dialogue_backoff=FRESH)
