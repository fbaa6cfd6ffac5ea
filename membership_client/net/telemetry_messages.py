"""The two requests of KIP-714 as kio's messages, and the meaning of their answers."""

from __future__ import annotations

from typing import Any

from membership_client.core.events import Response
from membership_client.net.messages import incomplete, refused
from membership_client.net.telemetry_requests import (
    GetTelemetrySubscriptions,
    PushTelemetry,
    TelemetrySubscription,
    TelemetryTaken,
)


def get_subscriptions(request: GetTelemetrySubscriptions, wire: Any) -> Any:
    return wire.GetTelemetrySubscriptionsRequest(client_instance_id=request.client_instance_id)


def subscription_told(request: GetTelemetrySubscriptions, answer: Any) -> Response:
    if answer.error_code:
        return refused(answer)
    client_instance_id = request.client_instance_id or answer.client_instance_id
    if client_instance_id is None:
        return incomplete("the answer has no client instance id")
    return TelemetrySubscription(
        client_instance_id=client_instance_id,
        subscription_id=answer.subscription_id,
        accepted_compressions=answer.accepted_compression_types,
        interval_s=answer.push_interval.total_seconds(),
        most_bytes=answer.telemetry_max_bytes,
        delta=bool(answer.delta_temporality),
        prefixes=answer.requested_metrics,
    )


def push_telemetry(request: PushTelemetry, wire: Any) -> Any:
    return wire.PushTelemetryRequest(
        client_instance_id=request.client_instance_id,
        subscription_id=request.subscription_id,
        terminating=request.terminating,
        compression_type=request.compression,
        metrics=request.metrics,
    )


def telemetry_taken(_request: PushTelemetry, answer: Any) -> Response:
    return refused(answer) if answer.error_code else TelemetryTaken()
