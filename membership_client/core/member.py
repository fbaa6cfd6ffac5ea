"""A member as one immutable value, and the table of the ways its state may change."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from uuid import UUID

from membership_client.config import MemberConfig
from membership_client.core.backoff import ASAP, FRESH, Backoff
from membership_client.core.events import CallbackDelayed, CallbackKind, Effect, GroupJoined, Request, Subscribe
from membership_client.errors import Identity, Problem
from membership_client.partitions import NOTHING, Partitions
from membership_client.subscriptions import NO_GENERATION, TopicLayout
from membership_client.types import (
    Cause,
    CloseStep,
    GroupProtocol,
    Holder,
    LeaveMode,
    MemberState,
    Node,
    TopicPartition,
)
from membership_client.values import dataclass, replace

S = MemberState

_MOVES: Mapping[tuple[MemberState, MemberState], str] = MappingProxyType(
    {
        (S.UNSUBSCRIBED, S.JOINING): "subscribed",
        (S.JOINING, S.RECONCILING): "let in",
        (S.RECONCILING, S.ACK): "callbacks done",
        (S.ACK, S.STABLE): "owned list confirmed",
        (S.ACK, S.RECONCILING): "new target",
        (S.STABLE, S.RECONCILING): "new target",
        (S.STABLE, S.JOINING): "the group rebalances (classic), or dropped while it owned nothing",
        (S.RECONCILING, S.JOINING): "the group rebalances (classic), or dropped while it owned nothing",
        (S.JOINING, S.FENCED): "dropped by the coordinator",
        (S.RECONCILING, S.FENCED): "dropped by the coordinator",
        (S.ACK, S.FENCED): "dropped by the coordinator",
        (S.STABLE, S.FENCED): "dropped by the coordinator",
        (S.FENCED, S.JOINING): "partitions lost, joins again",
        (S.FENCED, S.UNSUBSCRIBED): "unsubscribed meanwhile",
        (S.FENCED, S.FATAL): "another holds the instance id, or a bug ended the membership thread",
        (S.JOINING, S.STALE): "poll interval exceeded",
        (S.RECONCILING, S.STALE): "poll interval exceeded",
        (S.ACK, S.STALE): "poll interval exceeded",
        (S.STABLE, S.STALE): "poll interval exceeded",
        (S.STALE, S.JOINING): "polled again",
        (S.STALE, S.UNSUBSCRIBED): "unsubscribed meanwhile",
        (S.JOINING, S.LEAVING): "unsubscribed or closed",
        (S.RECONCILING, S.LEAVING): "unsubscribed or closed",
        (S.ACK, S.LEAVING): "unsubscribed or closed",
        (S.STABLE, S.LEAVING): "unsubscribed or closed",
        (S.FENCED, S.LEAVING): "closed",
        (S.STALE, S.LEAVING): "closed",
        (S.LEAVING, S.UNSUBSCRIBED): "left",
        (S.LEAVING, S.FATAL): "left after a failed callback, or a bug ended the membership thread",
        (S.JOINING, S.FATAL): "error that repeating cannot mend",
        (S.RECONCILING, S.FATAL): "error that repeating cannot mend",
        (S.ACK, S.FATAL): "error that repeating cannot mend",
        (S.STABLE, S.FATAL): "error that repeating cannot mend",
        (S.UNSUBSCRIBED, S.FATAL): "a bug ended the membership thread",
        (S.STALE, S.FATAL): "a bug ended the membership thread",
        (S.FATAL, S.UNSUBSCRIBED): "new subscription, where the cause allows it, during a lost callback or the leave",
    }
)
"""The changes that `move` makes."""

_THROUGH_OTHERS: Mapping[tuple[MemberState, MemberState], str] = MappingProxyType(
    {
        (S.RECONCILING, S.STABLE): "callbacks done, and nothing was taken away (classic)",
        (S.JOINING, S.STABLE): "the same share again (classic)",
        (S.ACK, S.JOINING): "dropped while it owned nothing",
        (S.JOINING, S.UNSUBSCRIBED): "unsubscribed or closed without a coordinator to tell",
        (S.RECONCILING, S.UNSUBSCRIBED): "unsubscribed or closed without a coordinator to tell",
        (S.ACK, S.UNSUBSCRIBED): "unsubscribed or closed without a coordinator to tell",
        (S.STABLE, S.UNSUBSCRIBED): "unsubscribed or closed without a coordinator to tell",
        (S.LEAVING, S.JOINING): "left, and subscribed meanwhile",
        (S.FATAL, S.JOINING): "new subscription, where the cause allows it",
        (S.FENCED, S.STALE): "partitions lost, and the poll interval is exceeded",
    }
)
"""One step can make several moves, and observers see its first and its last state only: these pairs are no single move."""

TRANSITIONS: Mapping[tuple[MemberState, MemberState], str] = MappingProxyType({**_MOVES, **_THROUGH_OTHERS})
"""Every change of state that an observer can see, and what it means. The diagram in the docs is drawn from this."""

IN_GROUP = frozenset({S.JOINING, S.RECONCILING, S.ACK, S.STABLE})
"""States in which the member takes part in rebalances."""

OUT_OF_GROUP = frozenset({S.FENCED, S.STALE, S.FATAL, S.UNSUBSCRIBED})
"""States in which partitions that the member still counts as owned are lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """What a heartbeat tells the coordinator about us; kept once accepted, so that only changes are sent."""

    subscription: Subscribe
    owned: Partitions
    reconciled: int
    """Number of the last target that was fully reconciled: "same partitions, new target" needs an ack too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InFlight:
    """A request without an answer yet."""

    request_id: int
    request: Request
    to: Node | None
    sent_at: float
    claims: Claims | None = None
    enrolled: bool = False
    """`Member.enrolled` before it was sent."""


@dataclass(frozen=True, slots=True)
class Target:
    """What the coordinator wants us to own. Numbers grow with every different target and never repeat."""

    partitions: Partitions
    number: int
    follow_up: bool = False
    """True if it takes partitions away from a member of a cooperative group, which then joins again so that others get them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Classic:
    """The part of a member that only the classic protocol needs."""

    given_id: str = ""
    """The member id that the coordinator gave us; empty while it has not."""
    reason: str = ""
    """Why we join: said by the join that is due or under way, and kept until a plan has come."""
    rejoin: str | None = None
    """Reason for the rebalance that this member will trigger; None if it will trigger none."""
    admission: GroupJoined | None = None
    """The answer to our join, while our share of the plan is still to come."""
    leads: bool = False
    """We made the plan of this generation, and watch the topics it is about."""
    planned_in: int = NO_GENERATION
    """The generation that gave us our target."""
    held: frozenset[TopicPartition] = frozenset()
    """Our share of that generation's plan, remembered also after it was given back to join again."""
    layouts: Mapping[str, TopicLayout] | None = None
    """The topics as we last saw them; None before the first time, or once they must be looked at anew."""
    watched: frozenset[str] = frozenset()
    """The topics of all members, if we lead the group."""
    planned_by: Mapping[str, TopicLayout] | None = None
    """The topics as they were when we made the plan."""
    survey_due: float = 0.0
    check_at: float | None = None
    """When the plan is to be compared with the topics: it was made before we came back to lead, or left something out."""
    misfits: frozenset[str] = frozenset()
    """Topics that plans gave us although we did not subscribe to them, since we last joined with other topics."""
    mismatched_at: float | None = None
    """When we first heard that no strategy is common to all members."""
    topic_ids: Mapping[str, UUID] = field(default_factory=lambda: MappingProxyType({}))
    """The ids of our topics when we got their partitions: another topic may have the name by now. Old brokers have no ids."""
    replaced: frozenset[str] = frozenset()
    """Topics that were deleted and created again under the same name."""
    unidentified: bool = False
    """A plan has come, and the ids of its topics are still to be looked up."""
    calm_at: float | None = None
    """When the last request was sent whose answer did not tell of a rebalance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningCall:
    """A user callback that has not returned yet."""

    call_id: int
    kind: CallbackKind
    partitions: Partitions
    began_at: float
    warned: bool = False
    looks: int = 0
    """How often the stack of its thread was recorded."""
    delayed: CallbackDelayed | None = None
    """Why it cannot begin yet; None if nothing was told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Departure:
    """A leave under way: its reason, mode and time limit, and what is done already."""

    mode: LeaveMode
    reason: str
    cause: Cause
    began_at: float
    give_up_at: float | None
    ending: MemberState
    callback_timeout_s: float | None = None
    """See `Close.callback_timeout_s`."""
    closes: bool = False
    problem: Problem | None = None
    telling_since: float | None = None
    reason_refused: bool = False
    """The broker would not take a leave with a reason, so the plain one follows."""
    outcome: str | None = None
    """How telling the coordinator ended; None while it has not."""
    clean: bool = True
    warned: bool = False
    steps: tuple[CloseStep, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicCheck:
    """Whether the subscribed topics exist, as far as this member has looked."""

    topics: frozenset[str] = frozenset()
    """In question: subscribed by name, and the member has no partitions of them."""
    due: float | None = None
    """When they are looked up next; None if none is in question."""
    missing: Mapping[str, str | None] = field(default_factory=lambda: MappingProxyType({}))
    """Topics that do not exist, each with the nearest name that does."""
    unnamed: frozenset[str] = frozenset()
    """Topics that do not exist, and whose nearest name is still to be looked for."""


class IdConflictStep(enum.Enum):
    """What is asked next about an instance id that is taken."""

    IDENTIFY = "identify the holder"
    MEASURE = "measure its session timeout"
    RELEASE = "release it on the holder's behalf"
    RETRY = "join again"


@dataclass(frozen=True, slots=True, kw_only=True)
class IdConflict:
    """Another member, or an earlier run of this one, holds our instance id."""

    step: IdConflictStep
    since: float
    give_up_at: float | None
    detail: str
    epoch: int = 0
    """Our epoch when the conflict began: 0 if a join was refused, more if a member was fenced."""
    holder: Holder | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A heartbeat that siblings make due, beside the regular ones: see siblings.py."""

    due: float | None = None
    needless_from: int | None = None
    """An answer with this epoch or a newer one makes the heartbeat needless; None if only a later heartbeat can tell."""
    repeat_since: float | None = None
    """When a sibling changed in a way that the coordinator may not know yet."""
    told_epoch: int = 0
    """The newest epoch that siblings have told since the member joined."""
    not_before: float = ASAP
    """The limit of siblings.py allows no such heartbeat before this time."""


# Without slots, so that `replace` can copy it quickly.
@dataclass(frozen=True, kw_only=True)
class Member:
    """The whole state of one member. Changed only by `machine.step`, always as a whole."""

    config: MemberConfig
    member_id: str
    state: MemberState = S.UNSUBSCRIBED
    epoch: int = 0
    enrolled: bool = False
    """The coordinator may count us as a member, so it must be told when we leave."""
    subscription: Subscribe | None = None
    cause: Cause | None = None
    problem: Problem | None = None

    coordinator: Node | None = None
    interval_s: float = 5.0
    heartbeat_due: float = 0.0
    confirmed_at: float | None = None
    accepted: Claims | None = None
    """What the coordinator last accepted; None after any failure, so that the next heartbeat says everything."""
    stated: Subscribe | None = None
    """The subscription that the coordinator knows since the last join; unlike `accepted`, it outlives a failure."""
    denied_until: float | None = None
    """While set, our newest subscription is not stated: a denied heartbeat does not even reach the coordinator."""
    denial_backoff: Backoff = FRESH
    owed_gap_s: float | None = None
    """The next gap between early heartbeats while more partitions may be coming; None once that is over."""
    prompt: Prompt = Prompt()

    settled: GroupProtocol | None = None
    """The protocol that works with these brokers, once that is known: `auto` keeps to it."""
    classic: Classic = Classic()

    target: Target | None = None
    targets: int = 0
    reconciled: int = 0
    owned: Partitions = NOTHING
    names: Mapping[UUID, str] = field(default_factory=lambda: MappingProxyType({}))
    greeted: bool = False
    """The assigned callback has run since the last join, so an empty share has been announced."""

    call: RunningCall | None = None
    call_backoff: Backoff = FRESH
    dialogue: InFlight | None = None
    """The one request under way with the coordinator about the membership itself."""
    dialogue_backoff: Backoff = FRESH
    join_keepalive: InFlight | None = None
    """A heartbeat beside a join that waits for others (classic)."""
    lookup: InFlight | None = None
    lookup_backoff: Backoff = FRESH
    naming: InFlight | None = None
    naming_backoff: Backoff = FRESH
    survey: InFlight | None = None
    """A request for the layouts of topics, as the leader of a classic group sends it."""
    survey_backoff: Backoff = FRESH
    checking: InFlight | None = None
    """A request that tells whether subscribed topics exist."""
    topic_check: TopicCheck = TopicCheck()

    departure: Departure | None = None
    id_conflict: IdConflict | None = None
    fences: int = 0
    """Fences since the member was last stable."""
    polled_at: float | None = None
    """None while the application does not poll: then there is no poll interval to exceed."""
    poll_warnings: int = 0
    closed: Departure | None = None
    """The close that has ended; None before that."""
    ids: int = 0

    @property
    def protocol(self) -> GroupProtocol:
        """The protocol that the member speaks; with `auto` KIP-848, until the brokers have shown that they do not."""
        return _CHOSEN.get(self.config.group_protocol) or self.settled or GroupProtocol.CONSUMER

    @property
    def wanted_topics(self) -> frozenset[UUID]:
        """The topics of the target."""
        return self.target.partitions.topics if self.target else frozenset()

    @property
    def known_as(self) -> str:
        """The member id by which the coordinator knows us; empty if it does not yet."""
        return self.classic.given_id if self.protocol is GroupProtocol.CLASSIC else self.member_id

    @property
    def identity(self) -> Identity:
        shown_as = self.known_as or self.member_id
        return Identity(self.config.group_id, shown_as, self.config.group_instance_id, self.epoch)

    @property
    def session_timeout_s(self) -> float:
        """The session timeout of the classic protocol; under KIP-848 the brokers set it."""
        return self.config.session_timeout_ms / 1000

    @property
    def request_timeout_s(self) -> float:
        return self.config.request_timeout_ms / 1000

    @property
    def poll_interval_s(self) -> float:
        return self.config.max_poll_interval_ms / 1000

    @property
    def unresolved(self) -> frozenset[UUID]:
        """Topics of the target whose names are not known yet."""
        return frozenset(self.target.partitions.topics.difference(self.names)) if self.target else frozenset()


_CHOSEN = {protocol.value: protocol for protocol in GroupProtocol}

Transition = tuple[Member, tuple[Effect, ...]]
"""What every handler and rule returns: the next member, and the effects to carry out."""


def move(member: Member, state: MemberState) -> Member:
    """Change the state, by the table of moves only. An illegal move is a bug in the core, never a user's mistake."""
    if state is not member.state and (member.state, state) not in _MOVES:
        raise AssertionError(f"illegal transition {member.state.name} -> {state.name}")
    return replace(member, state=state)


def with_problem(member: Member, problem: Problem) -> Member:
    """Record a problem with the epoch of now, and under a new number, so that repeated ones can be told apart."""
    epoch = member.epoch if problem.epoch is None else problem.epoch
    return replace(member, problem=replace(problem, number=member.ids + 1, epoch=epoch), ids=member.ids + 1)
