"""The keeper of a process, in virtual time: late, paused at a bad moment, or dead, as the script wants it.

Its decisions are those of `keeper/order_state.py`, and what its process tells it comes from `KeeperControl`, as in the product.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from membership_client.core.events import Answered, Failed, Heartbeat, HeartbeatAccepted, Refused, Send
from membership_client.core.keeper import Watch
from membership_client.keeper import order_state
from membership_client.keeper.order_state import KeeperReport, Order, OrderState
from membership_client.values import replace
from tests.simulation.script import KeeperTrouble

if TYPE_CHECKING:
    from tests.simulation.process import Surroundings

_OPENS_S = (0.0, 0.3)
_LATE_S = (0.0, 0.02)
_TAKES_IN_S = 0.5


class SimulatedKeeper:
    """The link of one process, and the other end of it."""

    is_opening = False

    def __init__(self, world: Surroundings, name: str, member_id: str, parent_runs: Callable[[], bool]) -> None:
        self.name, self.member_id = name, f"{member_id}+"
        self.sent: list[float] = []
        self._world = world
        self._parent_runs = parent_runs
        self._order_state: OrderState | None = None
        self._watch: Watch | None = None
        self._inbox: deque[tuple[Order, Watch] | int] = deque()
        self._reports: list[KeeperReport] = []
        self._requests = 0
        self._awaited = 0
        self._opened = 0
        self._opens_at: float | None = None
        self._sending: Callable[[], None] | None = None
        """A heartbeat that is decided, and not yet sent."""

    @property
    def until(self) -> float:
        """When the newest order ends; minus infinity without one."""
        newest = self._inbox[-1] if self._inbox else None
        order = newest[0] if isinstance(newest, tuple) else None
        if newest is None and self._order_state is not None:
            order = self._order_state.order
        return float("-inf") if order is None else order.until

    # --- the side of its process -------------------------------------------------------------------------------------

    def prepare(self) -> None: ...

    def order(self, number: int, watch: Watch, until: float) -> bool:
        if self._order_state is not None and self._watch is not None and self._watch.to != watch.to:
            self.reset()
        if self._order_state is None:
            self._open(watch)
            return False
        self._watch = watch
        self._hand_over((Order(number, watch.epoch, watch.at, watch.interval_s, until), watch))
        return True

    def stop(self, number: int) -> None:
        if self._order_state is not None:
            self._hand_over(number)

    def await_stop(self, number: int) -> None:
        """A keeper that is late, or paused before its heartbeat, does not read the stop soon enough."""
        if self._order_state is None:
            return
        if self._trouble() and (self._sending is not None or self._late_s("answers") > _TAKES_IN_S):
            self.reset()
            return
        if self._sending is not None:
            self._sending()
        self._read_orders()

    def reports(self) -> list[KeeperReport] | None:
        found, self._reports = self._reports, []
        return found if found or self._order_state is not None else None

    def reset(self) -> None:
        self._order_state = self._sending = None
        self._inbox.clear()
        self._world.network.forget(self)

    close = reset
    abandon = reset

    def _open(self, watch: Watch) -> None:
        if self._opens_at is None:
            self._opens_at = self._world.now + self._world.chance.between(
                *_OPENS_S, "opens", self.member_id, self._opened
            )
            self._world.at(self._opens_at, partial(self._ready, watch))

    def _ready(self, watch: Watch) -> None:
        self._opens_at, self._order_state, self._watch = None, OrderState(), watch
        self._opened += 1

    def _hand_over(self, message: tuple[Order, Watch] | int) -> None:
        self._inbox.append(message)
        self._wake_at(self._world.now)

    # --- the keeper's side -------------------------------------------------------------------------------------------

    def _trouble(self) -> KeeperTrouble | None:
        now = self._world.now
        return next((t for t in self._world.keeper_troubles if t.who == self.name and t.until > now), None)

    def _late_s(self, why: str) -> float:
        trouble = self._trouble()
        lowest, highest = (0.0, trouble.late_s) if trouble else _LATE_S
        return self._world.chance.between(lowest, highest, why, self.member_id, self._requests, self._world.now)

    def _wake_at(self, at: float) -> None:
        self._world.at(at + self._late_s("wakes"), partial(self._wake, self._opened))

    def _wake(self, opened: int) -> None:
        if self._order_state is None or opened != self._opened:
            return
        if (trouble := self._trouble()) is not None and trouble.dies:
            self.reset()
            return
        self._read_orders()
        self._order_state, sends = order_state.decide(
            self._order_state, self._world.now, parent_runs=self._parent_runs()
        )
        if sends and self._watch is not None:
            # Between its last look for orders and the heartbeat it may be interrupted for any time.
            self._requests += 1
            gap_s = self._late_s("sends") if self._trouble() else 0.0
            self._sending = partial(self._send, opened, self._order_state.epoch, self._watch, self._requests)
            self._world.at(self._world.now + gap_s, self._sending)
        if (at := order_state.due(self._order_state)) is not None:
            self._wake_at(at)

    def _read_orders(self) -> None:
        while self._inbox:
            message = self._inbox.popleft()
            assert self._order_state is not None
            if isinstance(message, int):
                self._order_state = order_state.stopped(self._order_state, message)
                self._report()
            else:
                self._order_state = order_state.ordered(self._order_state, message[0])

    def _send(self, opened: int, epoch: int, watch: Watch, number: int) -> None:
        if self._order_state is None or opened != self._opened or self._sending is None or number != self._requests:
            return
        self._sending = None
        request = watch.request
        said = replace(request, epoch=epoch) if isinstance(request, Heartbeat) else request
        self._awaited = self._requests
        self.sent.append(self._world.now)
        self._world.network.send(self, Send(self._requests, watch.to, said))

    def receive(self, event: Answered | Failed) -> None:
        if self._order_state is None or event.request_id != self._awaited or self._order_state.sent_at is None:
            return
        if isinstance(event, Failed):
            self.reset()
            return
        response = event.response
        code = int(response.code) if isinstance(response, Refused) else 0
        epoch = response.epoch if isinstance(response, HeartbeatAccepted) else None
        self._awaited = 0
        self._order_state = order_state.answered(self._order_state, code, epoch)
        self._report()
        self._wake_at(self._world.now)

    def _report(self) -> None:
        assert self._order_state is not None
        self._reports.append(self._order_state.report)
