"""What can be done to a group in a story. Each is a value whose text is the code that makes it."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Join:
    """An instance of the program starts and joins the group. One of that name that still runs is killed first."""

    name: str
    _: KW_ONLY
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Leave:
    """The instance is told to end: its next `poll` raises KeyboardInterrupt, as after Ctrl-C."""

    name: str
    _: KW_ONLY
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Crash:
    """The instance is gone at once, as with `kill -9`. The group notices when its session ends."""

    name: str
    _: KW_ONLY
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Fence:
    """The coordinator removes the member of the instance: its next heartbeat gets FENCED_MEMBER_EPOCH."""

    name: str
    _: KW_ONLY
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class ExpireSession:
    """The coordinator removes the member as if its session had ended: its next heartbeat gets UNKNOWN_MEMBER_ID."""

    name: str
    _: KW_ONLY
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Stall:
    """The whole process stands still for so long, membership included, and then goes on without knowing of it."""

    name: str
    _: KW_ONLY
    for_s: float = 10.0
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class MoveCoordinator:
    """Another broker becomes the coordinator; for half a second there is none."""

    _: KW_ONLY
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class LoseAnswer:
    """The next request of the instance is handled, but its answer never arrives."""

    name: str
    _: KW_ONLY
    at: float = 0.0


GroupEvent: TypeAlias = Join | Leave | Crash | Fence | ExpireSession | Stall | MoveCoordinator | LoseAnswer

ALL_EVENTS: tuple[type[GroupEvent], ...] = (
    Join,
    Leave,
    Crash,
    Fence,
    ExpireSession,
    Stall,
    MoveCoordinator,
    LoseAnswer,
)
