"""The events of a demonstration, as frozen values.

`at` is the monotonic clock. All processes of a machine share it, so the reports of two members can be put in order.
"""

from __future__ import annotations

import enum
import json
from dataclasses import asdict, dataclass

from membership_client import LeaveMode, MemberState
from membership_client.demo.kit import GroupSeen, Remark


class StepKind(enum.Enum):
    """The kind of a step, which decides which expectations are checked."""

    JOIN = "join"
    LATE = "late"
    RESTART = "restart"
    TAKEOVER = "takeover"
    LEAVE = "leave"


# --- what the demonstration does -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterReady:
    """A broker serves, and the topic exists."""

    at: float
    title: str
    group: str
    topic: str
    partitions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StepBegan:
    at: float
    number: int
    of: int
    kind: StepKind
    title: str
    members: tuple[str, ...]
    """The members that this step starts, kills or ends. The figures of a step count the other members separately."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepEnded:
    """A step ended. `settled` says whether the group reached the state that the step waited for in time."""

    at: float
    number: int
    settled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonsLogged:
    """The reasons for leaving that the broker wrote to its log."""

    at: float
    reasons: tuple[str, ...]


# --- the process of a member ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    at: float
    name: str
    pid: int
    instance_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessEnded:
    """The process has ended; a negative code is the signal that ended it."""

    at: float
    name: str
    pid: int
    code: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorLine:
    """A line on the standard error of the process, to which the log writes its warnings."""

    at: float
    name: str
    pid: int
    text: str


# --- reports of a member ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The parts of a snapshot that the demonstration shows."""

    at: float
    name: str
    pid: int
    state: MemberState
    epoch: int
    owned: tuple[int, ...]
    confirmed_at: float | None
    """When the coordinator last confirmed the member."""
    interval_s: float | None
    cause: str | None
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """A callback returned: the member owns the partitions from now on (assigned) or no longer (revoked, lost)."""

    at: float
    name: str
    pid: int
    kind: str
    partitions: tuple[int, ...]
    epoch: int
    cause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """The member left. `outcome` is that of the last step of its close, which tells the coordinator."""

    at: float
    name: str
    pid: int
    clean: bool
    reason: str
    outcome: str


MemberReport = Seen | Called | Closed
DemoEvent = (
    Remark
    | ClusterReady
    | StepBegan
    | StepEnded
    | GroupSeen
    | ReasonsLogged
    | Started
    | ProcessEnded
    | ErrorLine
    | MemberReport
)


# --- messages between a member's process and the demonstration: one JSON object per line, both ways ------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberRole:
    """The argument of a member's process."""

    name: str
    bootstrap_servers: str
    group: str
    topic: str
    instance_id: str | None = None
    takes_over: bool = False


@dataclass(frozen=True, slots=True)
class LeaveRequest:
    """The message that asks a member's process to leave."""

    mode: LeaveMode
    reason: str


def encode_role(role: MemberRole) -> str:
    return json.dumps(asdict(role))


def decode_role(text: str) -> MemberRole:
    return MemberRole(**json.loads(text))


def encode_leave(leave: LeaveRequest) -> str:
    return json.dumps({"mode": leave.mode.value, "reason": leave.reason})


def decode_leave(line: str) -> LeaveRequest:
    said = json.loads(line)
    return LeaveRequest(LeaveMode(said["mode"]), said["reason"])


def encode_report(report: MemberReport) -> str:
    said = asdict(report) | {"type": type(report).__name__}
    return json.dumps(said, default=lambda state: state.value)


def decode_report(line: str) -> MemberReport:
    said = json.loads(line)
    kind = said.pop("type")
    if kind == "Seen":
        return Seen(**said | {"state": MemberState(said["state"]), "owned": tuple(said["owned"])})
    if kind == "Called":
        return Called(**said | {"partitions": tuple(said["partitions"])})
    return Closed(**said)
