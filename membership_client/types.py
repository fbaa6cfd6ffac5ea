"""The values that users see: partitions, states, snapshots, reports."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from membership_client.values import dataclass

if TYPE_CHECKING:
    from uuid import UUID

    from membership_client.errors import MembershipError

Number = TypeVar("Number", int, float)


class TopicPartition(NamedTuple):
    """One partition of one topic, by name."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class MemberState(enum.Enum):
    """The state of a member. The names are those of Kafka's own client."""

    UNSUBSCRIBED = "unsubscribed"
    """Not in the group: the application never subscribed, or the member has left."""

    JOINING = "joining"
    """Asks the coordinator to join; in the classic protocol also waits for other members while the group rebalances."""

    RECONCILING = "reconciling"
    """In the group; owned partitions differ from the target, and callbacks are bringing them together."""

    ACK = "ack"
    """Callbacks are done; the coordinator has not yet confirmed the owned list (classic: not all have joined again)."""

    STABLE = "stable"
    """In the group; the member owns what the coordinator wants, and the coordinator knows it."""

    LEAVING = "leaving"
    """Leaving the group: partitions are given back, then the coordinator is told."""

    STALE = "stale"
    """Out of the group because the application stopped polling; the next poll joins again."""

    FENCED = "fenced"
    """The coordinator dropped the member: partitions are lost, and a new join follows (or FATAL, if another holds its instance id)."""

    FATAL = "fatal"
    """Ended by an error that repeating cannot mend; see `Snapshot.error`."""


class GroupProtocol(enum.Enum):
    """The protocol between members and coordinator."""

    CONSUMER = "consumer"
    """KIP-848: the coordinator assigns."""

    CLASSIC = "classic"
    """JoinGroup and SyncGroup: one of the members assigns, and all wait for each other."""


class LeaveMode(enum.Enum):
    """What a member tells the coordinator when it leaves."""

    DEFAULT = "default"
    """Dynamic members leave for good; static members leave temporarily, so that their next run gets the same partitions."""

    LEAVE = "leave"
    """Leave for good, static or not: the partitions move to others at once."""

    REMAIN = "remain"
    """Do not leave: a static member leaves temporarily; a dynamic one sends nothing and is dropped when its session ends."""

    TEMPORARY = "temporary"
    """Leave temporarily (member epoch -2; in the classic protocol, by saying nothing). Static members only."""


class Share(enum.Enum):
    """What an assignment means, above all an empty one."""

    NONE = "none"
    """Nothing assigned, and nothing is expected: a standby member."""

    PENDING = "pending"
    """Provisional: the coordinator may still compute the assignment, or other members have not yet released the partitions of this one."""

    ASSIGNED = "assigned"
    """The coordinator gave the member partitions."""


class CauseKind(enum.Enum):
    """Why a member's assignment changed, as far as the member can know."""

    JOINED = "joined"
    SUBSCRIPTION_CHANGED = "subscription changed"
    GROUP_CHANGED = "group changed"
    FENCED = "fenced"
    POLL_INTERVAL_EXCEEDED = "poll interval exceeded"
    UNSUBSCRIBED = "unsubscribed"
    CLOSED = "closed"
    CALLBACK_FAILED = "callback failed"
    FATAL = "fatal"


@dataclass(frozen=True, slots=True)
class Offset:
    """A committed position: the offset of the next record to read.

        with GroupMember({"bootstrap.servers": "localhost:9092", "group.id": "tills"}) as member:
            member.subscribe(["orders"])
            member.wait_until(lambda now: len(now.owned) > 0, timeout_s=30)
            member.commit({min(member.assignment()): Offset(17, metadata="first look")})

    Here records 0 to 16 are done.
    """

    offset: int
    leader_epoch: int | None = None
    metadata: str = ""


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a rebalance happened: a kind for code, a sentence for people."""

    kind: CauseKind
    detail: str

    def __str__(self) -> str:
        """The detail alone where it begins with the kind: `poll interval exceeded: 300 s`."""
        kind = self.kind.value
        return self.detail if self.detail.startswith(kind) else f"{kind}: {self.detail}"


@dataclass(frozen=True, slots=True)
class Node:
    """A broker's advertised address."""

    host: str
    port: int
    node_id: int = -1

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Holder:
    """The member that holds a `group.instance.id`, as the coordinator describes it."""

    member_id: str
    client_id: str
    host: str

    def __str__(self) -> str:
        return f"member {self.member_id} (client {self.client_id or 'unnamed'}, host {self.host or 'unknown'})"


@dataclass(frozen=True, slots=True)
class Delay:
    """What a callback waits for before it can begin, and for how long so far."""

    why: str
    seconds: float

    def __str__(self) -> str:
        return f"for {self.seconds:.1f} s, the assigned callback waits for {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One moment of one member, never torn: every field belongs to the same instant."""

    state: MemberState
    group_id: str
    member_id: str
    instance_id: str | None
    protocol: GroupProtocol | None
    """None while `group.protocol=auto` has not found out which one the brokers have."""
    epoch: int
    """The member epoch; in the classic protocol the generation."""
    coordinator: Node | None
    heartbeat_interval_s: float | None
    heartbeat_age_s: float | None
    """Seconds since the last heartbeat that the coordinator confirmed was sent; None before the first one."""
    owned: frozenset[TopicPartition]
    target: frozenset[TopicPartition]
    """The partitions that the coordinator wants the member to own, as far as topic names are known."""
    unresolved: frozenset[UUID]
    """Ids of topics in the target whose names the brokers have not told yet."""
    share: Share
    cause: Cause | None
    """Why the assignment last changed."""
    error: MembershipError | None
    delay: Delay | None = None
    """What an assignment waits for, if that takes seconds: a Consumer needs the committed offsets of its partitions."""
    missing_topics: frozenset[str] = frozenset()
    """Topics subscribed to by name that do not exist, or that the brokers hide; `error` has the most similar names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionProgress:
    """How far a Consumer has read one partition. Values that are not known yet are None."""

    position: int | None
    """The offset of the next record that the application gets."""
    committed: int | None
    end: int | None
    """The offset after the last record of the partition, as the brokers told with the last fetch."""
    time_lag_s: float | None
    """The age of the next record by its timestamp, at most 10 s too much; 0 when all is read."""

    @property
    def lag(self) -> int | None:
        """How many records are still to be read."""
        return _distance(self.position, self.end)

    @property
    def committed_lag(self) -> int | None:
        """How many records the next owner would read: those behind the committed offset."""
        return _distance(self.committed, self.end)


def _distance(offset: int | None, end: int | None) -> int | None:
    return None if offset is None or end is None else max(0, end - offset)


def largest(lags: Iterable[Number | None]) -> Number | None:
    """The largest lag; None if there are none, or if one is not known, because it may be the largest."""
    found = tuple(lags)
    known = [lag for lag in found if lag is not None]
    return max(known, default=None) if len(known) == len(found) else None


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a Consumer has read each partition that it fetches."""

    partitions: Mapping[TopicPartition, PartitionProgress]

    @property
    def lag(self) -> int | None:
        """The largest lag of a partition; None without partitions, and while the lag of one is not known."""
        return largest(one.lag for one in self.partitions.values())

    @property
    def time_lag_s(self) -> float | None:
        """The largest time lag of a partition; None without partitions, and while that of one is not known."""
        return largest(one.time_lag_s for one in self.partitions.values())


@dataclass(frozen=True, slots=True)
class Health:
    """Answers for probes. `ready` means that the member has joined; a standby without partitions is ready, too."""

    live: bool
    ready: bool
    why: str


@dataclass(frozen=True, slots=True)
class CloseStep:
    """One step of a close, how long it took, and how it ended."""

    name: str
    seconds: float
    outcome: str


@dataclass(frozen=True, slots=True)
class CloseReport:
    """What `close()` did. `clean` means that all of its steps were confirmed in time."""

    clean: bool
    reason: str
    steps: tuple[CloseStep, ...] = field(default=())

    def __str__(self) -> str:
        steps = "; ".join(f"{s.name} {s.outcome} in {s.seconds:.3f} s" for s in self.steps)
        return f"{'clean' if self.clean else 'incomplete'} close ({self.reason}): {steps or 'nothing to do'}"
