"""Strategies by name: those that every client knows, and the application's own.

A configuration names strategies and does not hold them, so that it can be written into a trace. An own one is known to the
whole process, and every member that may lead the group needs it under the same name.
"""

from __future__ import annotations

from membership_client.arguments import checked_flag, checked_function, checked_text
from membership_client.core.assignors.registry import BUILT_IN, Assignor
from membership_client.errors import ConfigError
from membership_client.subscriptions import AssignFunction

_own: dict[str, Assignor] = {}


def register_assignor(name: str, assign: AssignFunction, *, cooperative: bool = False) -> None:
    """Make a function an assignor, for `partition.assignment.strategy` of members created afterwards.

    It gets what every member said and how the topics are laid out, and returns partitions by member id. It runs on the
    membership thread of whichever member leads the group, must be pure, and may be called with anybody's subscription.
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
    """For members that may have to lead. Raises ConfigError."""
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
