"""OpenTelemetry: a member's rebalances as spans, its numbers as metrics. Without an SDK nothing is recorded."""

from membership_client.telemetry.telemetry import Telemetry

__all__ = ["Telemetry"]
