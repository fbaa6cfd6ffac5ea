"""Open a connection to the first of several addresses that answers: a dead one must not delay the others."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence

from membership_client.core.events import FailureKind
from membership_client.net.connection import Connection
from membership_client.net.failures import OpenFailed, of_a_list

PATIENCE_S = 1.0
"""After so long without an answer from one address, the next is tried as well."""

Opener = Callable[[], Connection]


def open_first(openers: Sequence[Opener], patience_s: float = PATIENCE_S) -> Connection:
    """The first connection that is opened. The next opener starts when one has failed or `patience_s` have passed. Blocks.

    Raises:
        OpenFailed: all have failed; the text has each of their errors.
    """
    if len(openers) == 1:
        return openers[0]()
    race = _Race()
    failures: list[OpenFailed] = []
    started = 0
    try:
        while len(failures) < len(openers):
            if started < len(openers):
                race.start(openers[started])
                started += 1
            outcome = race.next_outcome(patience_s if started < len(openers) else None)
            if isinstance(outcome, Connection):
                return outcome
            if outcome is not None:
                failures.append(outcome)
    finally:
        race.end()
    raise of_a_list(failures)


class _Race:
    def __init__(self) -> None:
        self._outcomes: queue.SimpleQueue[Connection | OpenFailed] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._over = False

    def start(self, opener: Opener) -> None:
        threading.Thread(target=self._run, args=(opener,), name="membership-connect", daemon=True).start()

    def next_outcome(self, within_s: float | None) -> Connection | OpenFailed | None:
        """None if there was none within that time."""
        try:
            return self._outcomes.get(timeout=within_s)
        except queue.Empty:
            return None

    def end(self) -> None:
        """Close every connection that is opened from now on."""
        with self._lock:
            self._over = True
        while not self._outcomes.empty():
            _close(self._outcomes.get())

    def _run(self, opener: Opener) -> None:
        outcome: Connection | OpenFailed
        try:
            outcome = opener()
        except OpenFailed as failed:
            outcome = failed
        except Exception as error:  # noqa: BLE001 - whatever it is, the other addresses may answer
            outcome = OpenFailed(FailureKind.UNREACHABLE, repr(error))
        with self._lock:
            if not self._over:
                self._outcomes.put(outcome)
                return
        _close(outcome)


def _close(outcome: Connection | OpenFailed) -> None:
    if isinstance(outcome, Connection):
        outcome.close()
