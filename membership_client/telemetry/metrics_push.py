"""Pushes a member's metrics to its coordinator where the brokers have a receiver of client metrics (KIP-714)."""

from __future__ import annotations

import contextlib
import math
import queue
import random
import time
import zlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from membership_client.core.events import Refused
from membership_client.net.telemetry_requests import GetTelemetrySubscriptions, PushTelemetry, TelemetrySubscription
from membership_client.runtime.coordinator_requests import CoordinatorRequest
from membership_client.runtime.log import MemberLogger, name_of
from membership_client.telemetry import names
from membership_client.telemetry.coordinator_metrics import CoordinatorMetrics
from membership_client.telemetry.otlp import metrics_data
from membership_client.telemetry.push_schedule import (
    PushCode,
    PushSchedule,
    answered,
    ended,
    is_wanted,
    too_large,
    under_way,
)

if TYPE_CHECKING:
    from membership_client.core.machine import Step
    from membership_client.core.member import Member
    from membership_client.runtime.coordinator_requests import Outcome
    from membership_client.runtime.worker import Worker

_NO_COMPRESSION = 0
_GZIP = 1
_GZIP_WINDOW = 31
"""With this window size zlib writes gzip's format."""


class MetricsPush:
    """Pushes the metrics of one member. All methods but `commit` are for the membership thread, and none of them waits.

    The request for the subscription goes over the coordinator's connection; it is not sent to a broker that does not know it.
    Pushes have a connection of their own, because a broker answers only when its receiver of metrics returns. The last push
    takes the coordinator's connection, which nothing else needs by then. One request is under way at a time, so a receiver
    that hangs gets no further push.
    """

    def __init__(
        self,
        member: Member,
        *,
        random_share: Callable[[], float] = random.random,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self.schedule = PushSchedule()
        self._metrics = CoordinatorMetrics(now_ns())
        self._client_rack = member.config.client_rack
        self._random_share = random_share
        self._now_ns = now_ns
        self._replies: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
        self._is_announced = False

    def due_at(self, member: Member) -> float:
        """When `turn` is to be called next. An answer wakes the membership thread by itself."""
        return math.inf if member.coordinator is None else self.schedule.due_at

    def on_step(self, step: Step) -> None:
        """Count a step of the member."""
        self._metrics.on_step(step)

    @contextlib.contextmanager
    def commit(self) -> Iterator[None]:
        """Measures the commit in its `with` block. Any thread."""
        began_at = time.monotonic()
        yield
        self._metrics.committed(time.monotonic() - began_at)

    def turn(self, worker: Worker, now: float) -> None:
        """Take in answers, and send the request that is due."""
        member = worker.member
        while not self._replies.empty():
            self._take(self._replies.get(), member, now)
        if worker.stopped:
            self._end(worker, now)
        elif now >= self.due_at(member):
            self._send(worker, now)

    def _take(self, outcome: Outcome, member: Member, now: float) -> None:
        before = self.schedule
        if not isinstance(outcome, Exception):
            self.schedule = answered(before, outcome, now, self._random_share())
        log, who = MemberLogger(member), name_of(member)
        if self.schedule.subscription is not None and not self._is_announced:
            self._is_announced = True
            text = "%s: the brokers want metrics of this client every %g s (KIP-714); its client instance id is %s"
            log.info(text, who, self.schedule.interval_s, self.schedule.client_instance_id)
        if isinstance(outcome, Refused) and self.schedule.is_over and not before.is_over:
            text = "%s: no more metrics are pushed: the broker refused them with %s"
            log.warning(text, who, _code_name(outcome.code))

    def _send(self, worker: Worker, now: float) -> None:
        subscription = self.schedule.subscription
        if subscription is None:
            self._start(worker, GetTelemetrySubscriptions(client_instance_id=self.schedule.client_instance_id))
        elif (push := self._push(subscription, worker.member, now, terminating=False)) is not None:
            self._start(worker, push)
        else:
            self.schedule = too_large(self.schedule, now)

    def _end(self, worker: Worker, now: float) -> None:
        """Send the last push after the member has left. Nothing waits for its answer, so it does not prolong a close."""
        subscription, member = self.schedule.subscription, worker.member
        self.schedule = ended(self.schedule)
        if subscription is None or member.coordinator is None:
            return
        push = self._push(subscription, member, now, terminating=True)
        if push is not None:
            self._start(worker, push)

    def _start(self, worker: Worker, request: GetTelemetrySubscriptions | PushTelemetry) -> None:
        self.schedule = under_way(self.schedule)
        worker.start_request(CoordinatorRequest(lambda _: request, self._replies))

    def _push(
        self, subscription: TelemetrySubscription, member: Member, now: float, *, terminating: bool
    ) -> PushTelemetry | None:
        """The request with the metrics; None if they have more bytes than the broker accepts."""
        now_ns, delta = self._now_ns(), subscription.delta
        found = self._metrics.read(member, now, now_ns, delta=delta)
        metrics = [metric for metric in found if is_wanted(metric.name, subscription)]
        data = metrics_data(metrics, resource=self._resource(member), scope=names.SCOPE, now_ns=now_ns, delta=delta)
        compression = _GZIP if _GZIP in subscription.accepted_compressions else _NO_COMPRESSION
        octets = zlib.compress(data, wbits=_GZIP_WINDOW) if compression == _GZIP else data
        if len(octets) > subscription.most_bytes:
            return None
        return PushTelemetry(
            client_instance_id=subscription.client_instance_id,
            subscription_id=subscription.subscription_id,
            terminating=terminating,
            compression=compression,
            metrics=octets,
        )

    def _resource(self, member: Member) -> dict[str, str]:
        """Java's labels for a consumer. The broker knows the client id, the address and the software by itself."""
        identity = member.identity
        labels = {
            "client_rack": self._client_rack,
            "group_id": identity.group_id,
            "group_instance_id": identity.instance_id,
            "group_member_id": identity.member_id,
        }
        return {key: value for key, value in labels.items() if value is not None}


def _code_name(code: int) -> str:
    return PushCode(code).name if code in set(PushCode) else f"error code {code}"
