"""A rule: when it is due, and what it does.

`due` is the only guard there is. The machine fires a rule when its time has come and sleeps until the earliest of
them, so the two can never disagree, and a member can neither spin nor oversleep.
"""

from __future__ import annotations

from collections.abc import Callable

from membership_client.core.member import Member, Transition
from membership_client.types import GroupProtocol
from membership_client.values import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """A due time and an action. `act` must leave the member in a state in which this rule is due later, or not at all."""

    due: Callable[[Member], float | None]
    act: Callable[[Member, float], Transition]
    protocol: GroupProtocol | None = None
    """The protocol to which the rule is limited; None if it applies to both."""


def for_protocol(protocol: GroupProtocol, rule: Rule) -> Rule:
    """The same rule, for members that speak this protocol only."""
    return Rule(rule.due, rule.act, protocol)
