"""Removes members from a group, with a reason for the broker's log, and tells before whether members are alive."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Mapping
from dataclasses import dataclass

from kio.schema.errors import ErrorCode

from membership_client.admin.asking import Asker
from membership_client.admin.errors import MemberAliveError, UnknownMemberError, expect, refusal
from membership_client.admin.views import LEFT_TEMPORARILY, GroupView, MemberView
from membership_client.arguments import reason_text
from membership_client.core.events import Response
from membership_client.errors import MembershipError
from membership_client.net.admin_requests import Leaver, MembersRemoved, RemoveMembers
from membership_client.partitions import counted, named

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
    """Why the member was not removed; None if it was removed."""

    @property
    def removed(self) -> bool:
        return self.error is None


def full_reason(reason: object) -> str:
    """The reason as Kafka's admin client words it, cut to the 255 characters that brokers accept."""
    reason = reason_text(reason)
    return (f"{DEFAULT_REASON}: {reason}" if reason else DEFAULT_REASON)[:_LONGEST_REASON]


def remove(asker: Asker, group_id: str, members: dict[str, MemberView], reason: str) -> dict[str, Removal]:
    """Remove all members with one request, and return an outcome for each."""
    if not members:
        return {}
    leavers = {name: _leaver(member) for name, member in members.items()}
    # A member that is named by both of its ids is sent once, because the broker would not know it the second time.
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
    """The member by both ids, so that a process that has taken over the instance id meanwhile is not removed."""
    return Leaver(member.member_id, member.instance_id)


def unknown_member(group_id: str, name: str) -> Removal:
    error = UnknownMemberError(f"Group {group_id} has no member {name}: neither an instance id nor a member id.")
    return Removal(name=name, member=None, error=error)


def not_removed(name: str, member: MemberView, sign: Sign) -> Removal:
    return Removal(name=name, member=member, error=MemberAliveError(f"{name} {sign.life.value}: {sign.why}."))


def _error(code: int, group_id: str, name: str) -> MembershipError | None:
    if code == ErrorCode.none:
        return None
    if code == ErrorCode.unknown_member_id:
        return UnknownMemberError(f"{name} is no longer a member of group {group_id}.")
    if code == ErrorCode.fenced_instance_id:
        return MemberAliveError(f"{name} looks alive: another process has taken its instance id meanwhile.")
    return refusal(code, None, group_id, f"have {name} removed")


# --- signs of life ---------------------------------------------------------------------------------------------------


class Life(enum.Enum):
    """Whether a member is alive, as far as that can be seen from outside."""

    ALIVE = "looks alive"
    UNKNOWN = "may be alive"
    GONE = "looks dead"


@dataclass(frozen=True, slots=True)
class Sign:
    """Whether a member is alive, as far as that can be seen from outside, and the observation that shows it."""

    life: Life
    why: str


class Signs:
    """Compares successive views of one group. Every view needs committed offsets, and the first one also ends of partitions."""

    def __init__(self, view: GroupView, now: float, session_timeout_s: float | None) -> None:
        self._first, self._began, self._session_timeout_s = view, now, session_timeout_s
        self._watched_s = 0.0
        self._alive: dict[str, str] = {}
        self._away: set[str] = set()
        self._left: set[str] = set()
        self._note_absent(view)

    @property
    def settled(self) -> frozenset[str]:
        """Names of members whose sign will not change: alive, left, or left temporarily."""
        return frozenset(self._alive) | self._away | self._left

    def see(self, view: GroupView, now: float) -> None:
        self._watched_s = now - self._began
        self._note_absent(view)
        found = {member.name: member for member in view.members}
        for before in self._first.members:
            after = found.get(before.name)
            if after is not None and (sign := self._sign(before, after, view) or self._outlived(after)):
                self._alive.setdefault(before.name, sign)

    def of(self, member: MemberView) -> Sign:
        if member.name in self._left:
            return Sign(Life.GONE, "it is no longer a member")
        if member.name in self._away:
            return Sign(Life.GONE, "it has left temporarily")
        if member.name in self._alive:
            return Sign(Life.ALIVE, self._alive[member.name])
        seen = f"it committed nothing in {self._watched_s:.0f} s"
        if waiting := {p: lag for p, lag in self._first.lag.items() if p in member.current and lag}:
            total = sum(waiting.values())
            verb = "waits" if total == 1 else "wait"
            return Sign(Life.GONE, f"{seen}, and {counted(total, 'record')} of {named(waiting)} {verb} for it")
        return Sign(Life.UNKNOWN, f"{seen}, but no records are known to wait for it")

    def _note_absent(self, view: GroupView) -> None:
        self._away = {member.name for member in view.members if member.epoch == LEFT_TEMPORARILY}
        self._left = {member.name for member in self._first.members} - {member.name for member in view.members}

    def _sign(self, before: MemberView, after: MemberView, view: GroupView) -> str | None:
        if before.member_id != after.member_id:
            return f"it joined again, as {after.member_id}"
        if before.epoch != after.epoch:
            return f"its epoch moved from {before.epoch} to {after.epoch}"
        if before.current != after.current and not after.is_classic:
            return "its partitions changed"
        both = before.current & after.current
        moved = [p for p in both if self._first.committed.get(p) != view.committed.get(p)]
        return f"it committed offsets of {named(moved)}" if moved else None

    def _outlived(self, member: MemberView) -> str | None:
        """The sign that a member stayed longer than a session. A classic member never shows it: its timeout is not reported."""
        if self._session_timeout_s is None or member.is_classic or self._watched_s <= self._session_timeout_s:
            return None
        return f"it is still there after a session timeout of {self._session_timeout_s:g} s, so it sends heartbeats"
