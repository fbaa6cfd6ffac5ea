"""The last rebalance of one member, and since when it has had its state: what `last_rebalance` and `explain` tell."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable

from membership_client.core import reasons
from membership_client.core.exception_summary import Raised
from membership_client.core.machine import Step, deadline
from membership_client.core.member import Member, RunningCall
from membership_client.partitions import Partitions
from membership_client.rebalance_report import RebalanceCallback, RebalanceReport, RebalanceTrigger
from membership_client.runtime.rebalance_tracker import (
    CallbackEnded,
    Fact,
    RebalanceBegan,
    RebalanceEnded,
    RebalanceTracker,
)
from membership_client.types import Cause, CauseKind, TopicPartition

_MOST_CALLBACKS = 100
"""How many callbacks of one rebalance are kept, the newest: in a group that never comes to rest, a rebalance has no end."""
_LONG_S = 5.0
"""A member on a busy machine is late by less than this."""
_SOON_S = 20.0
"""A heartbeat that is refused after a standstill may be preceded by a timeout, and by the search for the coordinator."""
_BY_STANDSTILL = frozenset({CauseKind.FENCED, CauseKind.POLL_INTERVAL_EXCEEDED})


class RebalanceHistory:
    """`on_step` is an observer of one member, for the membership thread. The rest may be read by any thread."""

    def __init__(self) -> None:
        self.last: RebalanceReport | None = None
        self.ended_at: float | None = None
        """When the last rebalance ended, by the member's clock."""
        self.state_since: float | None = None
        """When the state last changed, by the member's clock; None before the first time."""
        self._tracker = RebalanceTracker()
        self._before: Member | None = None
        """The member before the rebalance that is under way."""
        self._callbacks: deque[RebalanceCallback] = deque(maxlen=_MOST_CALLBACKS)
        self._stepped_at: float | None = None
        self._standstill = (float("-inf"), 0.0)
        """The last one: when it ended, by the member's clock, and how long it was."""

    def on_step(self, step: Step) -> None:
        self._note_standstill(step)
        if step.after.state is not step.before.state:
            self.state_since = step.at
        for fact in self._tracker.follow(step):
            self._take(fact, step)

    def _note_standstill(self, step: Step) -> None:
        """Note it if something was due long before this step: the process was stopped, or got no processor or interpreter."""
        quiet_s = 0.0 if self._stepped_at is None else step.at - self._stepped_at
        self._stepped_at = step.at
        if quiet_s > _LONG_S and (due := deadline(step.before)) is not None and step.at - due > _LONG_S:
            self._standstill = step.at, quiet_s

    def _stood_still_s(self, began: RebalanceBegan) -> float:
        """How long the member did nothing just before the rebalance, if that may have brought it about."""
        ended_at, seconds = self._standstill
        is_cause = began.cause.kind in _BY_STANDSTILL and began.at - ended_at <= _SOON_S
        return seconds if is_cause else 0.0

    def _take(self, fact: Fact, step: Step) -> None:
        if isinstance(fact, RebalanceBegan):
            self._before = step.before
            self._callbacks.clear()
        elif isinstance(fact, CallbackEnded):
            call = step.before.call if fact.returned else step.after.call
            if call is not None:
                self._callbacks.append(_callback(fact, call, step.before if fact.returned else step.after))
        elif isinstance(fact, RebalanceEnded) and self._before is not None:
            still_s = self._stood_still_s(fact.began)
            self.last = _report(fact, self._before, step.after, self._callbacks, still_s)
            self.ended_at, self._before = fact.at, None


def _callback(fact: CallbackEnded, call: RunningCall, member: Member) -> RebalanceCallback:
    return RebalanceCallback(
        kind=fact.kind,
        partitions=_named(call.partitions, member),
        waited_s=fact.began_at - fact.wanted_at,
        ran_s=fact.at - fact.began_at,
        error=None if fact.error is None else _type_and_place(fact.error),
        returned=fact.returned,
    )


def _type_and_place(error: Raised) -> str:
    """The exception without its message, which may quote a record."""
    return f"{error.kind} at {error.places[0]}" if error.places else error.kind


def _report(
    ended: RebalanceEnded,
    before: Member,
    after: Member,
    callbacks: Iterable[RebalanceCallback],
    stood_still_s: float,
) -> RebalanceReport:
    return RebalanceReport(
        state=after.state,
        epoch=after.epoch,
        cause=ended.began.cause,
        triggered_by=RebalanceTrigger.MEMBER if stood_still_s else trigger_of(ended.began.cause),
        ended_at=time.time(),
        seconds=ended.at - ended.began.at,
        owned=len(after.owned),
        got=_named(after.owned - before.owned, after),
        lost=_named(before.owned - after.owned, before),
        callbacks=tuple(callbacks),
        stood_still_s=stood_still_s,
    )


def _named(partitions: Partitions, member: Member) -> frozenset[TopicPartition]:
    return frozenset(partitions.named(member.names))


_TRIGGERS = {
    CauseKind.GROUP_CHANGED: RebalanceTrigger.GROUP,
    CauseKind.FENCED: RebalanceTrigger.COORDINATOR,
    CauseKind.FATAL: RebalanceTrigger.MEMBER,
}
_OF_OTHERS = frozenset({reasons.REBALANCING, reasons.REVOKED, reasons.NO_ANSWER, reasons.PASSED_OVER})
_SEEN_BY_MEMBER = frozenset({reasons.TOPICS_CHANGED, reasons.OUT_OF_DATE, reasons.MISFIT})


def trigger_of(cause: Cause) -> RebalanceTrigger:
    """What began a rebalance with this cause."""
    _, is_classic, wish = cause.detail.partition("rebalance: ")
    if cause.kind is not CauseKind.GROUP_CHANGED or not is_classic or wish in _OF_OTHERS:
        return _TRIGGERS.get(cause.kind, RebalanceTrigger.APPLICATION)
    # Any other detail is the reason that the application gave to enforce_rebalance().
    return RebalanceTrigger.MEMBER if wish in _SEEN_BY_MEMBER else RebalanceTrigger.APPLICATION
