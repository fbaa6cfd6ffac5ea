"""The end of a membership: the coordinator dropped the member, an error ended it for good, or a bug ended its thread."""

from __future__ import annotations

from membership_client.core.backoff import Backoff
from membership_client.core.callbacks import run, tell_lost
from membership_client.core.consumer_protocol import JOIN_EPOCH
from membership_client.core.events import CallbackKind
from membership_client.core.member import (
    Classic,
    InFlight,
    Member,
    Transition,
    move,
    with_problem,
)
from membership_client.core.requests import slow_down
from membership_client.errors import Problem, ProblemKind
from membership_client.partitions import NOTHING, Partitions
from membership_client.types import Cause, CauseKind, MemberState
from membership_client.values import replace

S = MemberState


def fence(member: Member, why: str, now: float, *, known: bool) -> Transition:
    """The coordinator dropped us. Repeated fences back off; otherwise two processes could fence each other without pause."""
    effects = tell_lost(member)
    member = replace(
        member,
        epoch=JOIN_EPOCH,
        accepted=None,
        target=None,
        enrolled=known,
        id_conflict=None,
        classic=replace(member.classic, admission=None, rejoin=None),
    )
    if member.state is S.LEAVING:
        return replace(member, enrolled=False), effects
    member = replace(member, fences=member.fences + 1, cause=Cause(CauseKind.FENCED, why), owed_gap_s=None)
    if member.fences > 1:
        member = replace(member, dialogue_backoff=Backoff(member.fences - 2))
        member = slow_down(member, "dialogue_backoff", now)
    return move(member, S.FENCED), effects


def enrolled_as_before(member: Member, flight: InFlight) -> Member:
    """A request was refused for good, or could not be sent: `enrolled` is what it was before the request.

    Not for a join that will be repeated: after a timeout, or an error of its own, the coordinator may have carried it out.
    """
    return replace(member, enrolled=flight.enrolled)


def fatal(member: Member, problem: Problem) -> Transition:
    """Owned partitions are lost. A member that is still `enrolled` leaves after the lost callback: leaving.LEAVE_AFTER_ERROR."""
    effects = tell_lost(member)
    member = with_problem(member, problem)
    return replace(
        move(member, S.FATAL),
        subscription=None,
        accepted=None,
        target=None,
        id_conflict=None,
        owed_gap_s=None,
        dialogue=None,
        lookup=None,
        naming=None,
        survey=None,
        checking=None,
        classic=Classic(given_id=member.classic.given_id),
        cause=Cause(CauseKind.FATAL, problem.detail),
    ), effects


# --- a thread that a bug ended ---------------------------------------------------------------------------------------


def crashed(member: Member, detail: str, now: float) -> Transition:
    """A bug ended the thread: the member is FATAL, and callbacks tell the application that its partitions are lost.

    The return of these callbacks is not processed, so their partitions are not owned from now on.
    """
    told, lost = tell_lost(member), _lost(member)
    _, effects = run(member, CallbackKind.LOST, lost, now, None) if lost else (member, ())
    member = replace(move(member, MemberState.FATAL), owned=NOTHING, target=None, call=None)
    problem = Problem(kind=ProblemKind.CRASHED, detail=f"The membership thread ended: {detail}.")
    return with_problem(member, problem), (*told, *effects)


def _lost(member: Member) -> Partitions:
    """All that is lost: what is owned, plus what a running callback assigns, minus what it takes away itself."""
    if member.call is None:
        return member.owned
    brings = member.call.kind is CallbackKind.ASSIGNED
    return member.owned | member.call.partitions if brings else member.owned - member.call.partitions
