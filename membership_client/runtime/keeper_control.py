"""What a worker tells the keeper, and when it must read the keeper's reports first. Has no thread; its owner calls it.

The coordinator refuses a heartbeat of the member under an older epoch than it has told the keeper. So the worker replaces or
stops an order before it sends anything, and only then looks at the clock. Before the time of the order the keeper has sent
nothing, and will not, because it reads orders before it acts. After that time the keeper may have sent something, and until
it has confirmed the stop (`settled`) every heartbeat of the member is a full one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from membership_client.core.events import Effect, Event, Heartbeat, KeeperReported, Send
from membership_client.core.keeper import Watch, until, watch_of
from membership_client.core.member import Member
from membership_client.keeper.order_state import KeeperReport


class Link(Protocol):
    """The connection to the keeper. Only `prepare` and `await_stop` block, each for some milliseconds."""

    @property
    def is_opening(self) -> bool:
        """Is a connection to the keeper being opened?"""

    def prepare(self) -> None:
        """Start the keeper before the first order, because that takes time."""

    def order(self, number: int, watch: Watch, until: float) -> bool:
        """Give the keeper this order. False if there is no keeper for that broker now."""

    def stop(self, number: int) -> None: ...
    def await_stop(self, number: int) -> None:
        """Block until the keeper has read the stop. If that takes too long, end the connection.

        From then on it sends nothing. Otherwise a keeper that is paused between reading its orders and sending its heartbeat
        could tell the coordinator, seconds later, what the member owned before: the coordinator would give the rest to others.
        """

    def reports(self) -> Iterable[KeeperReport] | None:
        """The reports that came since the last call; None if the keeper has ended."""

    def reset(self) -> None:
        """End the connection: this keeper can send nothing from now on, and the next order opens another one."""

    def close(self) -> None: ...
    def abandon(self) -> None:
        """In a forked child: leave the keeper to the parent."""


class KeeperControl:
    """The orders of one member to its keeper, and the reports. All methods belong to the thread that owns the member."""

    def __init__(self, link: Link, clock: Callable[[], float]) -> None:
        self.link = link
        self._clock = clock
        self._number = 0
        self._watched: Watch | None = None
        """What the keeper should do after the last step."""
        self._ordered: Watch | None = None
        """What the keeper was told to do; None if nothing."""
        self._asked_epoch = 0
        self._stopped_at: float | None = None
        """When the keeper was stopped; None unless it may have sent something before, and has not yet confirmed the stop."""
        self._taken: tuple[int, float | None] | None = None
        """Epoch and last confirmation of the newest report that was taken in."""

    @property
    def is_opening(self) -> bool:
        """Will the keeper soon be able to take the order that it has not got yet?"""
        return self._watched is not None and self._ordered is None and self.link.is_opening

    def before(self, event: Event, after: Member, effects: Sequence[Effect], *, held: bool) -> KeeperReported | None:
        """Called before a step is carried out. If it returns a report, the step must be dropped, and repeated after the report.

        `held` says whether the application does long work that it has announced.
        """
        watch, until_ = watch_of(after), until(after, self._clock(), held=held)
        if watch != self._watched and not isinstance(event, KeeperReported):
            report = self._recall(watch, until_, needs_newest_epoch=any(map(_needs_newest_epoch, effects)))
            if report is not None:
                return report
        self._watched = watch
        if watch is not None and self._ordered is None and self._stopped_at is None:
            self._replace(watch, until_)
        return None

    def news(self, patience_s: float) -> KeeperReported | None:
        """A new report of a keeper that may have sent something, else None. After `patience_s` the connection is ended."""
        if self._stopped_at is None:
            return None
        if self._clock() >= self._stopped_at + patience_s:
            self.link.reset()
        return self._news()

    def _recall(self, watch: Watch | None, until: float, *, needs_newest_epoch: bool) -> KeeperReported | None:
        before = self._ordered
        if before is None:
            # As long as a heartbeat of the keeper may be under way, that of the member must be a full one.
            unsettled = self._stopped_at is not None
            return self._news() or (self._reported(None) if unsettled and needs_newest_epoch else None)
        if self._clock() < before.at:
            self._replace(watch, until)
            if self._clock() < before.at:
                return None
        self._replace(None, until)
        self._stopped_at, self._taken = self._clock(), None
        self.link.await_stop(self._number)
        return self._news() or self._reported(None)

    def _news(self) -> KeeperReported | None:
        if self._stopped_at is None:
            return None
        reports, newest = self.link.reports(), None
        if reports is None:
            self._stopped_at = None
            return self._reported(None)
        for report in reports:
            newest = report
            if report.settled and report.number == self._number:
                self._stopped_at = None
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

    def _reported(self, report: KeeperReport | None) -> KeeperReported:
        epoch = self._asked_epoch if report is None else report.epoch
        return KeeperReported(self._asked_epoch, epoch, None if report is None else report.confirmed_at)


def _needs_newest_epoch(effect: Effect) -> bool:
    """Is it a heartbeat that a coordinator refuses under its last epoch, because it does not say what is owned (KIP-848)?"""
    request = effect.request if isinstance(effect, Send) else None
    return isinstance(request, Heartbeat) and request.epoch > 0 and request.owned is None
