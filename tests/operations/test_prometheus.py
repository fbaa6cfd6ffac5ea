"""The rules and the dashboard of docs/operations, in a real Prometheus with real members."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from prometheus_client import CollectorRegistry, start_http_server

from membership_client.telemetry import backend
from membership_client.testing import EmbeddedKafka
from tests.operations.incidents import INCIDENTS, SETTINGS, TOPIC
from tests.operations.server import RULES, Server, in_fast_motion, prometheus
from tests.telemetry.recorder import Recorder

pytestmark = pytest.mark.deep

DASHBOARD = json.loads((RULES.parent / "dashboard.json").read_text())


@pytest.fixture
def promtool() -> str:
    """The tool of Prometheus, which is installed before the first test that needs it."""
    return "promtool"


@pytest.fixture
def server(promtool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A Prometheus that scrapes all members that are made in the test."""
    registry = CollectorRegistry()
    recorder = Recorder(readers=(PrometheusMetricReader(registry=registry),))
    monkeypatch.setattr(backend, "of_process", lambda: recorder.backend)
    endpoint, thread = start_http_server(0, "127.0.0.1", registry)
    try:
        with prometheus(tmp_path, endpoint.server_port) as started:
            yield started
    finally:
        endpoint.shutdown()
        endpoint.server_close()
        thread.join()
        recorder.close()


def test_the_rules_are_valid(promtool: str) -> None:
    """The tool of Prometheus accepts them."""
    subprocess.run([promtool, "check", "rules", RULES], check=True, capture_output=True)


def test_every_alert_has_an_incident_and_says_what_to_do() -> None:
    """It has a summary, a sentence that says what to do, and a row in the page."""
    alerts = set(re.findall(r"- alert: (\w+)", RULES.read_text()))
    assert alerts == set(INCIDENTS.values()) - {None}
    assert RULES.read_text().count("summary:") == RULES.read_text().count("runbook:") == len(alerts)
    page = (RULES.parents[1] / "operations.md").read_text()
    assert [name for name in alerts if f"`{name}`" not in page] == []


@pytest.mark.timeout(400)
def test_each_alert_fires_in_its_incident_and_every_panel_has_data(server: Server) -> None:
    """All incidents run at the same time, each in its own group, in which no other alert fires; without an incident none fires."""
    fired: dict[str, set[str]] = defaultdict(set)
    expected = {incident.__name__: {alert} - {None} for incident, alert in INCIDENTS.items()}
    with EmbeddedKafka(topics={TOPIC: 6}, settings=SETTINGS) as kafka, ExitStack() as stack:
        for incident in INCIDENTS:
            stack.enter_context(incident(kafka, incident.__name__))
        empty = dict(expressions())
        until, give_up_at = time.monotonic() + 60, time.monotonic() + 180
        while time.monotonic() < until or (empty and time.monotonic() < give_up_at):
            for group, alert in server.firing():
                fired[group].add(alert)
            empty = {title: found for title, found in empty.items() if not server.query(found)}
            time.sleep(0.5)
    assert {group: fired[group] for group in expected} == expected
    assert empty == {}


def expressions() -> Iterator[tuple[str, str]]:
    """The expressions of every panel, as Grafana would send them for all groups."""
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", ()):
            asked = target["expr"].replace("$group", ".*").replace("$__rate_interval", "10m")
            yield f"{panel['title']}: {target['refId']}", in_fast_motion(asked)


def test_the_dashboard_can_be_imported() -> None:
    """Ids are unique, panels do not overlap, and each panel has a unit, a description and the chosen data source."""
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [
        (x, y)
        for panel in panels
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24
    for panel in panels:
        assert panel["description"].endswith(".")
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        assert panel["type"] == "alertlist" or panel["fieldConfig"]["defaults"]["unit"]
    assert [variable["name"] for variable in DASHBOARD["templating"]["list"]] == ["datasource", "group"]
