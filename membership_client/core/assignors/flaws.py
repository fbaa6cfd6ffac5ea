"""What is wrong with a plan. Ours have no flaws, but an assignor may be anybody's function."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from membership_client.subscriptions import Assignment, MemberSubscription, TopicLayout
from membership_client.types import TopicPartition


def flaw_in(
    plan: Assignment,
    subscriptions: Sequence[MemberSubscription],
    topics: Mapping[str, TopicLayout],
    *,
    cooperative: bool = False,
) -> str | None:
    """The first thing for which a leader must not send this plan, as a sentence; None if there is nothing.

    Members that are not in it get nothing, and partitions that are not in it stay without an owner: both may be meant.
    A cooperative plan must not give a partition to a new owner while another holds it.
    """
    return next(_flaws(plan, subscriptions, topics, cooperative=cooperative), None)


def _flaws(
    plan: Assignment,
    subscriptions: Sequence[MemberSubscription],
    topics: Mapping[str, TopicLayout],
    *,
    cooperative: bool,
) -> Iterator[str]:
    members = {member.member_id: member for member in subscriptions}
    holders = {p: member.member_id for member in subscriptions for p in member.owned} if cooperative else {}
    taker: dict[TopicPartition, str] = {}
    for member_id, share in plan.items():
        member = members.get(member_id)
        if member is None:
            yield f"it names {member_id}, who is not in the group"
            continue
        for partition in share:
            if taker.setdefault(partition, member_id) != member_id:
                yield f"it gives {partition} to {taker[partition]} and to {member_id}"
            yield from _misfits(partition, member, topics)
            if partition not in member.owned and partition in holders:
                yield f"it gives {partition} to {member_id} while {holders[partition]} still holds it"


def _misfits(partition: TopicPartition, member: MemberSubscription, topics: Mapping[str, TopicLayout]) -> Iterator[str]:
    topic, number = partition
    if topic not in member.topics:
        yield f"it gives {partition} to {member.member_id}, who did not subscribe to it"
    if topic not in topics or not 0 <= number < topics[topic].partitions:
        yield f"it gives {partition} to {member.member_id}, and there is no such partition"
