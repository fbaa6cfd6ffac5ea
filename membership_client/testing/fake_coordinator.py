"""A group coordinator in memory: answers KIP-848 requests as Kafka 4.3 does, with the values that the core sends.

It has no socket, thread, clock or randomness, so the same requests at the same times get the same answers. It remembers what a
real coordinator remembers, above all which assignments it believes to have delivered.

Classic groups are in `fake_classic`, groups with members of both protocols in `fake_migration`. Access control is missing. Racks
are remembered and change nothing, as in Kafka 4.3, whose assignors ignore them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from membership_client.core.error_codes import Code
from membership_client.core.events import (
    ClassicHeartbeat,
    CommitOffsets,
    DescribeClassicGroup,
    DescribeGroup,
    DescribeSessionTimeout,
    DescribeTopics,
    FetchOffsets,
    FindCoordinator,
    GroupDescribed,
    GroupLeft,
    Heartbeat,
    HeartbeatAccepted,
    JoinGroup,
    LeaveGroup,
    MemberDescription,
    MemberIdGiven,
    OutsideRequest,
    Refused,
    Request,
    ResolveTopics,
    Response,
    SessionTimeoutDescribed,
    SyncGroup,
    TopicsDescribed,
    TopicsResolved,
)
from membership_client.partitions import NOTHING, Partitions
from membership_client.subscriptions import TopicLayout
from membership_client.testing.fake_classic import FakeClassicGroup, Reply
from membership_client.testing.fake_group import TEMPORARY_LEAVE_EPOCH, FakeGroup
from membership_client.testing.fake_migration import (
    Blobs,
    PlainBlobs,
    check_strategies,
    downgraded,
    heartbeat,
    is_for_downgrade,
    joined,
    partitions_of,
    sync,
    upgraded,
)
from membership_client.testing.fake_patterns import PatternNews
from membership_client.testing.fake_reconciler import Enrolled, Goal, reconcile
from membership_client.testing.fake_refusals import RefusalError, check_epoch, check_heartbeat, refuse
from membership_client.testing.fake_topics import FakeTopics

JOIN_EPOCH = 0

GROUP_REQUESTS = (
    Heartbeat,
    LeaveGroup,
    DescribeGroup,
    DescribeClassicGroup,
    JoinGroup,
    SyncGroup,
    ClassicHeartbeat,
)
"""Requests that only the group's coordinator answers; any broker answers the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorSettings:
    """Settings of the broker, with Kafka's defaults. They may be replaced at any time, as on a broker."""

    heartbeat_interval_s: float = 5.0
    session_timeout_s: float = 45.0
    assignment_interval_s: float = 1.0
    """New targets are not computed more often than this; 0 computes them at once, as before 4.3."""
    offloads_assignor: bool = False
    """Whether targets are computed in the background, and used from the next heartbeat on (KIP-1263). No release has that yet."""
    max_size: int | None = None
    upgrades: bool = False
    """Whether a KIP-848 member may join a classic group that has members, which then has members of both protocols."""
    downgrades: bool = False
    """Whether such a group becomes classic again when its last KIP-848 member has left."""
    exempts_instances: bool = False
    """Whether a full group accepts a static member that comes back under another member id. Kafka 4.3.1 does not; later ones do."""
    rejoins_in_place: bool = True
    """Kafka 4.0 and 4.1 fence a dynamic member that joins again while they still know it; later ones let it in."""


@dataclass(frozen=True, slots=True)
class Client:
    """The client that sends a request, as a broker knows it from the connection."""

    client_id: str = ""
    host: str = ""


class FakeCoordinator:
    """All groups of a cluster. `log` has what a broker would write to its log, with reasons of leaves."""

    def __init__(self, topics: FakeTopics, settings: CoordinatorSettings | None = None) -> None:
        self.topics = topics
        self.settings = settings or CoordinatorSettings()
        self.log: list[tuple[float, str]] = []
        self.id_suffix: Callable[[int], str] = str
        """See `FakeClassicGroup`."""
        self.blobs: Blobs = PlainBlobs()
        self._groups: dict[str, FakeGroup] = {}
        self._classic: dict[str, FakeClassicGroup] = {}
        self._quiet_until = float("-inf")
        """Until this time no timer expires. Every request resets it."""

    def ask(self, request: Request, now: float, client: Client, reply: Reply) -> None:
        """As `handle`, for requests that may be held back: `reply` is called with the answer, now or later."""
        if not isinstance(request, JoinGroup | SyncGroup | ClassicHeartbeat):
            reply(self.handle(request, now, client))
            return
        self.advance(now)
        self._quiet_until = float("-inf")
        mixed = self._groups.get(request.group_id)
        if mixed is not None and mixed.members:
            reply(self._answer_classic(mixed, request, now, client))
            return
        known = self._classic.get(request.group_id)
        group = known or FakeClassicGroup(request.group_id, self._note, id_suffix=self.id_suffix)
        group.max_size = self.settings.max_size
        if isinstance(request, JoinGroup):
            self._classic[request.group_id] = group
            group.join(request, now, client.client_id, reply)
        elif isinstance(request, SyncGroup):
            group.sync(request, now, reply)
        else:
            group.heartbeat(request, now, reply)

    def handle(self, request: Request, now: float, client: Client | None = None) -> Response:
        """The answer to a request that reaches the coordinator at `now`, which must not go back."""
        if isinstance(request, GROUP_REQUESTS):
            self.advance(now)
            self._quiet_until = float("-inf")
        try:
            return self._answer(request, now, client or Client())
        except RefusalError as refusal:
            return refusal.answer

    def _answer(self, request: Request, now: float, client: Client) -> Response:  # noqa: PLR0911, C901 - one per request
        match request:
            case Heartbeat():
                check_heartbeat(request)
                return self._leave(request, now) if request.epoch < 0 else self._beat(request, now, client)
            case LeaveGroup():
                classic = self._classic.get(request.group_id)
                return classic.leave(request, now) if classic else self._leave_with_reason(request, now)
            case DescribeTopics():
                layouts = self._layouts(request.topics)
                return TopicsDescribed(layouts, unknown=(request.topics or frozenset()).difference(layouts))
            case DescribeClassicGroup():
                found = self._classic.get(request.group_id)
                return found.describe() if found else Refused(Code.GROUP_ID_NOT_FOUND)
            case ResolveTopics():
                return TopicsResolved(self.topics.names_of(request.topic_ids))
            case DescribeGroup():
                return self._describe(request.group_id)
            case DescribeSessionTimeout():
                return SessionTimeoutDescribed(self.settings.session_timeout_s)
            case FindCoordinator():
                return Refused(Code.COORDINATOR_NOT_AVAILABLE)  # `FakeCluster` answers it.
            case CommitOffsets() | FetchOffsets():
                return Refused(Code.UNSUPPORTED_VERSION)  # This coordinator keeps no offsets.
            case JoinGroup() | SyncGroup() | ClassicHeartbeat():
                return Refused(Code.UNSUPPORTED_VERSION)  # These may be held back: see `ask`.
            case OutsideRequest():
                return Refused(Code.UNSUPPORTED_VERSION)  # Members never send these.

    def _layouts(self, names: frozenset[str] | None) -> dict[str, TopicLayout]:
        """The layouts of these topics. A topic that is not in the metadata yet is left out, as on a broker that lags behind."""
        told = (topic for topic in self.topics if topic.topic_id not in self.topics.unnamed)
        wanted = (topic for topic in told if names is None or topic.name in names)
        return {topic.name: TopicLayout(topic.partitions, topic_id=topic.topic_id) for topic in wanted}

    # --- for observers -----------------------------------------------------------------------------------------------------

    def group(self, group_id: str) -> FakeGroup | None:
        return self._groups.get(group_id)

    def classic_group(self, group_id: str) -> FakeClassicGroup | None:
        return self._classic.get(group_id)

    def member(self, group_id: str, member_id: str) -> Enrolled | None:
        group = self._groups.get(group_id)
        return group.members.get(member_id) if group else None

    def term(self, group_id: str, member_id: str) -> int | None:
        """The number of the join that began this membership; None if the coordinator no longer knows the member."""
        group = self._groups.get(group_id)
        return group.terms.get(member_id) if group else None

    def group_ids(self) -> frozenset[str]:
        return frozenset({*self._groups, *self._classic})

    # --- faults ------------------------------------------------------------------------------------------------------------

    def forget(self, group_id: str) -> None:
        """Forget a group without members, because it is deleted, or becomes a group of the other protocol."""
        self._groups.pop(group_id, None)
        self._classic.pop(group_id, None)

    def expel(self, group_id: str, member_id: str, now: float, why: str) -> bool:
        """Remove a member as if its session had ended. False if the group has no such member."""
        self.advance(now)
        self._quiet_until = float("-inf")
        group, classic = self._groups.get(group_id), self._classic.get(group_id)
        if group is not None and member_id in group.members:
            self._expel(group, group.members[member_id], now, why)
            return True
        return classic is not None and classic.expel(member_id, now, why)

    # --- time --------------------------------------------------------------------------------------------------------

    def next_timer(self) -> float:
        """When the next timer expires; infinity if there is none."""
        timers = [group.next_timer() for group in self._groups.values()]
        return min([*timers, *(group.next_timer() for group in self._classic.values())], default=float("inf"))

    def advance(self, now: float) -> None:
        """End the sessions, revocations and evaluations that are due."""
        if now < self._quiet_until:
            return
        for group in self._groups.values():
            while group.next_timer() <= now:
                self._expire_timers(group, group.next_timer())
        for classic in self._classic.values():
            while (at := classic.next_timer()) <= now:
                classic.expire_timers(at)
        self._quiet_until = self.next_timer()

    def _expire_timers(self, group: FakeGroup, at: float) -> None:
        if group.patterns.ready_at is not None and group.patterns.ready_at <= at:
            group.patterns_ready()
        for member_id, ends in tuple(group.sessions.items()):
            if ends <= at:
                self._expel(group, group.members[member_id], at, "its session expired")
        for member_id, ends in tuple(group.awaited.items()):
            if ends <= at and member_id in group.members:
                self._expel(group, group.members[member_id], at, "it did not join, or ask for its share, in time")
        for member_id, (ends, epoch) in tuple(group.patience.items()):
            if ends <= at:
                del group.patience[member_id]
                if group.members[member_id].epoch == epoch:
                    self._expel(group, group.members[member_id], at, f"it did not leave epoch {epoch} in time")

    def _expel(self, group: FakeGroup, member: Enrolled, at: float, why: str) -> None:
        self._remove(group, member, at)
        self._note(at, f"{member.member_id} expelled: {why}")

    def restart_timers(self, at: float) -> None:
        """Another broker has loaded the groups: every session and revocation gets its full time again."""
        self._quiet_until = float("-inf")
        for group in self._groups.values():
            group.restart_timers(at, self.settings.session_timeout_s)
        for classic in self._classic.values():
            classic.restart(at)

    def _note(self, at: float, text: str) -> None:
        self.log.append((at, text))

    # --- heartbeats --------------------------------------------------------------------------------------------------

    def _beat(self, request: Heartbeat, now: float, client: Client) -> Response:
        group = self._groups.get(request.group_id)
        if group is None:
            if request.epoch != JOIN_EPOCH:
                refuse(Code.GROUP_ID_NOT_FOUND, f"Consumer group {request.group_id} not found.")
            group = self._upgraded(request.group_id, now) or FakeGroup(request.group_id, self.topics)
        self._check_room(group, request)
        known = self._recognise(group, request)
        _check_regex(group, known, request)
        self._groups[request.group_id] = group
        return self._accept(group, known, request, now, client)

    def _check_room(self, group: FakeGroup, request: Heartbeat) -> None:
        limit = self.settings.max_size
        if limit is None or len(group.members) < limit or request.member_id in group.members:
            return
        if not self.settings.exempts_instances or group.holder(request.instance_id) is None:
            refuse(
                Code.GROUP_MAX_SIZE_REACHED, f"The consumer group has reached its maximum capacity of {limit} members."
            )

    def _recognise(self, group: FakeGroup, request: Heartbeat) -> Enrolled:
        """The member before this request: a known one, a new one, or the one that it replaces."""
        if request.instance_id is not None:
            return _recognise_static(group, request)
        member = group.members.get(request.member_id)
        if member is None:
            if request.epoch != JOIN_EPOCH:
                _unknown_member(group, request.member_id)
            return Enrolled(member_id=request.member_id)
        check_epoch(member, request, rejoins_in_place=self.settings.rejoins_in_place)
        return member

    def _accept(
        self, group: FakeGroup, known: Enrolled, request: Heartbeat, now: float, client: Client
    ) -> HeartbeatAccepted:
        if known.member_id != request.member_id:
            returned = replace(known, member_id=request.member_id)
            group.rename(known, returned)
            known = returned
        if request.epoch == JOIN_EPOCH:
            group.begin_term(request.member_id)
        updated = _told(known, request, client)
        matched = group.patterns.topics_of(known.regex)
        news = group.patterns.stated(known.regex, updated.regex, group.pattern_counts(), now)
        self._assign_with(group, updated, known.topics != updated.topics or news is PatternNews.READY, now)
        if updated != known:
            group.recount(matched - group.patterns.topics_of(known.regex))
        resubscribed = known.topics != updated.topics or news is not PatternNews.NOTHING
        member = self._reconcile(group, updated, request.owned, resubscribed, now)
        group.sessions[member.member_id] = now + self.settings.session_timeout_s
        return HeartbeatAccepted(
            epoch=member.epoch,
            interval_s=self.settings.heartbeat_interval_s,
            assignment=member.assigned if _is_full(request) or member.assigned != known.assigned else None,
        )

    def _assign_with(self, group: FakeGroup, member: Enrolled, changed: bool, now: float) -> None:
        """Compute targets if they are due: the first heartbeat of any member after the interval does that, and no timer."""
        group.take_computed()
        group.members[member.member_id] = member
        if changed:
            group.bump()
        changed |= group.notice_metadata()
        waits = group.assigned_at is not None and now < group.assigned_at + self.settings.assignment_interval_s
        if group.overdue and not waits:
            # Without a change Kafka uses the last count of subscriptions: it takes a new member without topics for one of the
            # others, and if that member is the first in the assignor's order, all members get nothing.
            assign = group.compute if self.settings.offloads_assignor else group.assign
            assign(now, alike=group.looks_alike() if changed else group.alike)

    @staticmethod
    def _reconcile(
        group: FakeGroup, member: Enrolled, owned: Partitions | None, resubscribed: bool, now: float
    ) -> Enrolled:
        goal = Goal(
            epoch=max(group.target_epoch, 1),  # A member's epoch is at least 1, also before the first targets.
            partitions=group.targets.get(member.member_id, NOTHING),
            subscribed=group.topic_ids(member),
            resubscribed=resubscribed,
            owned=owned,
            held_by_others=group.held_by_others(member.member_id),
        )
        after = reconcile(member, goal)
        group.reconciled(member, after, now)
        if after != member:
            group.recount()
        return after

    # --- leaving -----------------------------------------------------------------------------------------------------

    def _leave(self, request: Heartbeat, now: float) -> Response:
        group = self._groups.get(request.group_id)
        if group is None:
            refuse(Code.GROUP_ID_NOT_FOUND, f"Group {request.group_id} not found.")
        member = _who_leaves(group, request.member_id, request.instance_id)
        if request.epoch == TEMPORARY_LEAVE_EPOCH:
            group.suspend(member)
            self._note(now, f"{member.member_id} left temporarily")
        else:
            self._remove(group, member, now)
            self._note(now, f"{member.member_id} left")
        return HeartbeatAccepted(epoch=request.epoch, interval_s=0.0)

    def _leave_with_reason(self, request: LeaveGroup, now: float) -> Response:
        group = self._groups.get(request.group_id)
        if group is None:
            refuse(Code.UNKNOWN_MEMBER_ID)
        try:
            # A request to remove an instance id has no member id.
            who = group.holder(request.instance_id) if not request.member_id else None
            member = who or _who_leaves(group, request.member_id, request.instance_id)
        except RefusalError as refusal:
            refuse(refusal.answer.code)  # LeaveGroup has no field for the message.
        self._remove(group, member, now)
        self._note(now, f"{member.member_id} left; client reason: {request.reason}")
        return GroupLeft()

    # --- both protocols in one group ---------------------------------------------------------------------------------

    def _upgraded(self, group_id: str, now: float) -> FakeGroup | None:
        """The classic group converted to one of both protocols; None if it has no members, or must not be upgraded."""
        classic = self._classic.get(group_id)
        if classic is None or not classic.members or not self.settings.upgrades:
            return None
        del self._classic[group_id]
        return upgraded(classic, self.topics, self.blobs, now)

    def _remove(self, group: FakeGroup, member: Enrolled, now: float) -> None:
        epoch = group.epoch
        group.remove(member)
        if member.classic is None and self._downgrade(group, epoch, now):
            self._classic[group.group_id].rebalance(now, "the last member of the consumer protocol is gone")

    def _downgrade(self, group: FakeGroup, epoch: int, now: float) -> bool:
        if not self.settings.downgrades or not is_for_downgrade(group):
            return False
        classic = downgraded(group, epoch, self._note, self.blobs, now)
        classic.id_suffix = self.id_suffix
        self._classic[group.group_id] = classic
        del self._groups[group.group_id]
        return True

    def _answer_classic(
        self, group: FakeGroup, request: JoinGroup | SyncGroup | ClassicHeartbeat, now: float, client: Client
    ) -> Response:
        try:
            if isinstance(request, JoinGroup):
                return self._join_mixed(group, request, now, client)
            return sync(group, request, now) if isinstance(request, SyncGroup) else heartbeat(group, request, now)
        except RefusalError as refusal:
            return refusal.answer

    def _join_mixed(self, group: FakeGroup, request: JoinGroup, now: float, client: Client) -> Response:
        if not (self.settings.upgrades or self.settings.downgrades):
            refuse(Code.INCONSISTENT_GROUP_PROTOCOL)
        is_full = self.settings.max_size is not None and len(group.members) >= self.settings.max_size
        if is_full and request.member_id not in group.members:
            refuse(Code.GROUP_MAX_SIZE_REACHED)
        check_strategies(group, request)
        member_id = request.member_id or f"{request.instance_id or client.client_id}-{self.id_suffix(len(group.terms))}"
        if not request.member_id and request.instance_id is None:
            return MemberIdGiven(member_id)
        holder = group.holder(request.instance_id)
        if holder is not None and request.member_id and holder.member_id != request.member_id:
            refuse(Code.FENCED_INSTANCE_ID)
        known = group.members.get(member_id, Enrolled(member_id=member_id))
        if holder is not None and holder.member_id != member_id:
            known = replace(holder, member_id=member_id, epoch=JOIN_EPOCH, previous_epoch=JOIN_EPOCH)
            group.rename(holder, known)
        member = self._accept_classic(group, known, request, now, client)
        if holder is not None and holder.classic is None:
            self._downgrade(group, group.epoch, now)
        return joined(member, request)

    def _accept_classic(
        self, group: FakeGroup, known: Enrolled, request: JoinGroup, now: float, client: Client
    ) -> Enrolled:
        subscription = self.blobs.subscription(request)
        if known.epoch == JOIN_EPOCH:
            group.begin_term(known.member_id)
        updated = replace(
            known,
            instance_id=request.instance_id or known.instance_id,
            rebalance_timeout_s=request.rebalance_timeout_s,
            topics=subscription.topics,
            classic=request,
            client_id=client.client_id,
            host=client.host,
        )
        resubscribed = known.topics != updated.topics
        self._assign_with(group, updated, resubscribed, now)
        group.recount()
        owned = partitions_of(subscription.owned, self.topics)
        member = self._reconcile(group, updated, owned, resubscribed, now)
        group.sessions[member.member_id] = now + request.session_timeout_s
        group.awaited[member.member_id] = now + request.rebalance_timeout_s
        return member

    # --- describing --------------------------------------------------------------------------------------------------

    def _describe(self, group_id: str) -> Response:
        group = self._groups.get(group_id)
        if group is None:
            return Refused(Code.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
        return GroupDescribed(
            tuple(
                MemberDescription(member_id=m.member_id, instance_id=m.instance_id, client_id=m.client_id, host=m.host)
                for m in group.members.values()
            )
        )


def _recognise_static(group: FakeGroup, request: Heartbeat) -> Enrolled:
    """Find the holder of the instance id. A member that joins with the id gets it only after the holder left, even if it is the holder."""
    holder = group.holder(request.instance_id)
    if request.epoch == JOIN_EPOCH:
        if holder is None:
            return group.members.get(request.member_id, Enrolled(member_id=request.member_id))
        if holder.epoch != TEMPORARY_LEAVE_EPOCH and holder.classic is None:
            refuse(
                Code.UNRELEASED_INSTANCE_ID,
                f"Static member {request.member_id} with instance id {request.instance_id} cannot join the group "
                f"because the instance id is owned by {holder.member_id} member.",
            )
        return replace(holder, epoch=JOIN_EPOCH, previous_epoch=JOIN_EPOCH)
    holder = _require_holder(group, request.member_id, request.instance_id)
    check_epoch(holder, request)
    return holder


def _require_holder(group: FakeGroup, member_id: str, instance_id: str | None) -> Enrolled:
    holder = group.holder(instance_id)
    if holder is None:
        refuse(Code.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    if holder.member_id != member_id:
        refuse(
            Code.FENCED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} was fenced by member {holder.member_id}.",
        )
    return holder


def _who_leaves(group: FakeGroup, member_id: str, instance_id: str | None) -> Enrolled:
    if instance_id is not None:
        return _require_holder(group, member_id, instance_id)
    return group.members.get(member_id) or _unknown_member(group, member_id)


def _unknown_member(group: FakeGroup, member_id: str) -> Enrolled:
    refuse(Code.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {group.group_id}.")


def _check_regex(group: FakeGroup, known: Enrolled, request: Heartbeat) -> None:
    """Refuse a pattern that cannot be compiled. A pattern that another member has is not checked again."""
    if not request.regex or request.regex == known.regex or request.regex in group.pattern_counts():
        return
    try:
        re.compile(request.regex)
    except re.error as error:
        refuse(
            Code.INVALID_REGULAR_EXPRESSION,
            f"SubscribedTopicRegex `{request.regex}` is not a valid regular expression: {error.msg}.",
        )


def _told(known: Enrolled, request: Heartbeat, client: Client) -> Enrolled:
    """The member with the fields of the request. Fields that the request leaves out stay as they are."""
    timeout_s = request.rebalance_timeout_s
    return replace(
        known,
        instance_id=known.instance_id if request.instance_id is None else request.instance_id,
        rebalance_timeout_s=known.rebalance_timeout_s if timeout_s is None else timeout_s,
        topics=known.topics if request.topics is None else frozenset(request.topics),
        regex=known.regex if request.regex is None else request.regex,
        classic=None,
        assignor=known.assignor if request.assignor is None else request.assignor,
        rack_id=known.rack_id if request.rack_id is None else request.rack_id,
        client_id=client.client_id,
        host=client.host,
    )


def _is_full(request: Heartbeat) -> bool:
    """Whether the request has all fields. Then the answer has the assignment, even if it did not change."""
    stated = request.topics is not None or request.regex is not None
    says_all = request.rebalance_timeout_s is not None and stated and request.owned is not None
    return request.epoch == JOIN_EPOCH or says_all
