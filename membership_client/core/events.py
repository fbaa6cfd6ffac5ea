"""Everything that reaches a member (events) and everything it wants done (effects), as frozen values.

An event is a fact: the user asked for something, an answer came, a callback returned, time passed.
An effect is an instruction: send this, run that callback, stop. The thread that owns the member carries them out in order.
The event that completes an effect has the effect's id, and an event whose id no longer matches is ignored.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import field
from uuid import UUID

from membership_client.partitions import Partitions
from membership_client.subscriptions import NO_GENERATION, MemberSubscription, TopicLayout
from membership_client.types import Cause, LeaveMode, Node, Offset, TopicPartition
from membership_client.values import dataclass

# --- requests: what we may ask a broker ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class FindCoordinator:
    group_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """ConsumerGroupHeartbeat. None means "unchanged since the last one you accepted"; empty means empty."""

    group_id: str
    member_id: str
    epoch: int
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_s: float | None = None
    topics: tuple[str, ...] | None = None
    regex: str | None = None
    assignor: str | None = None
    owned: Partitions | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveGroup:
    """LeaveGroup. With a reason (KIP-800) it needs version 5; without one any version that knows the instance id will do."""

    group_id: str
    member_id: str
    instance_id: str | None
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinGroup:
    """The classic protocol's request to join, or to rebalance. Answered when the whole group has joined."""

    group_id: str
    member_id: str
    """Empty until the coordinator has given us one."""
    instance_id: str | None
    session_timeout_s: float
    rebalance_timeout_s: float
    strategies: tuple[str, ...]
    """In our order of preference; the group takes one that all its members offer."""
    topics: frozenset[str]
    owned: frozenset[TopicPartition] = frozenset()
    held: frozenset[TopicPartition] = frozenset()
    """Partitions that were given back in order to join. The eager sticky assignor tries to assign them again."""
    generation: int = NO_GENERATION
    """The generation in which `owned` or `held` was assigned."""
    rack: str | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncGroup:
    """Asks for our share of the plan; the request of the leader brings the plan. All are answered when that has come."""

    group_id: str
    member_id: str
    instance_id: str | None
    generation: int
    strategy: str
    plan: Mapping[str, tuple[TopicPartition, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicHeartbeat:
    group_id: str
    member_id: str
    instance_id: str | None
    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeTopics:
    """Metadata by name: how are these topics laid out? None asks for all topics."""

    topics: frozenset[str] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolveTopics:
    """Metadata by topic id: what are these topics called?"""

    topic_ids: frozenset[UUID]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeGroup:
    """ConsumerGroupDescribe: the members of the group."""

    group_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeClassicGroup:
    """DescribeGroups: the members of a group of the classic protocol."""

    group_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeSessionTimeout:
    """DescribeConfigs of the group: after how long does its coordinator give up on a silent member?"""

    group_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitOffsets:
    """OffsetCommit, as a member of the group: the coordinator checks member id and epoch."""

    group_id: str
    member_id: str
    epoch: int
    instance_id: str | None
    offsets: Mapping[TopicPartition, Offset]
    topic_ids: Mapping[str, UUID] = field(default_factory=dict)
    """Topic ids by name, because another topic may have a name by now. Sent if all are known and the version has the field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchOffsets:
    """OffsetFetch; from Kafka 2.5 on it waits for open transactions. Epoch -1 without a member id asks from outside the group."""

    group_id: str
    member_id: str | None
    epoch: int
    partitions: frozenset[TopicPartition]
    topic_ids: Mapping[str, UUID] = field(default_factory=dict)
    """See `CommitOffsets.topic_ids`."""


@dataclass(frozen=True, slots=True)
class OutsideRequest:
    """A request that the core does not send: of administration (net.admin_requests), or with metrics (net.telemetry_requests)."""


Request = (
    FindCoordinator
    | Heartbeat
    | LeaveGroup
    | JoinGroup
    | SyncGroup
    | ClassicHeartbeat
    | DescribeTopics
    | ResolveTopics
    | DescribeGroup
    | DescribeClassicGroup
    | DescribeSessionTimeout
    | CommitOffsets
    | FetchOffsets
    | OutsideRequest
)

# --- responses: what a broker may say --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CoordinatorFound:
    node: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatAccepted:
    """`assignment` None means no news; empty means "own nothing"."""

    epoch: int
    interval_s: float
    assignment: Partitions | None = None


@dataclass(frozen=True, slots=True)
class GroupLeft:
    pass


@dataclass(frozen=True, slots=True)
class MemberIdGiven:
    """The coordinator wants the join again with this id, so that a lost answer leaves no unknown member in the group."""

    member_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupJoined:
    """The whole group has joined. Only the leader gets the list of members."""

    generation: int
    member_id: str
    leader_id: str
    strategy: str
    members: tuple[MemberSubscription, ...] = ()
    skip_assignment: bool = False
    """The plan of this generation stands: a static leader came back, and the group did not rebalance."""

    @property
    def leads(self) -> bool:
        return self.member_id == self.leader_id


@dataclass(frozen=True, slots=True)
class GroupSynced:
    """Our share of the leader's plan."""

    share: frozenset[TopicPartition]
    readable: bool = True
    """False if the leader wrote the assignment in a form that we cannot read; the share is then empty."""


@dataclass(frozen=True, slots=True)
class HeartbeatConfirmed:
    """Answer to ClassicHeartbeat: the member is in the generation that it named, and the group does not rebalance."""


@dataclass(frozen=True, slots=True)
class TopicsDescribed:
    """Layouts by topic name. Topics that the broker does not know, or may not show us, are missing."""

    layouts: Mapping[str, TopicLayout]
    denied: frozenset[str] = frozenset()
    """Topics that the broker may not show us."""
    unknown: frozenset[str] = frozenset()
    """Topics that were asked for and that the broker does not know."""


@dataclass(frozen=True, slots=True)
class TopicsResolved:
    """Names of the topics that the broker knows; the others are missing from the mapping."""

    names: Mapping[UUID, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberDescription:
    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    epoch: int = -1
    current: frozenset[TopicPartition] = frozenset()
    target: frozenset[TopicPartition] = frozenset()
    topics: frozenset[str] = frozenset()
    """The topics that it subscribed to by name."""
    regex: str = ""
    is_classic: bool = False
    """True if it speaks the classic protocol, perhaps in a group of KIP-848 that is being migrated."""
    has_assignor_data: bool = False
    """The leader of its classic group wrote data of the assignor into its assignment."""


@dataclass(frozen=True, slots=True)
class GroupDescribed:
    """Epochs are -1 in a group of the classic protocol, which does not tell its generation; targets equal currents."""

    members: tuple[MemberDescription, ...]
    state: str = ""
    epoch: int = -1
    assignment_epoch: int = -1
    assignor: str = ""


@dataclass(frozen=True, slots=True)
class SessionTimeoutDescribed:
    session_timeout_s: float


@dataclass(frozen=True, slots=True)
class OffsetsCommitted:
    """An error code for each partition; 0 where its offset was committed."""

    codes: Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class OffsetsFetched:
    """The committed offset of each partition, None where there is none; partitions with an error are in `codes` instead."""

    offsets: Mapping[TopicPartition, Offset | None]
    codes: Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class Refused:
    """The broker answered with an error."""

    code: int
    message: str | None = None


@dataclass(frozen=True, slots=True)
class OutsideResponse:
    """The answer to an OutsideRequest."""


Response = (
    CoordinatorFound
    | HeartbeatAccepted
    | GroupLeft
    | MemberIdGiven
    | GroupJoined
    | GroupSynced
    | HeartbeatConfirmed
    | TopicsDescribed
    | TopicsResolved
    | GroupDescribed
    | SessionTimeoutDescribed
    | OffsetsCommitted
    | OffsetsFetched
    | OutsideResponse
    | Refused
)


class FailureKind(enum.Enum):
    """Why a request got no answer."""

    UNREACHABLE = "unreachable"
    """No connection could be made; the request was not sent."""

    DISCONNECTED = "disconnected"
    """The connection ended; the request may or may not have been processed."""

    TIMED_OUT = "timed out"
    """No answer came within the request timeout; the request may or may not have been processed."""

    NOT_KAFKA = "not kafka"
    """What came back cannot be a Kafka broker's answer."""

    AUTHENTICATION = "authentication"
    """The broker does not accept our credentials; the request was not sent."""

    UNTRUSTED = "untrusted"
    """We do not accept the broker's certificate; the request was not sent."""

    UNSUPPORTED = "unsupported"
    """The broker lacks the request, or every version of it that we could use; it was not sent."""

    UNENCODABLE = "unencodable"
    """Kafka's format cannot hold what the request says; it was not sent."""


# --- events ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Subscribe:
    """The user subscribes to topic names, or to one server-side regular expression (RE2J)."""

    topics: frozenset[str] = frozenset()
    regex: str | None = None
    named: frozenset[str] = frozenset()
    """Topics that the application named beside patterns. The regular expression matches them, too."""

    @property
    def expected(self) -> frozenset[str]:
        """The topics that the application named, and which should exist."""
        return self.topics if self.regex is None else self.named


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsubscribe:
    mode: LeaveMode = LeaveMode.DEFAULT
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Close:
    mode: LeaveMode = LeaveMode.DEFAULT
    reason: str | None = None
    timeout_s: float
    callback_timeout_s: float | None = None
    """How long each callback may take, in addition to `timeout_s`; None if callbacks count as part of `timeout_s`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebalance:
    """The user wants the group to rebalance, and says why."""

    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Polled:
    """The application polled at that time, which may lie before the step that records it."""

    at: float


@dataclass(frozen=True, slots=True)
class Answered:
    request_id: int
    response: Response
    throttle_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Failed:
    request_id: int
    kind: FailureKind
    detail: str


@dataclass(frozen=True, slots=True)
class CallbackReturned:
    """A callback that the member asked for (`RunCallback`) has returned or raised."""

    call_id: int
    error: str | None = None
    """The exception, as text with its traceback, if it raised."""
    began_at: float | None = None
    """When it really began: a consumer's callbacks wait for a poll."""
    thread: str | None = None


@dataclass(frozen=True, slots=True)
class CallbackDelayed:
    """A callback cannot begin yet: a consumer's assigned callback needs the committed offsets first."""

    call_id: int
    since: float
    """When the wait began."""
    why: str
    """What the callback waits for, and the last answer about it."""


@dataclass(frozen=True, slots=True)
class CoordinatorDoubted:
    """A request beside the membership learned that this broker is not the coordinator, or does not answer."""

    node: Node


@dataclass(frozen=True, slots=True)
class MembershipDoubted:
    """A request beside the membership was refused because the coordinator no longer knows this member."""


@dataclass(frozen=True, slots=True)
class KeeperReported:
    """The keeper process may have sent heartbeats in the place of this member: `heartbeat.keeper`."""

    asked_epoch: int
    """The epoch or generation under which the keeper was asked to send them."""
    epoch: int
    """The newest epoch or generation that the coordinator told the keeper."""
    confirmed_at: float | None = None
    """When the keeper sent the last heartbeat that the coordinator accepted; None if there is none."""


class SiblingChange(enum.Enum):
    """What happened to a sibling: another member of the same group in the same process."""

    NEW_EPOCH = "new epoch"
    """The coordinator told the sibling a newer epoch, so there is a newer target for all members (KIP-848)."""

    GAVE_BACK = "gave back"
    """The coordinator knows that the sibling has given partitions back, so others may get them (KIP-848)."""

    LEFT = "left"
    """The sibling has left the group."""

    JOINS = "joins"
    """The sibling sends a join, for which the group rebalances (classic)."""


@dataclass(frozen=True, slots=True)
class SiblingChanged:
    """A sibling changed, so the coordinator may have news for this member: it sends its heartbeat at once."""

    change: SiblingChange
    epoch: int
    """The epoch of the sibling."""


@dataclass(frozen=True, slots=True)
class Tick:
    """Nothing happened except that time passed."""


Event = (
    Subscribe
    | Unsubscribe
    | Close
    | Rebalance
    | Polled
    | Answered
    | Failed
    | CallbackReturned
    | CallbackDelayed
    | CoordinatorDoubted
    | MembershipDoubted
    | KeeperReported
    | SiblingChanged
    | Tick
)

# --- effects ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Send:
    """Send the request to the broker `to`, or to any bootstrap broker if it is None. Followed by Answered, Failed, or nothing."""

    request_id: int
    to: Node | None
    request: Request


@dataclass(frozen=True, slots=True)
class Disconnect:
    """Drop the connection: a request on it went unanswered, and Kafka answers in order."""

    to: Node | None


class CallbackKind(enum.Enum):
    """Which of the listener's three callbacks is to run."""

    ASSIGNED = "assigned"
    REVOKED = "revoked"
    LOST = "lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCallback:
    """Run the user's callback, not on the thread that owns the member. Followed by CallbackReturned."""

    call_id: int
    kind: CallbackKind
    partitions: tuple[TopicPartition, ...]
    epoch: int
    cause: Cause
    deadline: float | None
    """When the coordinator stops waiting, by `time.monotonic()`; None where it does not wait for this callback."""
    provisional: bool
    """The assignment may be incomplete: see `Share.PENDING`."""


@dataclass(frozen=True, slots=True)
class TellLost:
    """The member was fenced while this callback runs: set `lost` of the callback's context."""

    call_id: int


class Budget(enum.Enum):
    """What has a time limit."""

    POLL = "the next poll"
    CALLBACK = "a callback"
    CLOSE = "the close"


@dataclass(frozen=True, slots=True)
class Warn:
    """A large part of a time limit is used up."""

    budget: Budget
    spent_s: float
    limit_s: float
    call_id: int | None = None
    """The callback, if the limit is a callback's."""


@dataclass(frozen=True, slots=True)
class LookAtCallback:
    """Record the stack of the thread that a callback runs on, or waits for. No warning is logged."""

    call_id: int
    spent_s: float
    """How long ago the callback was wanted."""


@dataclass(frozen=True, slots=True)
class Stop:
    """The member is closed: end the thread."""


Effect = Send | Disconnect | RunCallback | TellLost | Warn | LookAtCallback | Stop
