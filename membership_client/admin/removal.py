"""Members removed from outside, with a reason for whoever reads the broker's log."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

from kio.schema.errors import ErrorCode

from membership_client.admin.asking import Asker
from membership_client.admin.errors import MemberAliveError, UnknownMemberError, expect, refusal
from membership_client.admin.signs import Sign
from membership_client.admin.views import MemberView
from membership_client.arguments import reason_text
from membership_client.core.events import Response
from membership_client.errors import MembershipError
from membership_client.net.admin_requests import Leaver, MembersRemoved, RemoveMembers

DEFAULT_REASON = "member was removed by an admin"
"""What Kafka's own tools say."""

_LONGEST_REASON = 255


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """What became of one of those who were to be removed."""

    name: str
    """As it was given: instance id or member id."""
    member: MemberView | None
    error: MembershipError | None = None
    """Why it was not removed."""

    @property
    def removed(self) -> bool:
        return self.error is None


def full_reason(reason: object) -> str:
    """As Kafka's own admin client words it, and brokers take at most this much."""
    reason = reason_text(reason)
    return (f"{DEFAULT_REASON}: {reason}" if reason else DEFAULT_REASON)[:_LONGEST_REASON]


def remove(asker: Asker, group_id: str, members: dict[str, MemberView], reason: str) -> dict[str, Removal]:
    """All in one request."""
    if not members:
        return {}
    leavers = {name: _leaver(member) for name, member in members.items()}
    # Named twice, by both of its ids, a member is still one: brokers would know it once.
    request = RemoveMembers(group_id=group_id, members=tuple(dict.fromkeys(leavers.values())), reason=reason)
    codes = _codes(asker, request)
    return {
        name: Removal(name=name, member=member, error=_error(codes.get(leavers[name], -1), group_id, name))
        for name, member in members.items()
    }


def _codes(asker: Asker, request: RemoveMembers) -> Mapping[Leaver, int]:
    """Who is unknown when the broker is asked again was removed when it was asked before, and the answer was lost."""
    attempts = itertools.count()

    def attempt() -> tuple[bool, Response]:
        is_again = next(attempts) > 0
        return is_again, asker.ask_coordinator_once(request.group_id, request)

    is_again, answer = asker.insist(attempt)
    codes = expect(MembersRemoved, answer, request.group_id, "have members removed").codes
    forgiven = {ErrorCode.unknown_member_id} if is_again else set()
    return {leaver: ErrorCode.none if code in forgiven else code for leaver, code in codes.items()}


def _leaver(member: MemberView) -> Leaver:
    """By both ids: should another process have taken the instance id since, it is not the one who is removed."""
    return Leaver(member.member_id, member.instance_id)


def unknown_member(group_id: str, name: str) -> Removal:
    error = UnknownMemberError(f"Group {group_id} has no member {name}: neither an instance id nor a member id.")
    return Removal(name=name, member=None, error=error)


def spared(name: str, member: MemberView, sign: Sign) -> Removal:
    return Removal(name=name, member=member, error=MemberAliveError(f"{name} {sign.life.value}: {sign.why}."))


def _error(code: int, group_id: str, name: str) -> MembershipError | None:
    if code == ErrorCode.none:
        return None
    if code == ErrorCode.unknown_member_id:
        return UnknownMemberError(f"{name} was no member of group {group_id} any more.")
    if code == ErrorCode.fenced_instance_id:
        return MemberAliveError(f"{name} looks alive: another process has taken its instance id meanwhile.")
    return refusal(code, None, group_id, f"have {name} removed")
