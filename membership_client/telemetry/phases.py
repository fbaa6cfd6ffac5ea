"""Where a member is in a rebalance, told from its value alone."""

from __future__ import annotations

from membership_client.core.events import CallbackKind
from membership_client.core.member import Member
from membership_client.types import MemberState

S = MemberState

_OUT = frozenset({S.UNSUBSCRIBED, S.STALE, S.FATAL})


def at_rest(member: Member) -> bool:
    """Stable, or out of the group with nothing left to do about it. Between two rests lies one rebalance."""
    if member.state is S.STABLE or member.closed is not None:
        return True
    return member.state in _OUT and member.departure is None and member.call is None and not member.owned


def phase_of(member: Member) -> str:
    """Of a member that is not at rest."""
    if member.departure is not None:
        return "leaving"
    if member.state is S.RECONCILING:
        revokes = member.call is not None and member.call.kind is not CallbackKind.ASSIGNED
        return "revoking" if revokes else "assigning"
    return _PHASES.get(member.state, "losing")


_PHASES = {S.JOINING: "joining", S.ACK: "acknowledging", S.LEAVING: "leaving"}


def outcome_of(member: Member) -> str:
    """Of a member that is at rest again."""
    return "closed" if member.closed is not None else member.state.value
