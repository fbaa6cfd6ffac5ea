"""asyncio's event loop in virtual time. It waits by giving its turn back, and has no sockets."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from membership_client.testing.kit.scheduler import Killed, Scheduler, StuckError

_MOST_AWAITS = 20
"""How many awaits in `finally` blocks of one coroutine are carried out at its end."""
_ROUNDS = 100
"""After this many rounds without a wait the turn is given back, so that other threads may do what coroutines wait for."""
_MOST_ROUNDS = 10_000


class VirtualLoop(asyncio.SelectorEventLoop):
    """The loop of one task; `asyncio.run` makes one wherever a task of the scheduler calls it."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._woken = False
        self._rounds = 0
        """The number of rounds since time last moved."""
        self._counted_at = scheduler.now
        self._is_killed = False
        self._conditions: list[tuple[Callable[[], bool], asyncio.Future[None]]] = []
        super().__init__(_NoSockets(self._rest))

    def time(self) -> float:
        return self._scheduler.now

    async def until(self, is_ready: Callable[[], bool], timeout_s: float | None = None) -> None:
        """Return when `is_ready()`, or the time is over. A wait that is cancelled has taken nothing. Raises Killed."""
        self._scheduler.check_alive()
        told: asyncio.Future[None] = self.create_future()
        condition = (is_ready, told)
        self._conditions.append(condition)
        timer = None if timeout_s is None else self.call_later(timeout_s, _tell, told)
        try:
            await told
        finally:
            self._conditions.remove(condition)
            if timer is not None:
                timer.cancel()

    def _rest(self, timeout_s: float | None) -> None:
        """Called where the loop would wait for sockets. In a killed process no ready callback runs any more."""
        self._count()
        try:
            self._scheduler.check_alive()
            if timeout_s is None or timeout_s > 0 or self._rounds % _ROUNDS == 0:
                self._scheduler.wait(self._may_go_on, timeout_s)
        except Killed:
            self._is_killed = True
            raise
        self._woken = False
        for is_ready, told in self._conditions:
            if is_ready():
                _tell(told)

    def _count(self) -> None:
        is_later, self._counted_at = self._scheduler.now > self._counted_at, self._scheduler.now
        self._rounds = 0 if is_later else self._rounds + 1
        if self._rounds > _MOST_ROUNDS:
            self._rounds = 0
            raise StuckError(f"Coroutines have had {_MOST_ROUNDS} turns and time stands still at {self.time():.3f} s.")

    def _may_go_on(self) -> bool:
        return self._woken or any(is_ready() and not told.done() for is_ready, told in self._conditions)

    def close(self) -> None:
        if self._is_killed:
            ended: set[asyncio.Task[Any]] = set()
            while left := asyncio.all_tasks(self) - ended:  # The end of a task may start another one.
                for task in left:
                    _end(task)
                ended |= left
        super().close()

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Ignore errors of tasks of a killed process."""
        if not self._is_killed:
            super().call_exception_handler(context)

    # --- what the selector loop does with a pair of sockets ----------------------------------------------------------

    def _write_to_self(self) -> None:
        self._woken = True

    def _make_self_pipe(self) -> None:
        """Does nothing, because no pipe is needed."""

    def _close_self_pipe(self) -> None:
        """Does nothing, as `_make_self_pipe`."""


def _end(task: asyncio.Task[Any]) -> None:
    """End the task now. Otherwise the garbage collector would later, and warn of an `await` in a `finally`."""
    coroutine = task.get_coro()
    for _ in range(_MOST_AWAITS):
        try:
            coroutine.close()
        except BaseException:  # noqa: BLE001, S112 - code of a killed process may raise anything at its end
            continue
        return


def _tell(told: asyncio.Future[None]) -> None:
    if not told.done():
        told.set_result(None)


class _NoSockets(selectors.BaseSelector):
    def __init__(self, rest: Callable[[float | None], None]) -> None:
        self._rest = rest

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._rest(timeout)
        return []

    def register(self, *_: Any, **__: Any) -> NoReturn:
        raise RuntimeError("Sockets are not virtual: a program in explore() or play() cannot use them.")

    def unregister(self, fileobj: Any) -> NoReturn:
        raise KeyError(fileobj)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return {}
