"""Commits in a trace: each that failed, and the others in sums, so that they do not push out what matters."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

from membership_client.errors import MembershipError
from membership_client.trace.journal import Journal

_EVERY_S = 1.0


class CommitTally:
    """Used by whichever thread commits; a count that two threads spoil for each other is no harm."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._count = 0
        self._slowest_s = 0.0
        self._since = time.monotonic()

    @contextlib.contextmanager
    def commit(self, partitions: int) -> Iterator[None]:
        began_at = time.monotonic()
        try:
            yield
        except MembershipError as error:
            took_s, kind = time.monotonic() - began_at, type(error).__name__
            self._journal.note("commit refused", partitions=partitions, took=took_s, error=kind, detail=error.detail)
            raise
        self._add(began_at, time.monotonic())

    def _add(self, began_at: float, now: float) -> None:
        self._count += 1
        self._slowest_s = max(self._slowest_s, now - began_at)
        if now - self._since >= _EVERY_S:
            self.sum_up()

    def sum_up(self) -> None:
        """Note what was not noted yet: also when nothing follows."""
        if self._count:
            self._journal.note("commits", count=self._count, slowest=self._slowest_s)
        self._count, self._slowest_s, self._since = 0, 0.0, time.monotonic()
