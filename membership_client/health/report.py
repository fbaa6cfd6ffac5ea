"""The report of all members of a process, and what a judge remembers of them."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any

from membership_client.client import GroupMember
from membership_client.core.view import snapshot_of
from membership_client.errors import ConfigError
from membership_client.health.judging import Facts, MemberReport, Memory, judged
from membership_client.runtime.forked import registered
from membership_client.values import dataclass, replace

NO_MEMBER = "no member was made yet"


@dataclass(frozen=True, slots=True)
class Report:
    """All members of a process at one moment: it is live, ready and started if all of them are."""

    members: tuple[MemberReport, ...]

    @property
    def live(self) -> bool:
        """True without members."""
        return all(member.live for member in self.members)

    @property
    def ready(self) -> bool:
        """False without members."""
        return bool(self.members) and all(member.ready for member in self.members)

    @property
    def started(self) -> bool:
        """False without members."""
        return bool(self.members) and all(member.started for member in self.members)

    @property
    def why(self) -> str:
        """A sentence for each member."""
        return "; ".join(f"[{one.group_id}/{_name(one)}] {one.why}" for one in self.members) or NO_MEMBER

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        told = {"live": self.live, "ready": self.ready, "started": self.started, "why": self.why}
        return told | {"members": [asdict(member) for member in self.members]}


def _name(member: MemberReport) -> str:
    return member.instance_id or member.member_id


def member_of(given: object) -> GroupMember:
    """The member inside of a GroupMember, a Consumer, or one of their twins for asyncio."""
    inner = getattr(given, "_fetcher", given)
    found = inner if isinstance(inner, GroupMember) else getattr(inner, "_member", None)
    if not isinstance(found, GroupMember):
        raise ConfigError(
            f"Health is told of members and consumers of membership_client, not of a {type(given).__name__}."
        )
    return found


class Judge:
    """Any thread, without locks: a child that is forked may use it, whatever other threads did at that moment."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._memories: weakref.WeakKeyDictionary[GroupMember, Memory] = weakref.WeakKeyDictionary()
        self._awake_at = float("-inf")

    def report(self, members: Iterable[GroupMember]) -> Report:
        """The members at this moment. Waits for none of them."""
        return Report(tuple(map(self._judged, members)))

    def forgive(self) -> None:
        """This process was stopped until now: its threads are late for that reason."""
        self._awake_at = self._clock()

    def _judged(self, member: GroupMember) -> MemberReport:
        memory = replace(self._memories.get(member, Memory()), awake_at=self._awake_at)
        report, self._memories[member] = judged(_facts_of(member), memory, self._clock())
        return report


def _facts_of(member: GroupMember) -> Facts:
    return Facts(
        snapshot=snapshot_of(member._worker.known, time.monotonic()),  # noqa: SLF001 - as it refuses in forked children
        health=member.health(),
        started=member._thread.was_started,  # noqa: SLF001 - not for users
        due_at=member._worker.due_at,  # noqa: SLF001 - as above
    )


def _of_process() -> list[GroupMember]:
    """The open members, or, if none is open, the closed ones: a process may replace a member, but must not go on without one."""
    members: list[GroupMember] = registered()
    return [member for member in members if member._worker.member.closed is None] or members  # noqa: SLF001 - as above


def chosen(given: Iterable[object]) -> Callable[[], list[GroupMember]]:
    """Gives the members to judge: these, or those that this process has at that moment if none are given."""
    fixed = list(map(member_of, given))
    return fixed.copy if fixed else _of_process


_judge = Judge()


def report(*members: object) -> Report:
    """How members are, for probes: of these GroupMembers and Consumers, also of asyncio, or of all in this process.

    Any thread, also that of an event loop: it waits for nothing. ConfigError for other objects.
    """
    return _judge.report(chosen(members)())
