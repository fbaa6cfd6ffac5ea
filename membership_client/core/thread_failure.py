"""What becomes of a member whose thread ends by a bug: it says so, and owns nothing any more."""

from __future__ import annotations

from membership_client.core.callbacks import run, tell_lost
from membership_client.core.copying import replace
from membership_client.core.events import CallbackKind
from membership_client.core.member import Member, Transition, move, with_problem
from membership_client.errors import Problem, ProblemKind
from membership_client.partitions import NOTHING, Partitions
from membership_client.types import MemberState


def crashed(member: Member, detail: str, now: float) -> Transition:
    """FATAL, with the callbacks that tell the application what it lost. No heartbeat will keep any of it.

    Nothing takes their return into account, so what they take away is not owned from now on.
    """
    told, lost = tell_lost(member), _lost(member)
    _, effects = run(member, CallbackKind.LOST, lost, now, None) if lost else (member, ())
    member = replace(move(member, MemberState.FATAL), owned=NOTHING, target=None, call=None)
    problem = Problem(kind=ProblemKind.CRASHED, detail=f"The membership thread ended: {detail}.")
    return with_problem(member, problem), (*told, *effects)


def _lost(member: Member) -> Partitions:
    """A running callback takes its own partitions away, or is bringing some that are lost when it returns."""
    if member.call is None:
        return member.owned
    brings = member.call.kind is CallbackKind.ASSIGNED
    return member.owned | member.call.partitions if brings else member.owned - member.call.partitions
