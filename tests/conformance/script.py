"""A script: who is there, and the requests they make one after the other.

Requests are said relative to what a member was last told ("acknowledge everything", "the epoch before"), because the
partitions themselves depend on topic ids that a broker draws. `resolve` turns a step into the request that is sent.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

TOPICS: Mapping[str, int] = MappingProxyType({"orders": 6, "bills": 3, "ships": 1, "mails": 4})
"""The topics that exist, and their partitions, until a script changes them."""
GHOSTS = "ghosts"
"""A topic that does not."""
REBALANCE_TIMEOUT_S = 600.0
PATTERN_GAP_S = 10.0
"""A coordinator evaluates new patterns no more often than this."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """Names, a pattern, or both; always stated together, as our codec does. The pattern is about symbolic names."""

    topics: tuple[str, ...] = ()
    pattern: str = ""


class Epoch(enum.Enum):
    PROPER = "as a client would: 0 outside the group, its own inside"
    INSIDE = "its own, and 1 if it has none: never a join"
    PREVIOUS = "the one before its own"
    OLDER = "two before its own"
    NEWER = "one after its own"
    JOIN = "0"
    LEAVE = "-1"
    PAUSE = "-2"
    INVALID = "-3"


class Owned(enum.Enum):
    PROPER = "as a client would: news once, nothing when joining"
    SILENT = "null"
    ALL = "all it was told last"
    PART = "half of that"
    NONE = "an empty list"
    BEFORE = "what it was told before that, as if nothing had been given up yet"
    FOREIGN = "partitions that are not its own, and one of a topic that does not exist"


class Omission(enum.Enum):
    """What is left out of a heartbeat that must have it."""

    TIMEOUT = "rebalance timeout"
    SUBSCRIPTION = "subscription"
    OWNED = "owned partitions"


class GroupName(enum.Enum):
    OWN = "the script's group"
    EMPTY = "no name at all"
    UNKNOWN = "a group that nobody ever joined"


class Own(enum.Enum):
    """Whatever the actor's part says."""

    OWN = "own"


@dataclass(frozen=True, slots=True)
class Actor:
    """A member id, the instance id it usually names, and what it subscribes to until it says otherwise."""

    name: str
    subscription: Subscription = Subscription(("orders",))
    instance_id: str | None = None
    rebalance_timeout_s: float = REBALANCE_TIMEOUT_S


@dataclass(frozen=True, slots=True)
class Beat:
    """A heartbeat; without arguments the one that a proper client would send next."""

    who: str
    epoch: Epoch = Epoch.PROPER
    owned: Owned = Owned.PROPER
    says: Subscription | None = None
    full: bool = False
    omits: Omission | None = None
    instance_id: str | Own | None = Own.OWN
    rack_id: str | None = None
    assignor: str | None = None
    group: GroupName = GroupName.OWN


@dataclass(frozen=True, slots=True)
class Leave:
    """LeaveGroup with a reason. An operator who removes an instance does not name the member."""

    who: str
    instance_id: str | Own | None = Own.OWN
    named: bool = True


@dataclass(frozen=True, slots=True)
class Describe:
    group: GroupName = GroupName.OWN


@dataclass(frozen=True, slots=True)
class Silence:
    """Nobody says anything for so long."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Grow:
    """A topic grows to so many partitions. One that does not exist is created, with an id that no other ever had."""

    topic: str
    partitions: int


@dataclass(frozen=True, slots=True)
class Drop:
    """A topic is deleted."""

    topic: str


Step = Beat | Leave | Describe | Silence | Grow | Drop


@dataclass(frozen=True, slots=True)
class Terms:
    """What operators set for the group."""

    session_timeout_s: float = 600.0
    assignment_interval_s: float = 0.0
    heartbeat_interval_s: float = 0.7

    @property
    def most_busy_s(self) -> float:
        """A script that takes longer than this meets timeouts that the fake, whose clock stands still, does not."""
        return min(PATTERN_GAP_S, self.session_timeout_s, self.assignment_interval_s or PATTERN_GAP_S) * 0.7


@dataclass(frozen=True, slots=True)
class Script:
    name: str
    actors: tuple[Actor, ...]
    steps: tuple[Step, ...]
    terms: Terms = Terms()

    def actor(self, name: str) -> Actor:
        return next((actor for actor in self.actors if actor.name == name), Actor(name))

    @property
    def changes_topics(self) -> bool:
        """It cannot share its topics with others."""
        return any(isinstance(step, Grow | Drop) for step in self.steps)

    def without(self, index: int, count: int) -> Script:
        return replace(self, steps=self.steps[:index] + self.steps[index + count :])
