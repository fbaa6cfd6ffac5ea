"""One member in a process of its own: `python -m membership_client.demo.member_process ROLE`, ROLE as JSON.

It prints its reports, one JSON object per line, until it is asked to leave or its input ends. The input ends with the process
that started this one.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from membership_client import GroupMember, LeaveMode, MemberConfig, RebalanceListener
from membership_client.demo.events import (
    Called,
    Closed,
    LeaveRequest,
    MemberReport,
    Seen,
    decode_leave,
    decode_role,
    encode_report,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from membership_client import CallbackContext, Snapshot, TopicPartition

_GIVING_UP_S = 0.3
"""The time for which an application would commit offsets; long enough to show the state RECONCILING."""

_CLOCK_SLACK_S = 0.01
_LEAVE_TIMEOUT_S = 5.0
_ORPHAN_TIMEOUT_S = 1.0


def main() -> None:
    """Join the group, report, and leave."""
    role = decode_role(sys.argv[1])
    reporter = Reporter(role.name)
    config = MemberConfig(
        bootstrap_servers=role.bootstrap_servers,
        group_id=role.group,
        group_instance_id=role.instance_id,
        group_instance_id_conflict="takeover" if role.takes_over else "wait",
        client_id=role.name,
    )
    member = GroupMember(config, listener=reporter, observers=[lambda _: reporter.saw(member.snapshot)])
    member.subscribe([role.topic])
    _leave(member, reporter, sys.stdin.readline())


def _leave(member: GroupMember, reporter: Reporter, line: str) -> None:
    """Leave the group and report it. An empty line means that the input, and so the demonstration, has ended."""
    leave = decode_leave(line) if line else LeaveRequest(LeaveMode.LEAVE, "the demonstration was ended")
    report = member.close(leave.mode, reason=leave.reason, timeout_s=_LEAVE_TIMEOUT_S if line else _ORPHAN_TIMEOUT_S)
    reporter.saw(member.snapshot)
    reporter.report(
        Closed(
            at=time.monotonic(),
            name=reporter.name,
            pid=os.getpid(),
            clean=report.clean,
            reason=report.reason,
            outcome=report.steps[-1].outcome if report.steps else "nothing to do",
        )
    )


class Reporter(RebalanceListener):
    """Prints the member's reports. For any thread: lines are never mixed."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._lock = threading.Lock()
        self._last: Seen | None = None

    def report(self, report: MemberReport) -> None:
        with self._lock:
            print(encode_report(report), flush=True)

    def saw(self, snapshot: Snapshot) -> None:
        """Called after each step of the member; prints the snapshot if it differs visibly from the last one."""
        seen = self._seen(snapshot, time.monotonic())
        if self._last is None or not _alike(self._last, seen):
            self._last = seen
            self.report(seen)

    def _seen(self, snapshot: Snapshot, now: float) -> Seen:
        age_s = snapshot.heartbeat_age_s
        return Seen(
            at=now,
            name=self.name,
            pid=os.getpid(),
            state=snapshot.state,
            epoch=snapshot.epoch,
            owned=_numbers(snapshot.owned),
            confirmed_at=None if age_s is None else now - age_s,
            interval_s=snapshot.heartbeat_interval_s,
            cause=str(snapshot.cause) if snapshot.cause else None,
            error=str(snapshot.error) if snapshot.error else None,
        )

    def on_partitions_assigned(self, partitions: tuple[TopicPartition, ...], context: CallbackContext) -> None:
        self._called("assigned", partitions, context)

    def on_partitions_revoked(self, partitions: tuple[TopicPartition, ...], context: CallbackContext) -> None:
        context.wait_lost(_GIVING_UP_S)
        self._called("revoked", partitions, context)

    def on_partitions_lost(self, partitions: tuple[TopicPartition, ...], context: CallbackContext) -> None:
        self._called("lost", partitions, context)

    def _called(self, kind: str, partitions: tuple[TopicPartition, ...], context: CallbackContext) -> None:
        self.report(
            Called(
                at=time.monotonic(),
                name=self.name,
                pid=os.getpid(),
                kind=kind,
                partitions=_numbers(partitions),
                epoch=context.epoch,
                cause=str(context.cause),
            )
        )


def _numbers(partitions: Iterable[TopicPartition]) -> tuple[int, ...]:
    return tuple(sorted(partition.partition for partition in partitions))


def _alike(last: Seen, seen: Seen) -> bool:
    """Whether both show the same, confirmed by the same heartbeat. Ages may differ a little, because two clock readings make one."""
    if last != replace(seen, at=last.at, confirmed_at=last.confirmed_at):
        return False
    return abs((seen.confirmed_at or 0.0) - (last.confirmed_at or 0.0)) < _CLOCK_SLACK_S


if __name__ == "__main__":
    main()
