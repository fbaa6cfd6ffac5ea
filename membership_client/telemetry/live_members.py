"""The members of this process, as exporters see them."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from membership_client.runtime.rebalance_tracker import RebalanceTracker
from membership_client.runtime.worker import Worker
from membership_client.telemetry.names import Labels
from membership_client.types import Progress

Key = tuple[tuple[str, str], ...]


@dataclass(frozen=True, eq=False)
class LiveMember:
    """A member as the gauges see it. Exporters read it on their own threads, at any time."""

    worker: Worker
    tracker: RebalanceTracker
    labels: Labels
    progress: Callable[[], Progress] | None = None
    """How far a Consumer has read."""


class LiveMembers:
    """The members of this process. For any thread, without a lock: a change is one operation on a dict, of which readers read a copy."""

    def __init__(self) -> None:
        self._known: dict[int, weakref.ref[LiveMember]] = {}

    def add(self, live: LiveMember) -> None:
        """Include the member until no other object refers to `live`."""
        self._known[id(live)] = weakref.ref(live)

    def __iter__(self) -> Iterator[LiveMember]:
        """The members that run or will run. A forked child leaves out those of its parent, because their workers are stopped."""
        for key, known in self._known.copy().items():
            live = known()
            if live is None:
                self._forget(key, known)
            elif not live.worker.stopped:
                yield live

    def _forget(self, key: int, known: weakref.ref[LiveMember]) -> None:
        # Python may have given the id of the collected object to a new one.
        if self._known.get(key) is known:
            self._known.pop(key, None)

    def groups(self) -> Iterable[tuple[Labels, list[LiveMember]]]:
        """The members by their labels: those of one group together, unless member ids are among the labels."""
        found: dict[Key, list[LiveMember]] = {}
        for live in self:
            found.setdefault(tuple(live.labels.items()), []).append(live)
        return [(dict(key), group) for key, group in found.items()]
