"""All that can happen in a demonstration, as frozen values.

`at` is the monotonic clock. All processes of a machine share it, so the reports of two members can be put in order.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

from membership_client.demo.kit import GroupSeen, Remark

if TYPE_CHECKING:
    from membership_client import MemberState


class StepKind(enum.Enum):
    """What a step shows. It decides which expectations are checked."""

    JOIN = "join"
    LATE = "late"
    RESTART = "restart"
    TAKEOVER = "takeover"
    LEAVE = "leave"


# --- what the demonstration does -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class StageSet:
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
    scene: StepKind
    title: str
    actors: tuple[str, ...]
    """The members that this step starts, kills or ends; all others are bystanders."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepEnded:
    """`settled`: the group reached in time the state that the step waited for."""

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
class Complained:
    """A line on the standard error of the process, where warnings of the log go."""

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
    """The member left. `outcome` is that of its last step, which tells the coordinator."""

    at: float
    name: str
    pid: int
    clean: bool
    reason: str
    outcome: str


MemberReport = Seen | Called | Closed
Happening = (
    Remark
    | StageSet
    | StepBegan
    | StepEnded
    | GroupSeen
    | ReasonsLogged
    | Started
    | ProcessEnded
    | Complained
    | MemberReport
)
