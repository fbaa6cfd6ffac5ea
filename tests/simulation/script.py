"""A run as data: the processes, and what happens to them when. A script is all that a run depends on."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from membership_client.config import CallbackErrorPolicy, ConflictPolicy
from membership_client.testing.fake_coordinator import CoordinatorSettings
from membership_client.types import LeaveMode


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A process with one member. Its incarnations share all of this, and differ in their member ids."""

    name: str
    topics: frozenset[str] = frozenset()
    regex: str | None = None
    instance_id: str | None = None
    conflict: ConflictPolicy = "wait"
    callback_errors: CallbackErrorPolicy = "raise"
    polls: bool = False
    poll_interval_s: float = 300.0
    """It is also the rebalance timeout."""
    request_timeout_s: float = 10.0
    retry_when_full_s: float | None = None
    strategy: str | None = None
    """The assignor of a member that speaks the classic protocol; None for KIP-848."""
    keeper: bool = False
    """True for `heartbeat.keeper=process`."""
    shares: str | None = None
    """Members with the same word are siblings: they run in one process as far as `core/siblings.py` goes."""


# --- what may happen -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Start:
    """The process starts, as a new incarnation, and subscribes. One that still runs is killed first."""

    at: float
    who: str


@dataclass(frozen=True, slots=True)
class Crash:
    """SIGKILL."""

    at: float
    who: str


@dataclass(frozen=True, slots=True)
class Stall:
    """SIGSTOP, and SIGCONT later: meanwhile the process reads nothing."""

    at: float
    who: str
    until: float


@dataclass(frozen=True, slots=True)
class Hold:
    """An extension holds the interpreter: like a stall, but the process's keeper goes on."""

    at: float
    who: str
    until: float


@dataclass(frozen=True, slots=True, kw_only=True)
class KeeperTrouble:
    """The keeper of that process is late, also between its last look for orders and its heartbeat; or it dies when it wakes."""

    at: float
    until: float
    who: str
    late_s: float
    dies: bool = False


@dataclass(frozen=True, slots=True)
class Resubscribe:
    at: float
    who: str
    topics: frozenset[str] = frozenset()
    regex: str | None = None


@dataclass(frozen=True, slots=True)
class Leave:
    """A call of unsubscribe()."""

    at: float
    who: str
    mode: LeaveMode = LeaveMode.DEFAULT
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Shut:
    """A call of close()."""

    at: float
    who: str
    mode: LeaveMode = LeaveMode.DEFAULT
    timeout_s: float = 10.0
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Idle:
    """The application does not poll."""

    at: float
    who: str
    until: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Weather:
    """How the network treats one process, or all. Chances are per message."""

    at: float
    until: float
    who: str | None = None
    silence: float = 0.0
    """The chance that the connection dies silently: no message arrives any more, in one direction or both."""
    reset: float = 0.0
    """The chance that the connection is reset, which the process notices."""
    repeat: float = 0.0
    """The chance that an answer arrives twice."""
    mistaken: float = 0.0
    """The chance that a heartbeat is accepted, but answered with REQUEST_TIMED_OUT."""
    slow_s: float = 0.0
    """How much longer a message may take."""
    throttle_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Mood:
    """How the callbacks of one process, or of all, behave."""

    at: float
    until: float
    who: str | None = None
    slow_s: float = 0.0
    fails: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Lose:
    """The next answer to that kind of request, or the request itself, is lost, and its connection with it."""

    at: float
    who: str
    request: bool = False
    kind: str = "Heartbeat"


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """Another broker becomes the coordinator, after a time without any and a time of loading."""

    at: float
    to: int
    gap_s: float = 0.0
    loading_s: float = 0.0
    crash: bool = False
    """True if the connections to the old coordinator are reset."""


@dataclass(frozen=True, slots=True)
class Grow:
    """A topic gets more partitions, or comes into being."""

    at: float
    topic: str
    partitions: int


@dataclass(frozen=True, slots=True)
class Drop:
    """A topic is deleted."""

    at: float
    topic: str


@dataclass(frozen=True, slots=True)
class Unname:
    """The brokers do not tell a topic's name for a while."""

    at: float
    topic: str
    until: float


@dataclass(frozen=True, slots=True)
class Evict:
    """An operator removes the process's member from the group."""

    at: float
    who: str


@dataclass(frozen=True, slots=True)
class Doubt:
    """Commits of the process are refused, as those of an unknown member or by a broker that is not the coordinator."""

    at: float
    who: str


@dataclass(frozen=True, slots=True)
class Retune:
    """The operator changes the group's settings."""

    at: float
    heartbeat_interval_s: float | None = None
    max_size: int | None = None


Action = (
    Start
    | Crash
    | Stall
    | Hold
    | KeeperTrouble
    | Resubscribe
    | Leave
    | Shut
    | Idle
    | Weather
    | Mood
    | Lose
    | Move
    | Grow
    | Drop
    | Unname
    | Evict
    | Doubt
    | Retune
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """All that is planned. `seed` decides the outcome of chances only."""

    seed: int
    topics: tuple[tuple[str, int], ...]
    plans: tuple[Plan, ...]
    actions: tuple[Action, ...]
    calm_at: float
    """From this time on nothing bad happens any more, and the group must come to rest."""
    settings: CoordinatorSettings = field(default_factory=CoordinatorSettings)
    latency_s: tuple[float, float] = (0.001, 0.02)
    """The least and the longest time of a message, one way."""
    callback_s: tuple[float, float] = (0.0, 0.05)
    stays: bool = True
    """True if the group is watched for a while after it came to rest."""
    siblings_late_s: float = 0.0
    """Siblings are told up to this much later than a sibling changed, each for itself and so in any order."""
    siblings_lost: float = 0.0
    """The chance that a sibling is not told."""
    too_old: bool = False
    """True if the brokers do not know the consumer protocol."""

    @property
    def classic(self) -> bool:
        return any(plan.strategy for plan in self.plans)

    def without(self, index: int, count: int = 1) -> Script:
        """A script without some of the actions."""
        return replace(self, actions=self.actions[:index] + self.actions[index + count :])
