"""The numbers of one member."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence

from membership_client.core.events import Warn
from membership_client.core.machine import Step
from membership_client.telemetry import names
from membership_client.telemetry.facts import CallbackEnded, Fact, Fenced, PhaseEnded, RebalanceEnded, RebalanceFailed
from membership_client.telemetry.heartbeats import heartbeat_outcome
from membership_client.telemetry.instruments import Instruments
from membership_client.telemetry.labels import Labels, kind_label


class Metrics:
    """`take` is for the thread that owns the member, `commit` and `polling` for any."""

    def __init__(self, instruments: Instruments, labels: Labels) -> None:
        self._instruments = instruments
        self._labels = labels

    def take(self, step: Step, facts: Sequence[Fact]) -> None:
        if (heartbeat := heartbeat_outcome(step)) is not None:
            self._instruments.heartbeat_duration.record(heartbeat.took_s, self._with_error(heartbeat.error))
        for effect in step.effects:
            if isinstance(effect, Warn):
                self._instruments.warnings.add(1, {**self._labels, names.BUDGET: effect.budget.name.lower()})
        self.count(facts)

    def count(self, facts: Sequence[Fact]) -> None:
        for fact in facts:
            match fact:
                case RebalanceEnded():
                    self._count_rebalance(fact)
                case PhaseEnded():
                    labels = {**self._labels, names.PHASE: fact.phase}
                    self._instruments.phase_duration.record(fact.at - fact.began_at, labels)
                case CallbackEnded(returned=True):
                    self._count_callback(fact)
                case Fenced():
                    self._instruments.fences.add(1, self._labels)
                case RebalanceFailed():
                    self._instruments.rebalance_failures.add(1, self._with_error(kind_label(fact.kind)))

    @contextlib.contextmanager
    def commit(self) -> Iterator[None]:
        began_at, error = time.monotonic(), None
        try:
            yield
        except Exception as raised:
            error = type(raised).__name__
            raise
        finally:
            commit = {names.OPERATION_NAME: "commit", names.OPERATION_TYPE: "settle"}
            labels = {**self._with_error(error), **commit}
            self._instruments.operation_duration.record(time.monotonic() - began_at, labels)

    def polling(self, idle_s: float, busy_s: float) -> None:
        self._instruments.poll_time.add(idle_s, {**self._labels, names.POLL_STATE: "idle"})
        self._instruments.poll_time.add(busy_s, {**self._labels, names.POLL_STATE: "busy"})

    def _count_rebalance(self, ended: RebalanceEnded) -> None:
        labels = {
            **self._labels,
            names.CAUSE_KIND: kind_label(ended.began.cause.kind),
            names.OUTCOME: ended.outcome,
        }
        self._instruments.rebalance_duration.record(ended.at - ended.began.at, labels)

    def _count_callback(self, ended: CallbackEnded) -> None:
        kind = {names.CALLBACK_KIND: ended.kind.value}
        error = None if ended.error is None else ended.error.kind
        self._instruments.callback_duration.record(ended.at - ended.began_at, {**self._with_error(error), **kind})
        self._instruments.moved.add(ended.moved, {**self._labels, **kind})

    def _with_error(self, error: str | None) -> Labels:
        return self._labels if error is None else {**self._labels, names.ERROR_TYPE: error}
