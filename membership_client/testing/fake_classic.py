"""A classic group in memory: answers JoinGroup and SyncGroup as Kafka 4.3 does, with the values that the core sends.

Joins wait until all members have joined, and syncs until the leader has sent its sync. So each request comes with a function,
which is called with the answer, now or later. The leader and the member ids depend only on the order of requests.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from membership_client.core.error_codes import Code
from membership_client.core.events import (
    ClassicHeartbeat,
    GroupDescribed,
    GroupJoined,
    GroupLeft,
    GroupSynced,
    HeartbeatConfirmed,
    JoinGroup,
    LeaveGroup,
    MemberDescription,
    MemberIdGiven,
    Refused,
    Response,
    SyncGroup,
)
from membership_client.subscriptions import MemberSubscription
from membership_client.types import TopicPartition

Reply = Callable[[Response], None]
Note = Callable[[float, str], None]

_NEVER = float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpaqueJoin(JoinGroup):
    """A JoinGroup as a broker receives it: the broker passes members' bytes on and does not read them."""

    protocol_type: str = "consumer"
    metadata: tuple[tuple[str, bytes], ...] = ()
    """The bytes of the member's metadata, by strategy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpaqueSync(SyncGroup):
    """A SyncGroup as a broker receives it."""

    shares: Mapping[str, bytes] = field(default_factory=dict)


class JoinPhase(enum.Enum):
    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"


@dataclass(slots=True, eq=False)
class ClassicMember:
    """A member as the coordinator knows it. While the member waits for an answer, its session does not end."""

    member_id: str
    client_id: str
    said: JoinGroup
    session_ends: float
    generation: int = -1
    """The last generation that it joined."""
    share: frozenset[TopicPartition] = frozenset()
    opaque_share: bytes = b""
    """The member's share as bytes, if the assignment came in an `OpaqueSync`."""
    join_reply: Reply | None = None
    sync_reply: Reply | None = None
    has_synced: bool = False
    planned_topics: frozenset[str] = frozenset()
    """The member's subscription when the present assignment was made. A static member that replaces another may have another one."""

    @property
    def instance_id(self) -> str | None:
        return self.said.instance_id


@dataclass(slots=True, eq=False)
class FakeClassicGroup:
    """One classic group. `max_size` may be changed at any time, as on a broker."""

    group_id: str
    note: Note
    max_size: int | None = None
    phase: JoinPhase = JoinPhase.EMPTY
    generation: int = 0
    strategy: str = ""
    leader_id: str | None = None
    members: dict[str, ClassicMember] = field(default_factory=dict)
    pending: dict[str, float] = field(default_factory=dict)
    """Member ids that were given to clients that have not joined with them yet, and when the group forgets them."""
    ends_at: float = _NEVER
    """When the group stops to wait for joins, or for syncs, also for those after the leader's."""
    ids: int = 0
    id_suffix: Callable[[int], str] = str
    """Makes the suffix of a member id from the number of ids that were given before."""

    # --- JoinGroup ---------------------------------------------------------------------------------------------------

    def join(self, request: JoinGroup, now: float, client_id: str, reply: Reply) -> None:
        holder = self._holder(request.instance_id)
        if not self._has_room_for(request.member_id):
            self._turn_away(request.member_id, now, reply)
        elif not self._can_vote_with(request.strategies):
            reply(Refused(Code.INCONSISTENT_GROUP_PROTOCOL))
        elif not request.member_id:
            self._join_newcomer(request, now, client_id, reply, holder)
        elif request.instance_id is not None and holder is not None and holder.member_id != request.member_id:
            reply(Refused(Code.FENCED_INSTANCE_ID))
        elif request.member_id in self.pending:
            del self.pending[request.member_id]
            self._add(request, now, client_id, reply)
        elif (member := self.members.get(request.member_id)) is None:
            reply(Refused(Code.UNKNOWN_MEMBER_ID))
        else:
            self._rejoin(member, request, now, reply)

    def _join_newcomer(
        self, request: JoinGroup, now: float, client_id: str, reply: Reply, holder: ClassicMember | None
    ) -> None:
        if holder is not None:
            self._replace(holder, request, now, client_id, reply)
        elif request.instance_id is not None:
            self._add(request, now, client_id, reply)
        else:
            given = self._new_id(client_id)
            self.pending[given] = now + request.session_timeout_s
            reply(MemberIdGiven(given))

    def _has_room_for(self, member_id: str) -> bool:
        """Whether the group has room for the member id. A static member that comes back without its id counts as a new one."""
        if self.max_size is None:
            return True
        known = self.members.get(member_id)
        if self.phase is not JoinPhase.PREPARING:
            return known is not None or len(self.members) < self.max_size
        joined = sum(member.join_reply is not None for member in self.members.values())
        return joined < self.max_size or (known is not None and known.join_reply is not None)

    def _turn_away(self, member_id: str, now: float, reply: Reply) -> None:
        """Refuse the join, also of a former member that is the last one to join a rebalance."""
        reply(Refused(Code.GROUP_MAX_SIZE_REACHED))
        self.pending.pop(member_id, None)
        if (member := self.members.get(member_id)) is not None:
            self._remove(member, now, "finds no room")

    def _can_vote_with(self, strategies: tuple[str, ...]) -> bool:
        return not self.members or bool(self._offered_by_all() & set(strategies))

    def _offered_by_all(self) -> frozenset[str]:
        first, *others = (frozenset(member.said.strategies) for member in self.members.values())
        return first.intersection(*others)

    def elect(self) -> str:
        """The strategy with most votes. Each member votes for its first strategy that all members have."""
        candidates = self._offered_by_all()
        likings = ([name for name in member.said.strategies if name in candidates] for member in self.members.values())
        return Counter(liking[0] for liking in likings).most_common(1)[0][0]

    def _new_id(self, name: str) -> str:
        self.ids += 1
        return f"{name}-{self.id_suffix(self.ids)}"

    def _add(self, request: JoinGroup, now: float, client_id: str, reply: Reply) -> None:
        member_id = request.member_id or self._new_id(request.instance_id or client_id)
        ends = now + request.session_timeout_s
        self.members[member_id] = ClassicMember(member_id, client_id, request, ends, join_reply=reply)
        self.rebalance(now, f"adding new member {member_id}; client reason: {request.reason}")

    def _replace(self, holder: ClassicMember, request: JoinGroup, now: float, client_id: str, reply: Reply) -> None:
        """Give the holder's place to the newcomer. A stable group stays stable: the newcomer gets the holder's partitions."""
        for waiting in (holder.join_reply, holder.sync_reply):
            if waiting is not None:
                waiting(Refused(Code.FENCED_INSTANCE_ID))
        del self.members[holder.member_id]
        member_id = self._new_id(request.instance_id or client_id)
        led = self.leader_id == holder.member_id
        ends = now + request.session_timeout_s
        member = ClassicMember(member_id, client_id, request, ends, holder.generation, holder.share)
        member.planned_topics, member.has_synced = holder.planned_topics, True
        member.opaque_share = holder.opaque_share
        self.members[member_id] = member
        self.leader_id = member_id if led else self.leader_id
        self.note(now, f"{member_id} replaces {holder.member_id}")
        if self.phase is JoinPhase.STABLE and holder.generation == self.generation:
            reply(self._joined(member, skip=led))
            return
        member.join_reply = reply
        if self.phase is not JoinPhase.PREPARING:
            self.rebalance(now, f"{member_id} came back while the plan was made")
        self._try_complete(now)

    def _rejoin(self, member: ClassicMember, request: JoinGroup, now: float, reply: Reply) -> None:
        changed = _metadata(member.said) != _metadata(request)
        member.said, member.session_ends = request, now + request.session_timeout_s
        leads = member.member_id == self.leader_id
        if self.phase is JoinPhase.PREPARING or changed or (leads and self.phase is JoinPhase.STABLE):
            member.join_reply = reply
            self.rebalance(now, f"{member.member_id} joins again; client reason: {request.reason}")
        else:
            # A static member that did not join the last rebalance is in its assignment, and may have its generation.
            member.generation = self.generation
            reply(self._joined(member, skip=False))

    def _joined(self, member: ClassicMember, *, skip: bool) -> GroupJoined:
        leads = member.member_id == self.leader_id
        return GroupJoined(
            generation=self.generation,
            member_id=member.member_id,
            leader_id=self.leader_id or "",
            strategy=self.strategy,
            members=tuple(map(self._subscription, self.members.values())) if leads else (),
            skip_assignment=skip,
        )

    def _subscription(self, member: ClassicMember) -> MemberSubscription:
        said = member.said
        return MemberSubscription(
            member_id=member.member_id,
            instance_id=said.instance_id,
            topics=said.topics,
            owned=said.held if self.strategy == "sticky" else said.owned,
            generation=said.generation,
            rack=said.rack,
        )

    # --- rebalances --------------------------------------------------------------------------------------------------

    def rebalance(self, now: float, why: str) -> None:
        if self.phase is not JoinPhase.PREPARING:
            for member in self.members.values():
                if member.sync_reply is not None:
                    reply, member.sync_reply = member.sync_reply, None
                    member.session_ends = now + member.said.session_timeout_s
                    reply(Refused(Code.REBALANCE_IN_PROGRESS))
            self.phase = JoinPhase.PREPARING
            self.ends_at = now + max((m.said.rebalance_timeout_s for m in self.members.values()), default=0.0)
            self.note(now, f"rebalance of generation {self.generation}: {why}")
        self._try_complete(now)

    def _try_complete(self, now: float) -> None:
        if self.phase is JoinPhase.PREPARING and not self.pending and all(m.join_reply for m in self.members.values()):
            self._complete(now)

    def _complete(self, now: float) -> None:
        """Remove members that have not joined, except static ones, which stay until their session ends."""
        for member in tuple(self.members.values()):
            if member.join_reply is None and member.instance_id is None:
                del self.members[member.member_id]
                self.note(now, f"{member.member_id} expelled: it did not join in time")
        joined = [member for member in self.members.values() if member.join_reply is not None]
        self.generation += 1
        if not joined:
            self.phase, self.ends_at = (JoinPhase.PREPARING, now + 1.0) if self.members else (JoinPhase.EMPTY, _NEVER)
            return
        if self.leader_id not in {member.member_id for member in joined}:
            self.leader_id = joined[0].member_id
        self.strategy = self.elect()
        self.phase = JoinPhase.COMPLETING
        self.ends_at = now + max(member.said.rebalance_timeout_s for member in joined)
        for member in self.members.values():
            member.has_synced = False
        for member in joined:
            member.generation = self.generation
            member.planned_topics = member.said.topics
            member.session_ends = now + member.said.session_timeout_s
        for member in joined:
            reply, member.join_reply = member.join_reply, None
            assert reply is not None
            reply(self._joined(member, skip=False))

    # --- SyncGroup and Heartbeat -------------------------------------------------------------------------------------

    def sync(self, request: SyncGroup, now: float, reply: Reply) -> None:
        member = self._recognise(request, reply)
        if member is None:
            return
        if self.phase is JoinPhase.PREPARING:
            reply(Refused(Code.REBALANCE_IN_PROGRESS))
        elif self.phase is JoinPhase.STABLE:
            member.session_ends, member.has_synced = now + member.said.session_timeout_s, True
            reply(GroupSynced(member.share))
        else:
            member.sync_reply, member.has_synced = reply, True
            if member.member_id == self.leader_id:
                self._share_out(request, now)

    def _share_out(self, request: SyncGroup, now: float) -> None:
        self.phase = JoinPhase.STABLE
        for member in self.members.values():
            member.share = frozenset(request.plan.get(member.member_id, ()))
            if isinstance(request, OpaqueSync):
                member.opaque_share = request.shares.get(member.member_id, b"")
            if member.sync_reply is not None:
                reply, member.sync_reply = member.sync_reply, None
                member.session_ends = now + member.said.session_timeout_s
                reply(GroupSynced(member.share))

    def heartbeat(self, request: ClassicHeartbeat, now: float, reply: Reply) -> None:
        member = self._recognise(request, reply)
        if member is None:
            return
        member.session_ends = now + member.said.session_timeout_s
        reply(Refused(Code.REBALANCE_IN_PROGRESS) if self.phase is JoinPhase.PREPARING else HeartbeatConfirmed())

    def _recognise(self, request: SyncGroup | ClassicHeartbeat, reply: Reply) -> ClassicMember | None:
        holder = self._holder(request.instance_id)
        member = self.members.get(request.member_id)
        if holder is not None and holder is not member:
            reply(Refused(Code.FENCED_INSTANCE_ID))
            return None
        if member is None:
            reply(Refused(Code.UNKNOWN_MEMBER_ID))
            return None
        if request.generation != self.generation:
            reply(Refused(Code.ILLEGAL_GENERATION))
            return None
        return member

    def _holder(self, instance_id: str | None) -> ClassicMember | None:
        found = (m for m in self.members.values() if instance_id is not None and m.instance_id == instance_id)
        return next(found, None)

    # --- leaving -----------------------------------------------------------------------------------------------------

    def leave(self, request: LeaveGroup, now: float) -> Response:
        if self.pending.pop(request.member_id, None) is not None:
            self._try_complete(now)
            return GroupLeft()
        holder = self._holder(request.instance_id)
        member = holder if request.instance_id is not None else self.members.get(request.member_id)
        if member is None:
            return Refused(Code.UNKNOWN_MEMBER_ID)
        if request.member_id and member.member_id != request.member_id:
            return Refused(Code.FENCED_INSTANCE_ID)
        self._remove(member, now, f"left; client reason: {request.reason}")
        return GroupLeft()

    def expel(self, member_id: str, now: float, why: str) -> bool:
        """Remove a member as if its session had ended. False if there is no such member."""
        member = self.members.get(member_id)
        if member is not None:
            self._remove(member, now, f"expelled: {why}")
        return member is not None

    def _remove(self, member: ClassicMember, now: float, why: str) -> None:
        for waiting in (member.join_reply, member.sync_reply):
            if waiting is not None:
                waiting(Refused(Code.UNKNOWN_MEMBER_ID))
        del self.members[member.member_id]
        self.note(now, f"{member.member_id} {why}")
        if self.leader_id == member.member_id:
            self.leader_id = None
        if not self.members and self.phase is not JoinPhase.PREPARING:
            self.phase, self.ends_at = JoinPhase.EMPTY, _NEVER
            self.generation += 1
        else:
            self.rebalance(now, f"{member.member_id} is gone")

    def describe(self) -> GroupDescribed:
        members = (
            MemberDescription(
                member_id=m.member_id, instance_id=m.instance_id, client_id=m.client_id, host="", current=m.share
            )
            for m in self.members.values()
        )
        return GroupDescribed(tuple(members), state=self.phase.value, assignor=self.strategy)

    # --- time --------------------------------------------------------------------------------------------------------

    def next_timer(self) -> float:
        sessions = (m.session_ends for m in self.members.values() if self._is_timed(m))
        return min([*sessions, *self.pending.values(), self.ends_at])

    @staticmethod
    def _is_timed(member: ClassicMember) -> bool:
        return member.join_reply is None and member.sync_reply is None

    def expire_timers(self, at: float) -> None:
        """End the waits and sessions that are due."""
        for member_id in [member_id for member_id, ends in self.pending.items() if ends <= at]:
            del self.pending[member_id]
            self._try_complete(at)
        for member in tuple(self.members.values()):
            is_there = member.member_id in self.members
            if is_there and self._is_timed(member) and member.session_ends <= at:
                self._remove(member, at, "expelled: its session expired")
        if self.ends_at <= at and self.phase is JoinPhase.PREPARING:
            self._complete(at)
        elif self.ends_at <= at:
            self.ends_at = _NEVER
            for member in [member for member in self.members.values() if not member.has_synced]:
                self._remove(member, at, "expelled: it did not ask for its share in time")

    def restart(self, at: float) -> None:
        """Another broker has loaded the group. Waiting joins and syncs are lost; without an assignment the group rebalances anew."""
        for member in self.members.values():
            replies = (member.join_reply, member.sync_reply)
            member.join_reply = member.sync_reply = None
            member.session_ends = at + member.said.session_timeout_s
            for waiting in replies:
                if waiting is not None:
                    waiting(Refused(Code.NOT_COORDINATOR))
        self.pending.clear()
        if self.phase in {JoinPhase.PREPARING, JoinPhase.COMPLETING}:
            self.phase = JoinPhase.STABLE
            self.rebalance(at, "the coordinator moved")


def _metadata(said: JoinGroup) -> tuple[object, ...]:
    """The metadata that members send to each other. If it changes, the group rebalances."""
    opaque = said.metadata if isinstance(said, OpaqueJoin) else ()
    return said.strategies, said.topics, said.owned, said.held, said.generation, said.rack, opaque
