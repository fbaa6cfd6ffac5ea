"""Removes members from a group, with a reason for the broker's log."""

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
"""The reason that Kafka's own tools give."""

_LONGEST_REASON = 255


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """The outcome for one member that was to be removed."""

    name: str
    """The instance id or member id that the caller gave."""
    member: MemberView | None
    error: MembershipError | None = None
    """Why the member was not removed; None if it was."""

    @property
    def removed(self) -> bool:
        return self.error is None


def full_reason(reason: object) -> str:
    """The reason as Kafka's admin client words it, cut to the 255 characters that brokers accept."""
    reason = reason_text(reason)
    return (f"{DEFAULT_REASON}: {reason}" if reason else DEFAULT_REASON)[:_LONGEST_REASON]


def remove(asker: Asker, group_id: str, members: dict[str, MemberView], reason: str) -> dict[str, Removal]:
    """Remove all members with one request; an outcome for each."""
    if not members:
        return {}
    leavers = {name: _leaver(member) for name, member in members.items()}
    # A member named by both of its ids is sent once: a broker would not know it the second time.
    request = RemoveMembers(group_id=group_id, members=tuple(dict.fromkeys(leavers.values())), reason=reason)
    codes = _codes(asker, request)
    return {
        name: Removal(name=name, member=member, error=_error(codes.get(leavers[name], -1), group_id, name))
        for name, member in members.items()
    }


def _codes(asker: Asker, request: RemoveMembers) -> Mapping[Leaver, int]:
    """Error codes by member. A member unknown to a second attempt was removed by the first, whose answer was lost."""
    attempts = itertools.count()

    def attempt() -> tuple[bool, Response]:
        is_again = next(attempts) > 0
        return is_again, asker.ask_coordinator_once(request.group_id, request)

    is_again, answer = asker.insist(attempt)
    codes = expect(MembersRemoved, answer, request.group_id, "have members removed").codes
    forgiven = {ErrorCode.unknown_member_id} if is_again else set()
    return {leaver: ErrorCode.none if code in forgiven else code for leaver, code in codes.items()}


def _leaver(member: MemberView) -> Leaver:
    """Both ids, so that a process that has taken over the instance id meanwhile is not removed."""
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
        return UnknownMemberError(f"{name} is no longer a member of group {group_id}.")
    if code == ErrorCode.fenced_instance_id:
        return MemberAliveError(f"{name} looks alive: another process has taken its instance id meanwhile.")
    return refusal(code, None, group_id, f"have {name} removed")
