"""Assignors by the names under which members offer them to the coordinator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from membership_client.core.assignors.cooperative import assign_cooperative
from membership_client.core.assignors.range_assignor import assign_range
from membership_client.core.assignors.round_robin import assign_round_robin
from membership_client.core.assignors.sticky import assign_sticky
from membership_client.errors import ConfigError
from membership_client.subscriptions import AssignFunction


@dataclass(frozen=True, slots=True)
class Assignor:
    """A name, which all members of the group must know, and what it stands for. A custom one is made of any function."""

    name: str
    assign: AssignFunction
    cooperative: bool = False
    """Members keep what they hold while they join, and the plan leaves out what others still hold."""


BUILT_IN: Mapping[str, Assignor] = {
    assignor.name: assignor
    for assignor in (
        Assignor("range", assign_range),
        Assignor("roundrobin", assign_round_robin),
        Assignor("sticky", assign_sticky),
        Assignor("cooperative-sticky", assign_cooperative, cooperative=True),
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
