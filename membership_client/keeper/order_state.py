"""When the keeper sends heartbeats for one member: a pure state machine. `process.py` carries out its decisions.

An order from the member names the time of the first heartbeat. A newer order or a stop replaces it. Both are read before
every decision, so a heartbeat is sent only if the member's own thread was late by then. The epoch follows the coordinator's
answers. A stop is confirmed (`KeeperReport.settled`) when no answer is outstanding: then nothing is sent until the next order.
"""

from __future__ import annotations

from membership_client.values import dataclass, replace

STOPPED_PAUSE_S = 0.5
"""How often the keeper looks whether a stopped parent goes on."""

_MEMBER_STAYS = frozenset({14, 15, 16})
"""The coordinator loads, is not available, or has moved. The member is in the group; a later heartbeat may be accepted."""
_REBALANCE_IN_PROGRESS = 27
"""Classic protocol: the heartbeat is accepted, and the member should join. The coordinator tells the member itself, too."""


@dataclass(frozen=True, slots=True)
class Order:
    """Keep the member in the group: a heartbeat under `epoch` at `at`, then one per interval, none at `until` or later."""

    number: int
    epoch: int
    at: float
    interval_s: float
    until: float


@dataclass(frozen=True, slots=True)
class KeeperReport:
    """The result of the orders so far. `number` is that of the newest order or stop."""

    number: int
    epoch: int
    """The epoch of the newest answer; that of the order if no answer had one."""
    confirmed_at: float | None
    """When the last accepted heartbeat was sent; None if none was accepted."""
    settled: bool
    """Whether there is no order, and no answer is outstanding."""


@dataclass(frozen=True, slots=True)
class OrderState:
    """The newest order of one member, and the heartbeats sent for it."""

    number: int = 0
    order: Order | None = None
    epoch: int = 0
    confirmed_at: float | None = None
    sent_at: float | None = None
    """When the heartbeat was sent whose answer is outstanding; None if no answer is outstanding."""

    @property
    def report(self) -> KeeperReport:
        return KeeperReport(self.number, self.epoch, self.confirmed_at, self.order is None and self.sent_at is None)


def ordered(state: OrderState, order: Order) -> OrderState:
    """The state after a new order, which comes before the time of the last order, or after its stop was confirmed."""
    return OrderState(order.number, order, order.epoch, sent_at=state.sent_at)


def stopped(state: OrderState, number: int) -> OrderState:
    return replace(state, number=number, order=None)


def due(state: OrderState) -> float | None:
    """When to call `decide` next; None if there is no order, or an answer is outstanding."""
    return state.order.at if state.order is not None and state.sent_at is None else None


def decide(state: OrderState, now: float, *, parent_runs: bool) -> tuple[OrderState, bool]:
    """The next state, and whether to send a heartbeat now. `parent_runs` must have been read just before."""
    order, at = state.order, due(state)
    if order is None or at is None or now < at:
        return state, False
    if now >= order.until:
        return replace(state, order=None), False
    if not parent_runs:
        return replace(state, order=replace(order, at=now + STOPPED_PAUSE_S)), False
    return replace(state, order=replace(order, at=now + order.interval_s), sent_at=now), True


def answered(state: OrderState, code: int, epoch: int | None) -> OrderState:
    """The state after an answer with this error code; `epoch` is None if the answer has none (classic protocol)."""
    sent_at, state = state.sent_at, replace(state, sent_at=None)
    if code in _MEMBER_STAYS:
        return state
    if code not in {0, _REBALANCE_IN_PROGRESS} or (epoch is not None and epoch < state.epoch):
        return replace(state, order=None)  # The member learns the reason from its own next heartbeat.
    return replace(state, epoch=state.epoch if epoch is None else epoch, confirmed_at=sent_at)
