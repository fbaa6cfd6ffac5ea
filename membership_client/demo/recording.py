"""The list of what happened, shared by the threads that add to it, wait for it or show it."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from membership_client.demo.board import Board, advance
from membership_client.demo.kit import Remark

if TYPE_CHECKING:
    from collections.abc import Callable

    from membership_client.demo.happenings import Happening


class Recording:
    """Every method may be called from any thread. Watchers are called with each happening, in the recorded order."""

    def __init__(self) -> None:
        self.began_at = time.monotonic()
        self._changed = threading.Condition()
        self._happenings: list[Happening] = []
        self._board = Board()
        self._watchers: list[Callable[[Happening], None]] = []

    def watch(self, watcher: Callable[[Happening], None]) -> None:
        self._watchers.append(watcher)

    def add(self, happening: Happening) -> None:
        with self._changed:
            self._happenings.append(happening)
            self._board = advance(self._board, happening)
            for watcher in self._watchers:
                watcher(happening)
            self._changed.notify_all()

    def remark(self, text: str) -> None:
        """Adds a sentence of the demonstration itself."""
        self.add(Remark(at=time.monotonic(), text=text))

    @property
    def happenings(self) -> tuple[Happening, ...]:
        with self._changed:
            return tuple(self._happenings)

    @property
    def board(self) -> Board:
        """The state at this moment, as a value that does not change any more."""
        return self._board

    def wait(self, condition: Callable[[Board], bool], timeout_s: float) -> bool:
        """Waits until the condition holds for the board; False if it does not within this time."""
        with self._changed:
            return self._changed.wait_for(lambda: condition(self._board), timeout_s)
