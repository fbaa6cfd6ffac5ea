"""In what the fake's classic groups are known to differ from Kafka 4.3.1, and why they may.

As in `differences`, each brings a play that shows it: one that no longer shows is to be struck off. The order in which a leader
is told of the members is not compared: a broker has none.
"""

from __future__ import annotations

from dataclasses import dataclass

from membership_client.core.error_codes import Code
from tests.conformance.classic_lines import Line
from tests.conformance.classic_plays import Play
from tests.conformance.classic_seats import Seat


@dataclass(frozen=True, slots=True)
class ClassicDifference:
    name: str
    reason: str
    shown_by: Play
    broker_refuses: Code
    """How its last request ends on a broker; the fake takes it."""


def _short_session(line: Line) -> None:
    a = Seat(line, "a", session_s=0.1)
    a.joined(a.join())


CLASSIC_DIFFERENCES = (
    ClassicDifference(
        name="bounds of a session",
        reason="What an operator allows is no matter of the protocol: the simulation has sessions as short as it likes.",
        shown_by=_short_session,
        broker_refuses=Code.INVALID_SESSION_TIMEOUT,
    ),
)
