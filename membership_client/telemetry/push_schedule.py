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
"""As long as no broker has said an interval; it is Kafka's default for one."""
_LEAST_INTERVAL_S = 0.1
"""Kafka allows no shorter one. librdkafka's mock broker answers with 0."""


PREFIX = "org.apache.kafka.consumer.coordinator."
"""All names of a member's metrics begin with it."""
_ALL = "*"
"""Kafka's own brokers answer with it, and the protocol has an empty prefix: both stand for all metrics."""


class PushCode(enum.IntEnum):
    """Error codes that have a meaning of their own here. All others are tried again after an interval."""

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
"""What the broker accepts may have changed: ask before the next push."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PushSchedule:
    """What one member knows of the brokers' wishes."""

    due_at: float = -math.inf
    """When the next request is sent; infinity while one is under way, and once there will be none any more."""
    client_instance_id: UUID | None = None
    """Given by a broker, and kept as long as the member lives."""
    subscription: TelemetrySubscription | None = None
    """The next request is a push for it. None: it asks for the subscription."""
    interval_s: float = ASK_AGAIN_S
    is_over: bool = False
    """No request will follow: the member closes, or a broker refused what would be the same next time."""


def is_wanted(name: str, subscription: TelemetrySubscription) -> bool:
    """Has the broker asked for the metric of that name?"""
    return _ALL in subscription.prefixes or name.startswith(subscription.prefixes)


def under_way(schedule: PushSchedule) -> PushSchedule:
    """The request that was due has been sent."""
    return replace(schedule, due_at=math.inf)


def ended(schedule: PushSchedule) -> PushSchedule:
    """No request will follow, whatever is answered to one that is under way."""
    return replace(schedule, due_at=math.inf, subscription=None, is_over=True)


def too_large(schedule: PushSchedule, now: float) -> PushSchedule:
    """The metrics were not sent, because the broker would refuse that size."""
    return _refused(schedule, PushCode.TELEMETRY_TOO_LARGE, now)


def answered(schedule: PushSchedule, outcome: Response | Failed, now: float, spread: float) -> PushSchedule:
    """After the outcome of the request under way. `spread`, from 0 to 1, is random: clients must not push all at once."""
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
            # It has no receiver of metrics. Another one may be the coordinator by then, or this one get a receiver.
            return replace(schedule, subscription=None, due_at=now + ASK_AGAIN_S)
        case _:
            return replace(schedule, due_at=now + schedule.interval_s)


def _subscribed(schedule: PushSchedule, told: TelemetrySubscription, now: float, spread: float) -> PushSchedule:
    interval_s = max(told.interval_s, _LEAST_INTERVAL_S) if told.interval_s > 0 else ASK_AGAIN_S
    # Of a Consumer librdkafka has the other metrics. Empty pushes would only be one more client in a console.
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
        # The subscription was changed. The push after the new one comes half an interval later at least.
        return replace(schedule, subscription=None, due_at=now)
    subscription = None if code in _OUTDATED else schedule.subscription
    return replace(schedule, subscription=subscription, due_at=now + schedule.interval_s)
