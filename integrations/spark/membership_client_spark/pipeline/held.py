"""Which slot holds which partition, and which of them the running epoch still needs."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from membership_client import CallbackContext, RebalanceListener, TopicPartition

_LOOK_S = 0.1
"""How often a callback that waits looks whether its partitions were lost meanwhile."""


class Holding(NamedTuple):
    """A partition is assigned to a slot. Each assignment has a number of its own."""

    slot: int
    number: int


class Held:
    """The partitions that slots hold. Shared by the callback threads of members and the pipeline's thread."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._holdings: dict[TopicPartition, Holding] = {}
        self._leaving: frozenset[TopicPartition] = frozenset()
        self._in_use: Mapping[TopicPartition, Holding] = {}
        self._count = 0

    def now(self) -> dict[TopicPartition, Holding]:
        """The partitions that are held and not being revoked."""
        with self._changed:
            return {place: one for place, one in self._holdings.items() if place not in self._leaving}

    def use(self, planned: Mapping[TopicPartition, Holding]) -> frozenset[TopicPartition]:
        """An epoch starts: those of `planned` that are still held as planned. They are not given up before `release`."""
        with self._changed:
            self._in_use = {place: planned[place] for place in self._unchanged(planned) - self._leaving}
            return frozenset(self._in_use)

    def still(self, planned: Mapping[TopicPartition, Holding]) -> frozenset[TopicPartition]:
        """Those of `planned` that were held all the time since, including those that are being revoked."""
        with self._changed:
            return self._unchanged(planned)

    def release(self) -> None:
        """The epoch was committed, or will never be."""
        with self._changed:
            self._in_use = {}
            self._changed.notify_all()

    def wait_for_change(self, timeout_s: float) -> None:
        with self._changed:
            self._changed.wait(timeout_s)

    def wake(self) -> None:
        """Ends the wait for a change."""
        with self._changed:
            self._changed.notify_all()

    def listener(self, slot: int) -> RebalanceListener:
        return _SlotListener(self, slot)

    def _assigned(self, slot: int, partitions: Iterable[TopicPartition]) -> None:
        with self._changed:
            for place in partitions:
                self._count += 1
                self._holdings[place] = Holding(slot, self._count)
            self._changed.notify_all()

    def _are_needed(self, partitions: Iterable[TopicPartition]) -> bool:
        """Whether the running epoch needs them: not if it lost them before, because it cannot commit them any more."""
        return not self._unchanged(self._in_use).isdisjoint(partitions)

    def _unchanged(self, planned: Mapping[TopicPartition, Holding]) -> frozenset[TopicPartition]:
        return frozenset(place for place, one in planned.items() if self._holdings.get(place) == one)

    def _gone(self, slot: int, partitions: Iterable[TopicPartition]) -> None:
        with self._changed:
            for place in partitions:
                # A member that learns late of its fence gives up partitions that another slot may hold by now.
                if place in self._holdings and self._holdings[place].slot == slot:
                    del self._holdings[place]
            self._leaving -= frozenset(partitions)
            self._changed.notify_all()

    def _wait_unused(self, partitions: Iterable[TopicPartition], context: CallbackContext) -> None:
        """Waits until the running epoch is committed, the callback's budget is over, or the partitions are lost.

        No new epoch takes these partitions meanwhile.
        """
        remaining = context.remaining_s()
        give_up_at = float("inf") if remaining is None else time.monotonic() + remaining
        with self._changed:
            self._leaving |= frozenset(partitions)
            while self._are_needed(partitions) and not context.lost and time.monotonic() < give_up_at:
                self._changed.wait(_LOOK_S)


class _SlotListener(RebalanceListener):
    def __init__(self, held: Held, slot: int) -> None:
        self._held = held
        self._slot = slot

    def on_partitions_assigned(self, partitions: tuple[TopicPartition, ...], _: CallbackContext) -> None:
        self._held._assigned(self._slot, partitions)  # noqa: SLF001 - the listener is the other half of it

    def on_partitions_revoked(self, partitions: tuple[TopicPartition, ...], context: CallbackContext) -> None:
        self._held._wait_unused(partitions, context)  # noqa: SLF001 - as above
        self._held._gone(self._slot, partitions)  # noqa: SLF001 - as above

    def on_partitions_lost(self, partitions: tuple[TopicPartition, ...], _: CallbackContext) -> None:
        self._held._gone(self._slot, partitions)  # noqa: SLF001 - as above
