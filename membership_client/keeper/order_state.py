"""What the keeper does for one member, and when: a pure state machine. `process.py` carries it out.

An order names the time of the first heartbeat. A newer order or a stop replaces it, and is read before every decision, so
a heartbeat is sent only if the member's own thread was late by then. The epoch follows the coordinator's answers. A stop is
confirmed (`Report.settled`) once no answer is outstanding: from then on nothing is sent until the next order.
"""

from __future__ import annotations

from membership_client.values import dataclass, replace

STOPPED_PAUSE_S = 0.5
"""How often a stopped parent is looked at."""

_GOES_ON = frozenset({14, 15, 16})
"""The coordinator loads, is not available, or has moved: it counts the member as before, and the next heartbeat may reach it."""
_REBALANCES = 27
"""Classic: the member is in the group, and should join. The coordinator says so again to the member itself."""


@dataclass(frozen=True, slots=True)
class Order:
    """Keep the member alive: a heartbeat under this epoch at that time, then one per interval, none at `until` or later."""

    number: int
    epoch: int
    at: float
    interval_s: float
    until: float


@dataclass(frozen=True, slots=True)
class Report:
    """What came of the orders so far. `number` is that of the newest order or stop."""

    number: int
    epoch: int
    """The newest one that the coordinator told; that of the order if it told none."""
    confirmed_at: float | None
    """When the last heartbeat was sent that the coordinator accepted; None if there is none."""
    settled: bool
    """Was this stopped, with no answer outstanding?"""


@dataclass(frozen=True, slots=True)
class Line:
    number: int = 0
    order: Order | None = None
    epoch: int = 0
    confirmed_at: float | None = None
    sent_at: float | None = None
    """When the heartbeat was sent whose answer is outstanding; None if none is."""

    @property
    def report(self) -> Report:
        return Report(self.number, self.epoch, self.confirmed_at, self.order is None and self.sent_at is None)


def ordered(line: Line, order: Order) -> Line:
    """A new order. It comes only when the last one was replaced before its time, or its stop was confirmed."""
    return Line(order.number, order, order.epoch, sent_at=line.sent_at)


def stopped(line: Line, number: int) -> Line:
    return replace(line, number=number, order=None)


def due(line: Line) -> float | None:
    """When to decide next."""
    return line.order.at if line.order is not None and line.sent_at is None else None


def decided(line: Line, now: float, *, parent_runs: bool) -> tuple[Line, bool]:
    """Whether to send a heartbeat now. `parent_runs` is looked at just before."""
    order, at = line.order, due(line)
    if order is None or at is None or now < at:
        return line, False
    if now >= order.until:
        return replace(line, order=None), False
    if not parent_runs:
        return replace(line, order=replace(order, at=now + STOPPED_PAUSE_S)), False
    return replace(line, order=replace(order, at=now + order.interval_s), sent_at=now), True


def answered(line: Line, code: int, epoch: int | None) -> Line:
    """The coordinator answered with this error code; `epoch` is None where answers have none (classic)."""
    sent_at, line = line.sent_at, replace(line, sent_at=None)
    if code in _GOES_ON:
        return line
    if code not in {0, _REBALANCES} or (epoch is not None and epoch < line.epoch):
        return replace(line, order=None)  # The member itself learns why, as soon as it can.
    return replace(line, epoch=line.epoch if epoch is None else epoch, confirmed_at=sent_at)
