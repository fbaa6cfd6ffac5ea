"""Assignors by the names under which members offer them to the coordinator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from membership_client.errors import ConfigError
from membership_client.subscriptions import AssignFunction, Assignment, MemberSubscription, TopicLayout
from membership_client.values import dataclass


@dataclass(frozen=True, slots=True)
class Assignor:
    """A name, which all members of the group must know, and what it stands for. A custom one is made of any function."""

    name: str
    assign: AssignFunction
    cooperative: bool = False
    """Members keep what they hold while they join, and the plan leaves out what others still hold."""


# Each is loaded by the first leader that uses it: no other member needs them.


def _range(members: Sequence[MemberSubscription], topics: Mapping[str, TopicLayout]) -> Assignment:
    from membership_client.core.assignors.range_assignor import assign_range  # noqa: PLC0415

    return assign_range(members, topics)


def _round_robin(members: Sequence[MemberSubscription], topics: Mapping[str, TopicLayout]) -> Assignment:
    from membership_client.core.assignors.round_robin import assign_round_robin  # noqa: PLC0415

    return assign_round_robin(members, topics)


def _sticky(members: Sequence[MemberSubscription], topics: Mapping[str, TopicLayout]) -> Assignment:
    from membership_client.core.assignors.sticky import assign_sticky  # noqa: PLC0415

    return assign_sticky(members, topics)


def _cooperative(members: Sequence[MemberSubscription], topics: Mapping[str, TopicLayout]) -> Assignment:
    from membership_client.core.assignors.cooperative import assign_cooperative  # noqa: PLC0415

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


def find_assignor(name: str) -> Assignor:
    """One of the four that every client knows.

    Raises:
        ConfigError: there is none of that name.
    """
    if name not in BUILT_IN:
        raise ConfigError(
            f"There is no assignor {name!r}. Use one of {', '.join(BUILT_IN)}, or an Assignor made of your own function."
        )
    return BUILT_IN[name]
