"""Only so many threads open connections at a time.

A thousand members that start at once would otherwise be two thousand threads that all want the interpreter's lock; they
would hand it around for minutes while everybody's heartbeats wait for it too.
"""

from __future__ import annotations

import os
import threading

_PLACES = 16


class _Turnstile:
    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """In a forked child nobody is left of those who were inside."""
        self.places = threading.BoundedSemaphore(_PLACES)


_turnstile = _Turnstile()
os.register_at_fork(after_in_child=_turnstile.renew)


def one_of_few() -> threading.BoundedSemaphore:
    """To be held while opening a connection; entering waits for a free place."""
    return _turnstile.places
