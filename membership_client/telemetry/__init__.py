"""OpenTelemetry: a member's rebalances as spans, its numbers as metrics. Through the API only: nothing happens without an SDK."""

from membership_client.telemetry.telemetry import Telemetry

__all__ = ["Telemetry"]
