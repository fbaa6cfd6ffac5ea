"""The two requests by which clients push metrics to brokers (KIP-714), and the answers, as frozen values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from membership_client.core.events import OutsideRequest, OutsideResponse

if TYPE_CHECKING:
    from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class GetTelemetrySubscriptions(OutsideRequest):
    """Which metrics do the brokers want? They give a client its instance id with the first answer."""

    client_instance_id: UUID | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PushTelemetry(OutsideRequest):
    client_instance_id: UUID
    subscription_id: int
    terminating: bool
    """True for the last push of this client, which brokers accept before the interval has passed."""
    compression: int
    metrics: bytes
    """OpenTelemetry's MetricsData, compressed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TelemetrySubscription(OutsideResponse):
    client_instance_id: UUID
    subscription_id: int
    accepted_compressions: tuple[int, ...]
    interval_s: float
    most_bytes: int
    delta: bool
    """True if sums since the last push are wanted, False if those since the start."""
    prefixes: tuple[str, ...]
    """Metrics whose names begin with one of these are wanted; if there are none, no metrics are."""


@dataclass(frozen=True, slots=True)
class TelemetryTaken(OutsideResponse):
    """The broker accepted the metrics."""
