"""Everything that can happen in a demonstration, as frozen values.

`at` is the monotonic clock, which all processes of one machine share; so what two members say can be put in order.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

from membership_client.demo.kit import GroupSeen, Remark

if TYPE_CHECKING:
    from membership_client import MemberState


class StepKind(enum.Enum):
    """What a step shows; decides what is expected of it."""

    JOIN = "join"
    LATE = "late"
    RESTART = "restart"
    TAKEOVER = "takeover"
    LEAVE = "leave"


# --- what the demonstration does -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class StageSet:
    """A broker is there, and a topic of so many partitions."""

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
    """The members something is done to; all others are bystanders."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepEnded:
    """`settled`: the group reached what the step waited for, in time."""

    at: float
    number: int
    settled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonsLogged:
    """The reasons for leaving that the broker wrote to its log."""

    at: float
    reasons: tuple[str, ...]


# --- what becomes of a member's process ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    at: float
    name: str
    pid: int
    instance_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessEnded:
    """The process is gone; a negative code is the signal that ended it."""

    at: float
    name: str
    pid: int
    code: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Complained:
    """A line on the process's standard error, where warnings of the log go."""

    at: float
    name: str
    pid: int
    text: str


# --- what a member says of itself ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A snapshot, as far as the demonstration shows it."""

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
    """A callback returned: from now on (assigned) or no longer (revoked, lost) the partitions are the member's."""

    at: float
    name: str
    pid: int
    kind: str
    partitions: tuple[int, ...]
    epoch: int
    cause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """It left. `outcome` says how its last step, telling the coordinator, ended."""

    at: float
    name: str
    pid: int
    clean: bool
    reason: str
    outcome: str


Told = Seen | Called | Closed
Happening = (
    Remark | StageSet | StepBegan | StepEnded | GroupSeen | ReasonsLogged | Started | ProcessEnded | Complained | Told
)
