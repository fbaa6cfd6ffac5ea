"""What a worker tells the keeper, and when it must hear the keeper first. Has no thread; its owner calls it.

A heartbeat of the member must know all that the coordinator told the keeper, or the coordinator would refuse its epoch. So
the worker replaces or stops an order before it sends anything, and only then looks at the clock. Before the time of
the order: the keeper has sent nothing, and will not, because it reads orders before it acts. After it: the keeper may have
sent something, and until it has confirmed the stop (`settled`) every heartbeat of the member is a full one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from membership_client.core.events import KeeperReported
from membership_client.core.keeper import Watch
from membership_client.keeper.line import Report


class Link(Protocol):
    """The way to the keeper. Nothing here blocks."""

    def order(self, number: int, watch: Watch, until: float) -> bool:
        """False if there is no keeper for that broker now; it does not get the order then."""

    def stop(self, number: int) -> None: ...
    def reports(self) -> Iterable[Report] | None:
        """Those that came since the last call; None if the keeper is gone."""

    def close(self) -> None: ...


class KeeperControl:
    """Belongs to the thread that owns the member."""

    def __init__(self, link: Link, clock: Callable[[], float]) -> None:
        self.link = link
        self._clock = clock
        self._number = 0
        self._ordered: Watch | None = None
        """What the keeper does at the moment."""
        self._asked_epoch = 0
        self._unsettled = False
        """It may have sent something, and has not yet confirmed that it stopped."""
        self._taken: tuple[int, float | None] | None = None
        """Epoch and last confirmation of the newest report that was taken in."""

    def recall(self, watch: Watch | None, until: float, *, sends: bool) -> KeeperReported | None:
        """Before a step is carried out that makes `watch` of what the keeper watches. If there is a report, it comes first.

        `sends`: the step sends a heartbeat, which must be a full one as long as the keeper is not settled.
        """
        before = self._ordered
        if before is None:
            return self.news() or (self._reported(None) if self._unsettled and sends else None)
        if self._clock() < before.at:
            self._replace(watch, until)
            if self._clock() < before.at:
                return None
        self._replace(None, until)
        self._unsettled, self._taken = True, None
        return self.news() or self._reported(None)

    def resume(self, watch: Watch | None, until: float) -> None:
        """Give the order, if the keeper is ready for one."""
        if watch is not None and self._ordered is None and not self._unsettled:
            self._replace(watch, until)

    def news(self) -> KeeperReported | None:
        """What it has reported since the last call, if it may have sent something and said anything new."""
        if not self._unsettled:
            return None
        reports = self.link.reports()
        if reports is None:
            self._unsettled = False
            return self._reported(None)
        newest = None
        for report in reports:
            newest = report
            if report.settled and report.number == self._number:
                self._unsettled = False
        if newest is None or self._taken == (newest.epoch, newest.confirmed_at):
            return None
        self._taken = newest.epoch, newest.confirmed_at
        return self._reported(newest)

    def _replace(self, watch: Watch | None, until: float) -> None:
        self._number += 1
        if watch is not None and self.link.order(self._number, watch, until):
            self._ordered, self._asked_epoch = watch, watch.epoch
        elif self._ordered is not None:
            self.link.stop(self._number)
            self._ordered = None

    def _reported(self, report: Report | None) -> KeeperReported:
        epoch = self._asked_epoch if report is None else report.epoch
        return KeeperReported(self._asked_epoch, epoch, None if report is None else report.confirmed_at)
