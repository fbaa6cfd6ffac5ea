"""The events of a story. Each is a value; its `repr` is the code that makes it."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, fields

from membership_client.arguments import checked_seconds, checked_text


@dataclass(frozen=True, slots=True, repr=False)
class StoryEvent:
    """An event at the time `at`, in seconds since the run began."""

    _: KW_ONLY
    at: float = 0.0

    def __post_init__(self) -> None:
        checked_seconds("at", self.at)

    def __repr__(self) -> str:
        """The code that makes this event."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        name, at = given.pop("name", None), given.pop("at")
        texts = [f"{key}={value!r}" for key, value in {**given, "at": at}.items()]
        return f"{type(self).__name__}({', '.join([repr(name), *texts] if name is not None else texts)})"


@dataclass(frozen=True, slots=True, repr=False)
class _InstanceEvent(StoryEvent):
    """An event that happens to the instance of this name."""

    name: str

    def __post_init__(self) -> None:
        StoryEvent.__post_init__(self)
        checked_text("name", self.name)


@dataclass(frozen=True, slots=True, repr=False)
class Join(_InstanceEvent):
    """An instance of the program starts and joins the group. If an instance of this name still runs, it is killed first."""


@dataclass(frozen=True, slots=True, repr=False)
class Leave(_InstanceEvent):
    """The instance is told to end: its next `poll` raises KeyboardInterrupt, as after Ctrl-C."""


@dataclass(frozen=True, slots=True, repr=False)
class Crash(_InstanceEvent):
    """The instance ends at once, as with `kill -9`. The group notices when its session ends."""


@dataclass(frozen=True, slots=True, repr=False)
class Fence(_InstanceEvent):
    """The coordinator removes the member of the instance: its next heartbeat gets FENCED_MEMBER_EPOCH."""


@dataclass(frozen=True, slots=True, repr=False)
class ExpireSession(_InstanceEvent):
    """The coordinator removes the member as if its session had ended: its next heartbeat gets UNKNOWN_MEMBER_ID."""


@dataclass(frozen=True, slots=True, repr=False)
class Stall(_InstanceEvent):
    """The whole process, with its membership, stands still for this many seconds, and then goes on without knowing it."""

    _: KW_ONLY
    for_s: float = 10.0

    def __post_init__(self) -> None:
        _InstanceEvent.__post_init__(self)
        checked_seconds("for_s", self.for_s)


@dataclass(frozen=True, slots=True, repr=False)
class MoveCoordinator(StoryEvent):
    """Another broker becomes the coordinator; for half a second there is none."""


@dataclass(frozen=True, slots=True, repr=False)
class LoseAnswer(_InstanceEvent):
    """The next request of the instance is handled, but its answer never arrives."""


ALL_EVENTS: tuple[type[StoryEvent], ...] = (
    Join,
    Leave,
    Crash,
    Fence,
    ExpireSession,
    Stall,
    MoveCoordinator,
    LoseAnswer,
)
