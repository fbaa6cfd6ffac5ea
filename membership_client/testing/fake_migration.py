"""Groups with members of both protocols, as in Kafka 4.3: the upgrade, the mixed group, and the downgrade.

A classic group becomes a KIP-848 group when the first KIP-848 member joins, and a classic group again when the last such
member has left. In between the coordinator assigns to all members, and classic members learn their assignment by rejoining.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from membership_client.core.error_codes import Code
from membership_client.core.events import (
    ClassicHeartbeat,
    GroupJoined,
    GroupSynced,
    HeartbeatConfirmed,
    JoinGroup,
    Refused,
    Response,
    SyncGroup,
)
from membership_client.partitions import NOTHING, Partitions
from membership_client.subscriptions import MemberSubscription
from membership_client.testing.fake_classic import ClassicMember, FakeClassicGroup, JoinPhase, Note
from membership_client.testing.fake_group import FakeGroup
from membership_client.testing.fake_reconciler import Enrolled, ReconcileProgress
from membership_client.testing.fake_refusals import refuse
from membership_client.testing.fake_topics import FakeTopics
from membership_client.types import TopicPartition


class Blobs(Protocol):
    """Reads and writes the bytes that classic members send each other. Only in mixed groups a coordinator does so."""

    def subscription(self, said: JoinGroup) -> MemberSubscription: ...
    def share(self, member: ClassicMember) -> frozenset[TopicPartition]: ...
    def written(self, share: frozenset[TopicPartition]) -> bytes: ...


class PlainBlobs:
    """`Blobs` for requests that hold values instead of bytes."""

    def subscription(self, said: JoinGroup) -> MemberSubscription:
        return MemberSubscription(
            member_id=said.member_id, instance_id=said.instance_id, topics=said.topics, owned=said.owned
        )

    def share(self, member: ClassicMember) -> frozenset[TopicPartition]:
        return member.share

    def written(self, share: frozenset[TopicPartition]) -> bytes:  # noqa: ARG002 - these bytes are never read
        return b""


# --- from one kind of group to the other -----------------------------------------------------------------------------


def upgraded(classic: FakeClassicGroup, topics: FakeTopics, blobs: Blobs, now: float) -> FakeGroup:
    """A group with the same members and their partitions, at the epoch of their generation. Waiting members are told to join again."""
    group = FakeGroup(classic.group_id, topics)
    group.epoch = group.target_epoch = classic.generation
    for member in classic.members.values():
        for waiting in (member.join_reply, member.sync_reply):
            if waiting is not None:
                waiting(Refused(Code.REBALANCE_IN_PROGRESS))
        enrolled = Enrolled(
            member_id=member.member_id,
            instance_id=member.instance_id,
            client_id=member.client_id,
            host="/127.0.0.1",
            rebalance_timeout_s=member.said.rebalance_timeout_s,
            topics=blobs.subscription(member.said).topics,
            epoch=classic.generation,
            previous_epoch=classic.generation,
            assigned=partitions_of(blobs.share(member), topics),
            classic=member.said,
        )
        group.members[member.member_id] = enrolled
        group.targets[member.member_id] = enrolled.assigned
        group.sessions[member.member_id] = now + member.said.session_timeout_s
        group.begin_term(member.member_id)
    group.recount()
    return group


def downgraded(group: FakeGroup, epoch: int, note: Note, blobs: Blobs, now: float) -> FakeClassicGroup:
    """A classic group with the same members, in the generation of that epoch."""
    classic = FakeClassicGroup(group.group_id, note, phase=JoinPhase.STABLE, generation=epoch)
    for enrolled in group.members.values():
        assert enrolled.classic is not None
        share = names_of(group.targets.get(enrolled.member_id, NOTHING), group)
        said = replace(enrolled.classic, member_id=enrolled.member_id)
        member = ClassicMember(
            enrolled.member_id, enrolled.client_id, said, now + said.session_timeout_s, epoch, share, has_synced=True
        )
        member.opaque_share = blobs.written(share)
        classic.members[enrolled.member_id] = member
    classic.leader_id = next(iter(classic.members))
    classic.strategy = classic.elect()
    return classic


def is_for_downgrade(group: FakeGroup) -> bool:
    """Whether the group has members, all of them classic."""
    return bool(group.members) and all(member.classic is not None for member in group.members.values())


def partitions_of(share: frozenset[TopicPartition], topics: FakeTopics) -> Partitions:
    """The partitions by topic id. A partition of a deleted topic is left out."""
    found: dict[str, set[int]] = {}
    for topic, number in share:
        found.setdefault(topic, set()).add(number)
    return Partitions.of({topics[name].topic_id: numbers for name, numbers in found.items() if name in topics})


def names_of(partitions: Partitions, group: FakeGroup) -> frozenset[TopicPartition]:
    return frozenset(partitions.named({topic.topic_id: topic.name for topic in group.topics}))


# --- members of the classic protocol in a group of the consumer protocol ---------------------------------------------


def check_strategies(group: FakeGroup, request: JoinGroup) -> None:
    """Refuse a join unless one of its strategies is known to all classic members, because a downgrade will need one."""
    others = [set(member.classic.strategies) for member in group.members.values() if member.classic is not None]
    if others and not set.intersection(*others) & set(request.strategies):
        refuse(Code.INCONSISTENT_GROUP_PROTOCOL)


def joined(member: Enrolled, request: JoinGroup) -> GroupJoined:
    """The answer to a join. It names no leader, because the coordinator assigns."""
    return GroupJoined(
        generation=member.epoch, member_id=member.member_id, leader_id="", strategy=request.strategies[0]
    )


def sync(group: FakeGroup, request: SyncGroup, now: float) -> Response:
    member = _checked(group, request)
    # A member that has joined already is told first which partitions to revoke.
    if member.epoch < group.target_epoch and member.progress is not ReconcileProgress.UNREVOKED:
        group.awaited.setdefault(member.member_id, now + member.rebalance_timeout_s)
        refuse(Code.REBALANCE_IN_PROGRESS)
    group.awaited.pop(member.member_id, None)
    _keep(group, member, now)
    return GroupSynced(names_of(member.assigned, group))


def heartbeat(group: FakeGroup, request: ClassicHeartbeat, now: float) -> Response:
    """The answer to a heartbeat: join again if there are newer targets, partitions to revoke, or free partitions to take.

    In 4.3 a newer epoch alone is no reason: if only classic members are left and no downgrade is allowed, no targets are computed.
    """
    member = _checked(group, request)
    _keep(group, member, now)
    target = group.targets.get(member.member_id, NOTHING)
    is_free = not group.held_by_others(member.member_id)(target - member.assigned)
    awaits = member.progress is ReconcileProgress.UNRELEASED and is_free
    if member.epoch < group.target_epoch or member.progress is ReconcileProgress.UNREVOKED or awaits:
        group.awaited.setdefault(member.member_id, now + member.rebalance_timeout_s)
        return Refused(Code.REBALANCE_IN_PROGRESS)
    return HeartbeatConfirmed()


def _checked(group: FakeGroup, request: SyncGroup | ClassicHeartbeat) -> Enrolled:
    holder = group.holder(request.instance_id)
    member = group.members.get(request.member_id)
    if holder is not None and holder is not member:
        refuse(Code.FENCED_INSTANCE_ID)
    if member is None or member.classic is None:
        refuse(Code.UNKNOWN_MEMBER_ID)
    if request.generation != member.epoch:
        refuse(Code.ILLEGAL_GENERATION)
    return member


def _keep(group: FakeGroup, member: Enrolled, now: float) -> None:
    assert member.classic is not None
    group.sessions[member.member_id] = now + member.classic.session_timeout_s
