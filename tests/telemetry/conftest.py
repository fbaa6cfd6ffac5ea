"""Telemetry of real members, recorded in memory and served to Prometheus."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from prometheus_client import CollectorRegistry

from membership_client.telemetry import backend
from membership_client.testing import KafkaCluster
from tests.integration.members import QUICK, Group
from tests.telemetry.recorder import Recorder
from tests.telemetry.scrape import Prometheus


@pytest.fixture
def prometheus() -> Iterator[Prometheus]:
    """An endpoint of the test's own, as an application would have one."""
    with Prometheus(CollectorRegistry()) as served:
        yield served


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch, prometheus: Prometheus) -> Iterator[Recorder]:
    """Records the telemetry of all members that are made in the test. The providers of the process can be set only once, so they are not used."""
    recorder = Recorder(readers=(PrometheusMetricReader(registry=prometheus.registry),))
    monkeypatch.setattr(backend, "of_process", lambda: recorder.backend)
    yield recorder
    recorder.close()


@pytest.fixture
def group(kafka: KafkaCluster, recorder: Recorder, request: pytest.FixtureRequest) -> Iterator[Group]:
    """Six partitions on the shared broker. Members that the test left open are closed before the recorder."""
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name.removeprefix("test_"))[:60].strip("-")
    group = Group(kafka.bootstrap_servers, name)
    group.admin.set_group_config(group.id, **QUICK)
    group.create_topic(group.topic, 6)
    yield group
    group.close()
