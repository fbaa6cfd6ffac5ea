"""The steps of the demonstration: what each step does to the members and waits for, and the members' processes."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

import membership_client
from membership_client import LeaveMode
from membership_client.demo.events import (
    ClusterReady,
    ErrorLine,
    LeaveRequest,
    MemberRole,
    ProcessEnded,
    Started,
    StepBegan,
    StepEnded,
    StepKind,
    decode_report,
    encode_leave,
    encode_role,
)

if TYPE_CHECKING:
    from membership_client.demo.clusters import DemoCluster
    from membership_client.demo.recording import GroupState, Recording

A, B, C = "orders-a", "orders-b", "orders-c"

_INSTANCE_IDS: dict[str, str | None] = {A: None, B: B, C: C}
"""The names of the members. The first is dynamic, the others are static."""

_REASONS = {A: "scaled down", B: "its machine is drained", C: "the demonstration is over"}

_ABSENCE_S = 1.0
"""How long a restart takes: long enough to show that no other member gets the partitions meanwhile."""
_END_TIMEOUT_S = 3.0
_DWELL_S = 1.5
"""The time in which users can look at the result, before the next step."""
_QUIET_CONFIRMATIONS = 2
"""If another member was confirmed this often after the step, without a rebalance, the step did not affect it."""


@dataclass(frozen=True, slots=True)
class DemoStep:
    kind: StepKind
    title: str
    members: tuple[str, ...]
    act: Callable[[], bool]
    """Does the step, and returns whether the group settled in time."""


class Demonstration:
    """Runs the steps in its `with` block, whose end kills all members' processes that are left."""

    def __init__(self, cluster: DemoCluster, recording: Recording) -> None:
        self._cluster = cluster
        self._recording = recording
        self._members: dict[str, MemberHandle] = {}
        self._processes: list[MemberHandle] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for member in self._processes:
            member.close_input()
        for member in self._processes:
            member.join(_END_TIMEOUT_S)

    def run(self) -> None:
        """Runs all steps in order, up to the first after which the group does not settle."""
        cluster = self._cluster
        self._recording.add(
            ClusterReady(
                at=time.monotonic(),
                title=cluster.title,
                group=cluster.group,
                topic=cluster.topic,
                partitions=cluster.partitions,
            )
        )
        steps = self._steps()
        for number, step in enumerate(steps, 1):
            if not self._run_step(step, number, len(steps)):
                break

    def _steps(self) -> list[DemoStep]:
        return [
            DemoStep(StepKind.JOIN, f"{A} and {B} join", (A, B), self._two_join),
            DemoStep(StepKind.LATE, f"{C} joins late", (C,), self._one_joins_late),
            DemoStep(StepKind.RESTART, f"{B}, a static member, restarts", (B,), self._one_restarts),
            DemoStep(
                StepKind.TAKEOVER,
                f"{C} is killed with SIGKILL; its replacement takes over",
                (C,),
                self._one_is_replaced,
            ),
            DemoStep(StepKind.LEAVE, "all members leave, with a reason", (A, B, C), self._all_leave),
        ]

    def _run_step(self, step: DemoStep, number: int, of: int) -> bool:
        self._recording.add(
            StepBegan(at=time.monotonic(), number=number, of=of, kind=step.kind, title=step.title, members=step.members)
        )
        settled = step.act()
        if settled and (seen := self._cluster.look()) is not None:
            self._recording.add(seen)
        self._recording.add(StepEnded(at=time.monotonic(), number=number, settled=settled))
        return settled

    # --- the steps ---------------------------------------------------------------------------------------------------

    def _two_join(self) -> bool:
        self._start(A)
        self._start(B)
        return self._settles({A, B}) and self._dwells()

    def _one_joins_late(self) -> bool:
        self._start(C)
        return self._settles({A, B, C}) and self._dwells()

    def _one_restarts(self) -> bool:
        self._members[B].leave(LeaveRequest(LeaveMode.DEFAULT, "restarts for a new version"))
        self._members[B].join()
        time.sleep(_ABSENCE_S)
        self._start(B)
        return self._settles({A, B, C}) and self._stays_quiet({A, C})

    def _one_is_replaced(self) -> bool:
        self._members[C].kill()
        self._recording.remark("the coordinator still counts on the dead process, by default for 45 s")
        time.sleep(_ABSENCE_S)
        self._start(C, takes_over=True)
        return self._settles({A, B, C}) and self._stays_quiet({A, B})

    def _all_leave(self) -> bool:
        for name, member in self._members.items():
            member.leave(LeaveRequest(LeaveMode.LEAVE, _REASONS[name]))
        for member in self._members.values():
            member.join()
        if (logged := self._cluster.reasons_logged()) is not None:
            self._recording.add(logged)
        return True

    # --- parts of steps --------------------------------------------------------------------------------------

    def _start(self, name: str, *, takes_over: bool = False) -> None:
        role = MemberRole(
            name=name,
            bootstrap_servers=self._cluster.bootstrap_servers,
            group=self._cluster.group,
            topic=self._cluster.topic,
            instance_id=_INSTANCE_IDS[name],
            takes_over=takes_over,
        )
        member = MemberHandle(role, self._recording)
        self._processes.append(member)
        self._members[name] = member
        member.begin()

    def _settles(self, names: set[str]) -> bool:
        """Waits until these members share all partitions evenly and agree on the epoch."""
        partitions = self._cluster.partitions
        return self._wait(names, lambda group: is_settled(group, names, partitions))

    def _dwells(self) -> bool:
        time.sleep(_DWELL_S)
        return True

    def _stays_quiet(self, names: set[str]) -> bool:
        """Waits until the coordinator has confirmed each of these members twice. A rebalance would have reached them by then."""
        rows = self._recording.group.rows
        wanted = {name: rows[name].confirmations + _QUIET_CONFIRMATIONS for name in names}
        return self._wait(
            names, lambda group: all(group.rows[name].confirmations >= count for name, count in wanted.items())
        )

    def _wait(self, names: set[str], condition: Callable[[GroupState], bool]) -> bool:
        """Waits until the condition holds. False if it does not in time, or as soon as one of these members has failed."""
        self._recording.wait(lambda group: condition(group) or has_failed(group, names), self._cluster.patience_s)
        return condition(self._recording.group)


def is_settled(group: GroupState, names: set[str], partitions: int) -> bool:
    """Whether these members are stable at one epoch and share all partitions evenly."""
    rows = [group.rows[name] for name in names]
    if len(group.owners) < partitions or not all(row.is_stable for row in rows):
        return False
    shares = [len(group.owned_by(name)) for name in names]
    return max(shares) - min(shares) <= 1 and len({row.seen.epoch for row in rows if row.seen}) == 1


def has_failed(group: GroupState, names: set[str]) -> bool:
    """Whether one of these members has failed, so that waiting is pointless."""
    return any(group.rows[name].has_failed for name in names)


# --- the process of a member -----------------------------------------------------------------------------------------

_LEAVE_TIMEOUT_S = 10.0


class MemberHandle:
    """The process of a member. The constructor starts it, so that its owner can end it even before `begin`."""

    def __init__(self, role: MemberRole, recording: Recording) -> None:
        self._role = role
        self._recording = recording
        self._readers: list[threading.Thread] = []
        self._process = subprocess.Popen(
            # -P keeps the current directory off the import path: the user's files may have names of modules.
            [sys.executable, "-P", "-m", "membership_client.demo.member_process", encode_role(role)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=_environment(),
            # Ctrl-C must reach only the demonstration, which then ends its members.
            start_new_session=True,
        )
        self._pid = self._process.pid

    def begin(self) -> None:
        """Records the start of the process, and its reports from now on."""
        role = self._role
        self._recording.add(Started(at=time.monotonic(), name=role.name, pid=self._pid, instance_id=role.instance_id))
        for read in (self._read_reports, self._read_errors):
            reader = threading.Thread(target=read, daemon=True)
            reader.start()
            self._readers.append(reader)

    def leave(self, leave: LeaveRequest) -> None:
        """Asks the process to leave and end, and returns at once. Does nothing if it has ended, for example by a user's kill."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(encode_leave(leave) + "\n")
            self._process.stdin.flush()

    def kill(self) -> None:
        """Kills the process with SIGKILL, and returns when its end is recorded. Does nothing if it has ended."""
        self._process.kill()
        self.join()

    def close_input(self) -> None:
        """Closes the input of the process, so that it leaves and ends. Returns at once."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()

    def join(self, timeout_s: float = _LEAVE_TIMEOUT_S) -> None:
        """Waits until the process has ended and all its reports are recorded. Kills it after `timeout_s`."""
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for reader in self._readers:
            reader.join()

    def _read_reports(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.endswith("\n"):  # SIGKILL may cut the last line.
                self._recording.add(decode_report(line))
        code = self._process.wait()
        self._recording.add(ProcessEnded(at=time.monotonic(), name=self._role.name, pid=self._pid, code=code))

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            if text := line.strip():
                self._recording.add(ErrorLine(at=time.monotonic(), name=self._role.name, pid=self._pid, text=text))


def _environment() -> dict[str, str]:
    """The environment of this process, with the directory of this package first in PYTHONPATH."""
    package = str(Path(membership_client.__file__).parent.parent)
    paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
