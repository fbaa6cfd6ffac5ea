"""The messages between a member's process and the demonstration: one JSON object per line, both ways."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from membership_client import LeaveMode, MemberState
from membership_client.demo.happenings import Called, Closed, MemberReport, Seen


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
class Leave:
    """The only message that it gets later."""

    mode: LeaveMode
    reason: str


def encode_role(role: MemberRole) -> str:
    return json.dumps(asdict(role))


def decode_role(text: str) -> MemberRole:
    return MemberRole(**json.loads(text))


def encode_leave(leave: Leave) -> str:
    return json.dumps({"mode": leave.mode.value, "reason": leave.reason})


def decode_leave(line: str) -> Leave:
    said = json.loads(line)
    return Leave(LeaveMode(said["mode"]), said["reason"])


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
