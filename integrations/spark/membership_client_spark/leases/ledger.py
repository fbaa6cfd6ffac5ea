"""Which incarnation holds which slot: pure state, without a clock and without a network."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass, replace

from membership_client_spark.incarnation import Incarnation


class Ending(enum.Enum):
    """How a slot that must end leaves the group."""

    SUPERSEDED = "superseded"
    """Leaves temporarily and fails: a newer incarnation waits for the slot."""

    MOVED = "moved"
    """Leaves temporarily and is started again elsewhere."""

    STOPPED = "stopped"
    """Leaves temporarily and ends."""

    REMOVED = "removed"
    """Leaves for good and ends."""


@dataclass(frozen=True, slots=True)
class MayJoin:
    """The incarnation may join now."""

    slot: int
    to: Incarnation


@dataclass(frozen=True, slots=True)
class MustEnd:
    """The incarnation must end, and say when it has closed."""

    slot: int
    to: Incarnation
    ending: Ending
    reason: str


Order = MayJoin | MustEnd


@dataclass(frozen=True, slots=True)
class _Lease:
    """The lease of one slot. `told_at` is when the holder was told to stop; None while no incarnation waits."""

    holder: Incarnation | None = None
    waiting: Incarnation | None = None
    told_at: float | None = None


class Ledger:
    """At most one holder per slot: the newest incarnation that claimed it. Belongs to one thread."""

    def __init__(self, grace_s: float) -> None:
        self._grace_s = grace_s
        self._leases: dict[int, _Lease] = {}
        self._ended: dict[int, tuple[Ending, str]] = {}

    def claim(self, slot: int, by: Incarnation, now: float) -> Iterator[Order]:
        """An incarnation claims a slot, for the first time or again after its connection was lost."""
        lease = self._leases.get(slot, _Lease())
        newest = max((one for one in (lease.holder, lease.waiting) if one), default=by)
        if slot in self._ended:
            yield MustEnd(slot, by, *self._ended[slot])
        elif by < newest:
            yield _superseded(slot, by, newest)
        elif lease.holder in {None, by}:
            yield from self._grant(slot, by)
        else:
            yield from self._queue(slot, lease, by, now)

    def _queue(self, slot: int, lease: _Lease, by: Incarnation, now: float) -> Iterator[Order]:
        if lease.waiting is not None and lease.waiting != by:
            yield _superseded(slot, lease.waiting, by)
        self._leases[slot] = replace(lease, waiting=by, told_at=now if lease.told_at is None else lease.told_at)
        if lease.told_at is None and lease.holder is not None:
            yield _superseded(slot, lease.holder, by)

    def gone(self, slot: int, who: Incarnation) -> Iterator[Order]:
        """The incarnation closed, or its connection was lost: the slot is free for the next one in both cases."""
        lease = self._leases.get(slot, _Lease())
        if lease.waiting == who:
            self._leases[slot] = replace(lease, waiting=None)
        elif lease.holder == who:
            self._leases[slot] = replace(lease, holder=None)
            if lease.waiting is not None:
                yield from self._grant(slot, lease.waiting)

    def tick(self, now: float) -> Iterator[Order]:
        """Grants slots whose holder did not answer for the grace period. The group fences the old holder then."""
        for slot, lease in list(self._leases.items()):
            if lease.waiting is not None and lease.told_at is not None and now >= lease.told_at + self._grace_s:
                yield from self._grant(slot, lease.waiting)

    def end(self, slot: int, ending: Ending, reason: str) -> Iterator[Order]:
        """Tells the holder, the waiting and every later incarnation to end. After `MOVED` the next claim is granted."""
        lease = self._leases.get(slot, _Lease())
        if ending is not Ending.MOVED:
            self._ended[slot] = (ending, reason)
        for who in (lease.holder, lease.waiting):
            if who is not None:
                yield MustEnd(slot, who, ending, reason)

    def reopen(self, slot: int) -> None:
        """A slot that had ended may be claimed again."""
        self._ended.pop(slot, None)

    def holder(self, slot: int) -> Incarnation | None:
        return self._leases.get(slot, _Lease()).holder

    def _grant(self, slot: int, to: Incarnation) -> Iterator[Order]:
        self._leases[slot] = _Lease(holder=to)
        yield MayJoin(slot, to)


def _superseded(slot: int, who: Incarnation, by: Incarnation) -> MustEnd:
    return MustEnd(slot, who, Ending.SUPERSEDED, f"incarnation {by} has slot {slot}; this is {who}")
