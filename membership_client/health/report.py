"""The report of all members of a process, and the memory from one report to the next."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any

from membership_client.client import GroupMember
from membership_client.core.view import snapshot_of
from membership_client.errors import ConfigError
from membership_client.health.probe_rules import MemberFacts, MemberReport, ProbeMemory, judge_member
from membership_client.runtime.forked import registered
from membership_client.values import dataclass, replace

NO_MEMBER = "no member was made yet"


@dataclass(frozen=True, slots=True)
class Report:
    """All members of a process at one moment. The process is live, ready or started if all members are."""

    members: tuple[MemberReport, ...]

    @property
    def live(self) -> bool:
        """Whether all members are live; True without members."""
        return all(member.live for member in self.members)

    @property
    def ready(self) -> bool:
        """Whether all members are ready; False without members."""
        return bool(self.members) and all(member.ready for member in self.members)

    @property
    def started(self) -> bool:
        """Whether all members have subscribed; False without members."""
        return bool(self.members) and all(member.started for member in self.members)

    @property
    def why(self) -> str:
        """A sentence for each member."""
        return "; ".join(f"[{one.group_id}/{_name(one)}] {one.why}" for one in self.members) or NO_MEMBER

    def as_dict(self) -> dict[str, Any]:
        """The report as values that `json.dumps` takes."""
        told = {"live": self.live, "ready": self.ready, "started": self.started, "why": self.why}
        return told | {"members": [asdict(member) for member in self.members]}


def _name(member: MemberReport) -> str:
    return member.instance_id or member.member_id


def member_of(given: object) -> GroupMember:
    """The GroupMember inside the object: a GroupMember or Consumer, also of `membership_client.aio`. ConfigError for others."""
    inner = getattr(given, "_fetcher", given)
    found = inner if isinstance(inner, GroupMember) else getattr(inner, "_member", None)
    if not isinstance(found, GroupMember):
        raise ConfigError(
            f"Health is reported of members and consumers of membership_client, not of a {type(given).__name__}."
        )
    return found


class HealthReporter:
    """Makes reports. For any thread, without locks: a child may use it, whatever other threads did when it was forked."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._memories: weakref.WeakKeyDictionary[GroupMember, ProbeMemory] = weakref.WeakKeyDictionary()
        self._awake_at = float("-inf")

    def report(self, members: Iterable[GroupMember]) -> Report:
        """The report of the members at this moment. It waits for no member."""
        return Report(tuple(map(self._member_report, members)))

    def note_resumed(self) -> None:
        """Note that this process was stopped (SIGSTOP) until now, so its threads are late, but not stuck."""
        self._awake_at = self._clock()

    def _member_report(self, member: GroupMember) -> MemberReport:
        memory = replace(self._memories.get(member, ProbeMemory()), awake_at=self._awake_at)
        report, self._memories[member] = judge_member(_facts_of(member), memory, self._clock())
        return report


def _facts_of(member: GroupMember) -> MemberFacts:
    return MemberFacts(
        snapshot=snapshot_of(member._worker.known, time.monotonic()),  # noqa: SLF001 - `snapshot()` raises in forked children
        health=member.health(),
        started=member._thread.was_started,  # noqa: SLF001 - not for users
        due_at=member._worker.due_at,  # noqa: SLF001 - as above
    )


def _of_process() -> list[GroupMember]:
    """The open members of this process. If none is open, the closed ones, so that this process is not live."""
    members: list[GroupMember] = registered()
    return [member for member in members if member._worker.member.closed is None] or members  # noqa: SLF001 - as above


def chosen(given: Iterable[object]) -> Callable[[], list[GroupMember]]:
    """A function that returns the given members; if none are given, those that this process has at the time of the call."""
    fixed = list(map(member_of, given))
    return fixed.copy if fixed else _of_process


_reporter = HealthReporter()


def report(*members: object) -> Report:
    """The health of these GroupMembers and Consumers, also of asyncio, or else of all in this process, as probes report it.

    For any thread, also that of an event loop: it waits for nothing. ConfigError for other objects.
    """
    return _reporter.report(chosen(members)())
