"""A broker that stops in the middle of a program, for both libraries at the same moment."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from membership_client.testing import KafkaCluster

_TOGETHER_S = 80.0
"""How long one library waits for the other. Less than the player waits for one call."""

_BROKER = 1


class Outage:
    """The two players of a program meet where the broker stops, and again where it is back."""

    def __init__(self, cluster: KafkaCluster) -> None:
        self._cluster = cluster
        self._before = threading.Barrier(2, lambda: cluster.kill(_BROKER))
        self._after = threading.Barrier(2, lambda: cluster.restart(_BROKER))

    def begin(self) -> None:
        """Returns when the broker has stopped."""
        self._before.wait(_TOGETHER_S)

    def end(self) -> None:
        """Returns when it serves again."""
        self._after.wait(_TOGETHER_S)

    @contextmanager
    def one_program(self) -> Iterator[None]:
        """Afterwards the broker serves, also if a player did not come to the meeting."""
        try:
            yield
        finally:
            self._before.reset()
            self._after.reset()
            self._cluster.start_all()
