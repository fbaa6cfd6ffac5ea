"""The classic protocol: what to say to the coordinator next, and which topics a member's partitions belong to.

The protocol knows topics by name only, and a topic may be deleted and created again under the same name. So every member looks
its topics up when it has got them, and regularly afterwards. It gives back the partitions of a topic that was replaced, and
joins again: positions in the old topic mean nothing in the new one.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from uuid import NAMESPACE_URL, UUID, uuid5

from membership_client.core import reasons
from membership_client.core.assignors.registry import is_cooperative
from membership_client.core.events import ClassicHeartbeat, JoinGroup, LeaveGroup, Subscribe, SyncGroup
from membership_client.core.member import Classic, Member
from membership_client.partitions import NOTHING, Partitions
from membership_client.subscriptions import TopicLayout
from membership_client.types import LeaveMode, TopicPartition
from membership_client.values import replace


@functools.lru_cache(maxsize=100_000)
def topic_id(name: str) -> UUID:
    """An id made from the name, because this protocol knows topics by name only, and old brokers have no ids for them."""
    return uuid5(NAMESPACE_URL, f"kafka-topic:{name}")


def partitions_of(share: Iterable[TopicPartition]) -> Partitions:
    topics: dict[UUID, list[int]] = {}
    for topic, number in share:
        topics.setdefault(topic_id(topic), []).append(number)
    return Partitions.of(topics)


def cooperates(member: Member) -> bool:
    """Does the member keep its partitions while it joins? Only if every strategy that it offers is cooperative."""
    return all(map(is_cooperative, member.config.partition_assignment_strategy))


def statement(member: Member) -> Subscribe | None:
    """The subscription with the topics it stands for; None while a pattern waits for the topics to match."""
    subscription, layouts = member.subscription, member.classic.layouts
    if subscription is None or subscription.regex is None:
        return subscription
    if layouts is None:
        return None
    pattern = compiled(subscription.regex)
    topics = frozenset(filter(pattern.fullmatch, layouts)) if pattern else frozenset[str]()
    return replace(subscription, topics=topics)


@functools.lru_cache(maxsize=100)
def compiled(regex: str) -> re.Pattern[str] | None:
    """The pattern in Python's syntax, because brokers of the classic protocol match none. None if it is not valid there."""
    try:
        return re.compile(regex)
    except re.error:
        return None


def restarted_classic(member: Member, reason: str) -> Classic:
    """The classic state for a new start. It keeps the member id while the coordinator may still know the member by it."""
    return Classic(given_id=member.classic.given_id if member.enrolled else "", reason=reason)


def keepable(member: Member) -> Partitions:
    """The owned partitions that a member may keep while the group rebalances."""
    if not cooperates(member):
        return NOTHING
    stated = statement(member)
    kept = member.owned.of_topics(map(topic_id, stated.topics)) if stated else member.owned
    return kept - kept.of_topics(map(topic_id, member.classic.replaced))


def join(member: Member, stated: Subscribe) -> JoinGroup:
    config, classic = member.config, member.classic
    owned = frozenset(member.owned.named(member.names))
    return JoinGroup(
        group_id=config.group_id,
        member_id=classic.given_id,
        instance_id=config.group_instance_id,
        session_timeout_s=member.session_timeout_s,
        rebalance_timeout_s=member.poll_interval_s,
        strategies=config.partition_assignment_strategy,
        topics=stated.topics,
        owned=owned,
        held=owned or classic.held,
        # Owned partitions are claimed in the current generation, even if plans were missed; others in that of the last plan.
        generation=member.epoch if owned else classic.planned_in,
        rack=config.client_rack,
        reason=reasons.cut(classic.reason),
    )


def sync(member: Member, plan: dict[str, tuple[TopicPartition, ...]]) -> SyncGroup:
    admission = member.classic.admission
    assert admission is not None
    return SyncGroup(
        group_id=member.config.group_id,
        member_id=admission.member_id,
        instance_id=member.config.group_instance_id,
        generation=admission.generation,
        strategy=admission.strategy,
        plan=plan,
    )


def heartbeat(member: Member) -> ClassicHeartbeat:
    return ClassicHeartbeat(
        group_id=member.config.group_id,
        member_id=member.classic.given_id,
        instance_id=member.config.group_instance_id,
        generation=member.epoch,
    )


def leave_request(member: Member, mode: LeaveMode, reason: str, *, reason_refused: bool) -> LeaveGroup | None:
    """None if nothing is sent: the coordinator then keeps the member until its session ends."""
    config = member.config
    if mode is LeaveMode.REMAIN or (mode is not LeaveMode.LEAVE and config.group_instance_id is not None):
        return None
    return LeaveGroup(
        group_id=config.group_id,
        member_id=member.classic.given_id,
        instance_id=config.group_instance_id,
        reason=None if reason_refused else reasons.cut(reason),
    )


# --- topics that were replaced ---------------------------------------------------------------------------------------


def replanned(classic: Classic, *, kept: frozenset[str], given: frozenset[str]) -> Classic:
    """A plan has come. The leader has just looked up the topics in it; all other members look them up now."""
    classic = replace(
        classic,
        topic_ids={name: topic_id for name, topic_id in classic.topic_ids.items() if name in kept},
        replaced=classic.replaced & kept,
        unidentified=bool(given),
    )
    if not classic.leads or classic.layouts is None:
        return classic
    classic = identified(classic, classic.layouts, given)
    return replace(classic, rejoin=classic.rejoin or (reasons.TOPICS_CHANGED if classic.replaced else None))


def identified(classic: Classic, layouts: Mapping[str, TopicLayout], ours: frozenset[str]) -> Classic:
    """The ids that the topics of these names have now. A topic whose id has changed was replaced."""
    known, now = classic.topic_ids, _ids_of(layouts, ours)
    replaced = frozenset(name for name, topic_id in now.items() if known.get(name, topic_id) != topic_id)
    return replace(
        classic, topic_ids={**now, **known}, replaced=(classic.replaced & ours) | replaced, unidentified=False
    )


def _ids_of(layouts: Mapping[str, TopicLayout], names: frozenset[str]) -> dict[str, UUID]:
    found = {name: layouts[name].topic_id for name in names if name in layouts}
    return {name: topic_id for name, topic_id in found.items() if topic_id is not None}
