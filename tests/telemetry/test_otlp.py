"""The bytes of OpenTelemetry's MetricsData."""

from __future__ import annotations

from membership_client.telemetry.otlp import Metric, metrics_data
from tests.telemetry.otlp_text import read_metrics

NOW_NS = 1_800_000_000_000_000_001


def test_a_gauge_byte_by_byte() -> None:
    """The field numbers are those of metrics.proto, common.proto and resource.proto."""
    data = metrics_data([Metric(name="a", value=1.5)], resource={"k": "v"}, scope="s", now_ns=2, delta=True)
    point = bytes.fromhex("19 0200000000000000 21 000000000000f83f")
    gauge = b"\x0a\x12" + point
    metric = b"\x0a\x01a" + b"\x2a\x14" + gauge
    scope_metrics = b"\x0a\x03\x0a\x01s" + b"\x12\x19" + metric
    resource = b"\x0a\x08" + b"\x0a\x01k" + b"\x12\x03\x0a\x01v"
    assert data == b"\x0a\x2e" + b"\x0a\x0a" + resource + b"\x12\x20" + scope_metrics


def test_sums_say_since_when_and_whether_they_are_deltas() -> None:
    """A monotonic sum is stored as a counter."""
    metrics = [Metric(name="total", value=3.0, sum_since_ns=NOW_NS - 5), Metric(name="now", value=-0.25)]
    for delta, temporality in ((True, 1), (False, 2)):
        told = read_metrics(metrics_data(metrics, resource={}, scope="s", now_ns=NOW_NS, delta=delta))
        assert (told.sums, told.gauges) == ({"total": 3.0}, {"now": -0.25})
        assert told.temporality == {temporality}
        assert told.times == {(NOW_NS - 5, NOW_NS)}


def test_long_texts_and_many_metrics_are_read_back() -> None:
    """Lengths of more than seven bits take several bytes; a lone surrogate cannot be written in UTF-8."""
    metrics = [Metric(name=f"{number:0>300}", value=float(number)) for number in range(500)]
    data = metrics_data(metrics, resource={"group_id": "ü" * 200 + "\ud800"}, scope="s", now_ns=1, delta=True)
    told = read_metrics(data)
    assert told.resource == {"group_id": "ü" * 200 + "?"}
    assert told.gauges == {metric.name: metric.value for metric in metrics}


def test_nothing_is_a_message_without_metrics() -> None:
    """None of the names begins with a prefix that the brokers want: the push is still owed."""
    assert read_metrics(metrics_data([], resource={"a": "b"}, scope="s", now_ns=1, delta=True)).names == set()
