"""When a member asks which metrics the brokers want, and when it pushes them (KIP-714). Pure: values in, values out."""

from __future__ import annotations

import enum
import math
from typing import TYPE_CHECKING

from membership_client.core.events import Failed, FailureKind, Refused
from membership_client.net.telemetry_requests import TelemetrySubscription, TelemetryTaken
from membership_client.values import dataclass, replace

if TYPE_CHECKING:
    from uuid import UUID

    from membership_client.core.events import Response

ASK_AGAIN_S = 300.0
"""The interval until a broker gives one: Kafka's default."""
_LEAST_INTERVAL_S = 0.1
"""Kafka's shortest interval. librdkafka's mock broker answers with 0."""


PREFIX = "org.apache.kafka.consumer.coordinator."
"""All names of a member's metrics begin with it."""
_ALL = "*"
"""Stands for all metrics: Kafka's brokers answer with `*`, and the protocol's definition has an empty prefix."""


class PushCode(enum.IntEnum):
    """Error codes that the schedule treats in their own way. After any other the request is repeated an interval later."""

    UNSUPPORTED_VERSION = 35
    INVALID_REQUEST = 42
    UNSUPPORTED_COMPRESSION_TYPE = 76
    INVALID_RECORD = 87
    THROTTLING_QUOTA_EXCEEDED = 89
    UNKNOWN_SUBSCRIPTION_ID = 117
    TELEMETRY_TOO_LARGE = 118


_FINAL = {PushCode.UNSUPPORTED_VERSION, PushCode.INVALID_REQUEST, PushCode.INVALID_RECORD}
"""The same request would be refused again."""
_OUTDATED = {PushCode.UNSUPPORTED_COMPRESSION_TYPE, PushCode.TELEMETRY_TOO_LARGE}
"""What the broker accepts may have changed: the subscription is asked for again before the next push."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PushSchedule:
    """Which metrics the brokers want of one member, and when the next request is due."""

    due_at: float = -math.inf
    """When the next request is sent; infinity while a request is under way, and after the last one."""
    client_instance_id: UUID | None = None
    """The id that a broker gave to this client. It stays the same until the member ends."""
    subscription: TelemetrySubscription | None = None
    """The subscription for which the next request pushes metrics. If None, the next request asks for the subscription."""
    interval_s: float = ASK_AGAIN_S
    is_over: bool = False
    """Whether no request will follow, because the member closes, or a broker refused a request for good."""


def is_wanted(name: str, subscription: TelemetrySubscription) -> bool:
    """Whether the broker has asked for the metric of that name."""
    return _ALL in subscription.prefixes or name.startswith(subscription.prefixes)


def under_way(schedule: PushSchedule) -> PushSchedule:
    """The schedule after the due request was sent."""
    return replace(schedule, due_at=math.inf)


def ended(schedule: PushSchedule) -> PushSchedule:
    """The schedule of a member that sends no further request, whatever the answer to the one under way is."""
    return replace(schedule, due_at=math.inf, subscription=None, is_over=True)


def too_large(schedule: PushSchedule, now: float) -> PushSchedule:
    """The schedule after metrics were not sent, because the broker would refuse their size."""
    return _refused(schedule, PushCode.TELEMETRY_TOO_LARGE, now)


def answered(schedule: PushSchedule, outcome: Response | Failed, now: float, spread: float) -> PushSchedule:
    """The schedule after a request's outcome. `spread`, from 0 to 1, is random, so that clients do not push all at once."""
    if schedule.is_over:
        return schedule
    match outcome:
        case TelemetrySubscription():
            return _subscribed(schedule, outcome, now, spread)
        case TelemetryTaken():
            return replace(schedule, due_at=now + schedule.interval_s)
        case Refused(code=code):
            return _refused(schedule, code, now)
        case Failed(kind=FailureKind.UNSUPPORTED):
            # This broker has no receiver of metrics. Later it may have one, or another broker may be the coordinator.
            return replace(schedule, subscription=None, due_at=now + ASK_AGAIN_S)
        case _:
            return replace(schedule, due_at=now + schedule.interval_s)


def _subscribed(schedule: PushSchedule, told: TelemetrySubscription, now: float, spread: float) -> PushSchedule:
    interval_s = max(told.interval_s, _LEAST_INTERVAL_S) if told.interval_s > 0 else ASK_AGAIN_S
    # librdkafka pushes the other metrics of a Consumer. Without our metrics nothing is pushed.
    wanted = is_wanted(PREFIX, told) or any(prefix.startswith(PREFIX) for prefix in told.prefixes)
    return replace(
        schedule,
        client_instance_id=told.client_instance_id,
        subscription=told if wanted else None,
        interval_s=interval_s,
        due_at=now + (interval_s * (0.5 + spread) if wanted else interval_s),
    )


def _refused(schedule: PushSchedule, code: int, now: float) -> PushSchedule:
    if code in _FINAL:
        return ended(schedule)
    if code == PushCode.UNKNOWN_SUBSCRIPTION_ID and schedule.subscription is not None:
        # The subscription was changed. The push under the new one comes at least half an interval later.
        return replace(schedule, subscription=None, due_at=now)
    subscription = None if code in _OUTDATED else schedule.subscription
    return replace(schedule, subscription=subscription, due_at=now + schedule.interval_s)
