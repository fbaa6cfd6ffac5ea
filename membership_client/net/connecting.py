"""What a connecting thread does: wait for a token, then open a connection, or renew the session of one that is open.

The first such thread imports this module, and with it Kafka's message formats. That takes longer than importing the rest of
a member, so a program that imports a member does not wait for it.
"""

from __future__ import annotations

import functools
import os
import queue
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from membership_client.core.events import FailureKind
from membership_client.net.channel import OpenFailed, failure_of_servers
from membership_client.net.connection import Connection
from membership_client.net.opening import await_token, open_connection, renew_session

if TYPE_CHECKING:
    from membership_client.net.transport import Attempt
    from membership_client.types import Node


_MOST_AT_ONCE = 16
"""How many threads open connections at a time.

A thousand members that start at once would otherwise be two thousand threads that compete for the interpreter's lock, for
minutes, while the heartbeats of all members wait for it too.
"""


class _Limit:
    """Limits how many threads open connections at the same time."""

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """In a forked child: free all places, because the threads that hold them are not in the child."""
        self.places = threading.BoundedSemaphore(_MOST_AT_ONCE)


_limit = _Limit()
os.register_at_fork(after_in_child=_limit.renew)


def places() -> threading.BoundedSemaphore:
    """To be held while opening a connection; entering waits for a free place."""
    return _limit.places


def connect(attempt: Attempt) -> Connection:
    """Open the connection, or renew the session. Blocks.

    Raises:
        OpenFailed: for every reason that lies outside this process.
    """
    await_token(attempt.nodes[0], timeout_s=attempt.token_timeout_s, security=attempt.security)
    with places():
        if attempt.held is not None:
            return renew_session(attempt.held, timeout_s=attempt.timeout_s, security=attempt.security)
        return open_first([_opener(attempt, node) for node in attempt.nodes])


def _opener(attempt: Attempt, node: Node) -> Callable[[], Connection]:
    return functools.partial(
        open_connection,
        node,
        client_id=attempt.client_id,
        timeout_s=attempt.timeout_s,
        max_frame_bytes=attempt.max_frame_bytes,
        security=attempt.security,
    )


# --- the first of several addresses ----------------------------------------------------------------------------------


PATIENCE_S = 1.0
"""After this time without an answer from one address, the next one is tried as well."""

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
    raise failure_of_servers(failures)


class _Race:
    """Openers on threads of their own; the first connection counts, and later ones are closed."""

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
        except Exception as error:  # noqa: BLE001 - the other addresses may still answer
            outcome = OpenFailed(FailureKind.UNREACHABLE, repr(error))
        with self._lock:
            if not self._over:
                self._outcomes.put(outcome)
                return
        _close(outcome)


def _close(outcome: Connection | OpenFailed) -> None:
    if isinstance(outcome, Connection):
        outcome.close()
