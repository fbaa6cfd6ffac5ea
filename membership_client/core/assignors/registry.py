"""Assignors by name: the four that every client knows, and the application's own; and what is wrong with a plan.

A configuration names assignors and does not hold them, so that it can be written into a trace. An own assignor is known to the
whole process, and every member that may lead the group needs it under the same name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from membership_client.arguments import checked_flag, checked_function, checked_text
from membership_client.errors import ConfigError
from membership_client.subscriptions import AssignFunction, Assignment, MemberSubscription, TopicLayout
from membership_client.types import TopicPartition
from membership_client.values import dataclass


@dataclass(frozen=True, slots=True)
class Assignor:
    """An assignment strategy: the name that all members of the group must know, and the function that makes the plan."""

    name: str
    assign: AssignFunction
    cooperative: bool = False
    """Members keep what they hold while they join, and the plan leaves out what others still hold."""


# Each of these assignors is loaded by the first leader that uses it: no other member needs it.


def _range(members: Sequence[MemberSubscription], topics: Mapping[str, TopicLayout]) -> Assignment:
    from membership_client.core.assignors.range_and_round_robin import assign_range  # noqa: PLC0415

    return assign_range(members, topics)


def _round_robin(members: Sequence[MemberSubscription], topics: Mapping[str, TopicLayout]) -> Assignment:
    from membership_client.core.assignors.range_and_round_robin import assign_round_robin  # noqa: PLC0415

    return assign_round_robin(members, topics)


def _sticky(members: Sequence[MemberSubscription], topics: Mapping[str, TopicLayout]) -> Assignment:
    from membership_client.core.assignors.sticky import assign_sticky  # noqa: PLC0415

    return assign_sticky(members, topics)


def _cooperative(members: Sequence[MemberSubscription], topics: Mapping[str, TopicLayout]) -> Assignment:
    from membership_client.core.assignors.sticky import assign_cooperative  # noqa: PLC0415

    return assign_cooperative(members, topics)


BUILT_IN: Mapping[str, Assignor] = {
    assignor.name: assignor
    for assignor in (
        Assignor("range", _range),
        Assignor("roundrobin", _round_robin),
        Assignor("sticky", _sticky),
        Assignor("cooperative-sticky", _cooperative, cooperative=True),
    )
}


# --- own assignors ---------------------------------------------------------------------------------------------------


_own: dict[str, Assignor] = {}


def register_assignor(name: str, assign: AssignFunction, *, cooperative: bool = False) -> None:
    """Make a function an assignor, for `partition.assignment.strategy` of members created afterwards.

        def all_to_the_first(subscriptions, topics):
            everything = [TopicPartition(topic, number) for topic in topics for number in range(topics[topic].partitions)]
            return {min(subscriptions): everything}

        register_assignor("all-to-the-first", all_to_the_first)

    It gets what every member said and how the topics are laid out, and returns partitions by member id. It runs on the
    membership thread of the member that leads the group, must be pure, and may be called with any member's subscription.
    """
    checked_text("name", name)
    checked_flag("cooperative", cooperative)
    checked_function("assign", assign, of="subscriptions and topics")
    if name in BUILT_IN:
        raise ConfigError(f"There is an assignor {name!r} already, which other clients know by that name.")
    _own[name] = Assignor(name, assign, cooperative=cooperative)


def assignor(strategy: str) -> Assignor | None:
    """None if no assignor is registered under that name."""
    return BUILT_IN.get(strategy) or _own.get(strategy)


def require_assignors(strategies: tuple[str, ...]) -> None:
    """ConfigError if a strategy has no assignor in this process: a member that offers it may have to lead the group."""
    for name in strategies:
        if assignor(name) is None:
            known = ", ".join([*BUILT_IN, *_own])
            raise ConfigError(
                f"partition.assignment.strategy: there is no assignor {name!r}. "
                f"Use one of {known}, or register_assignor() with a function of your own."
            )


def is_cooperative(strategy: str) -> bool:
    found = assignor(strategy)
    return found is not None and found.cooperative


# --- checks of a plan ------------------------------------------------------------------------------------------------


def flaw_in(
    plan: Assignment,
    subscriptions: Sequence[MemberSubscription],
    topics: Mapping[str, TopicLayout],
    *,
    cooperative: bool = False,
) -> str | None:
    """The first flaw for which a leader must not send this plan, as a clause; None if it has none.

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
            yield f"it names {member_id}, which is not in the group"
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
        yield f"it gives {partition} to {member.member_id}, which did not subscribe to it"
    if topic not in topics or not 0 <= number < topics[topic].partitions:
        yield f"it gives {partition} to {member.member_id}, and there is no such partition"
