"""In what the fake is known to differ from Kafka 4.3.1, and why it may.

Each difference brings a script that shows it on a real broker: one that no longer shows is to be struck off.
What the fake does not have at all (access control, offsets) is said where it is defined. Classic groups have a list of
their own in `classic_differences`.

Not compared are moves of the coordinator and its loading (`FakeCluster.move`): which broker says what, and for how many
milliseconds, differs between two elections of the same cluster, so there is no answer to agree on. Each code that is said
meanwhile is met in `tests/core/test_refusals.py`, and real moves in `tests/integration/test_brokers.py`.
Topics change in `situations.CHANGES` only, each with topics of its own: random scripts share theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from membership_client.core.error_codes import Code
from membership_client.core.events import Heartbeat, HeartbeatAccepted, Refused
from membership_client.partitions import NOTHING
from tests.conformance.exchange import Exchange
from tests.conformance.script import Actor, Beat, Epoch, Script, Subscription


@dataclass(frozen=True, slots=True)
class Difference:
    name: str
    reason: str
    covers: Callable[[Exchange], bool]
    shown_by: Script
    harmless: bool
    """Are both groups alike after it? Only then may scripts meet it on their way; otherwise none but its own does."""


def _is_wording_of_a_syntax_error(exchange: Exchange) -> bool:
    answers = (exchange.fake, exchange.broker)
    return all(isinstance(a, Refused) and a.code == Code.INVALID_REGULAR_EXPRESSION for a in answers)


def _is_target_of_a_renamed_instance(exchange: Exchange) -> bool:
    joins_as_instance = isinstance(exchange.request, Heartbeat) and exchange.request.instance_id is not None
    told_nothing = isinstance(exchange.broker, HeartbeatAccepted) and exchange.broker.assignment == NOTHING
    return joins_as_instance and told_nothing and isinstance(exchange.fake, HeartbeatAccepted)


DIFFERENCES = (
    Difference(
        name="wording of a syntax error",
        reason="The broker quotes RE2/J, the fake Python's parser; clients go by the code and show the words to people.",
        covers=_is_wording_of_a_syntax_error,
        shown_by=Script("broken pattern", (Actor("a", Subscription(pattern="or(")),), (Beat("a"),)),
        harmless=True,
    ),
    Difference(
        name="another instance id in one membership",
        reason="The broker looks the target up by an instance id that it has yet to learn, and finds none. No client of "
        "ours gets there: a member id is that of one incarnation, whose instance id is in its configuration.",
        covers=_is_target_of_a_renamed_instance,
        shown_by=Script(
            "renamed instance",
            (Actor("a", instance_id="i-1"), Actor("b")),
            (Beat("a"), Beat("b"), Beat("a", Epoch.JOIN, instance_id="i-2")),
        ),
        harmless=False,
    ),
)

HARMLESS = tuple(difference for difference in DIFFERENCES if difference.harmless)
"""Those that any script may meet."""
