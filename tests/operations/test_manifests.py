"""The manifests of docs/operations/kubernetes fit each other, the program of docs/kubernetes.md, and the ports of members."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from membership_client.health.answers import answer_to
from membership_client.health.report import Report
from membership_client.telemetry import names
from tests.operations.pods import program
from tests.peers.jvm import PeerJvm

pytestmark = [pytest.mark.deep, pytest.mark.kafka]

DOCS = Path(__file__).parents[2] / "docs"
SESSION_S = 45
"""Kafka's default."""
CLOSE_S = 10
"""How long a close waits for a coordinator that does not answer."""


@pytest.fixture(scope="module")
def documents() -> dict[str, list[dict[str, Any]]]:
    """The documents by file name, read by the YAML parser in Kafka's tools."""
    with PeerJvm() as jvm:
        mapper, yaml = jvm.java.com.fasterxml.jackson.databind.ObjectMapper(), jvm.java.org.yaml.snakeyaml.Yaml()
        return {
            path.stem: [
                json.loads(mapper.writeValueAsString(yaml.load(text))) for text in path.read_text().split("\n---\n")
            ]
            for path in sorted((DOCS / "operations" / "kubernetes").glob("*.yaml"))
        }


@pytest.fixture(params=["statefulset", "deployment"])
def workload(request: pytest.FixtureRequest, documents: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    (found,) = [one for one in documents[request.param] if one["kind"].lower() == request.param]
    return found


def pod_of(workload: dict[str, Any]) -> dict[str, Any]:
    pod: dict[str, Any] = workload["spec"]["template"]["spec"]
    return pod


def test_the_probes_ask_for_what_is_served(workload: dict[str, Any]) -> None:
    """Each probe has its own path, on the port of the page's program."""
    (container,) = pod_of(workload)["containers"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert f"port={ports['probes']}" in program()
    asked = {kind: container[f"{kind}Probe"]["httpGet"] for kind in ("startup", "liveness", "readiness")}
    assert {kind: get["path"] for kind, get in asked.items()} == {
        "startup": "/startupz",
        "liveness": "/livez",
        "readiness": "/readyz",
    }
    for get in asked.values():
        assert get["port"] == "probes"
        answer = answer_to(f"GET {get['path']} HTTP/1.1\r\n\r\n".encode(), lambda: Report(()))
        assert answer is not None
        assert b" 404 " not in answer


def test_metrics_are_scraped_where_the_page_serves_them(workload: dict[str, Any]) -> None:
    """The port is that of docs/operations.md."""
    (container,) = pod_of(workload)["containers"]
    (port,) = [port["containerPort"] for port in container["ports"] if port["name"] == "metrics"]
    assert workload["spec"]["template"]["metadata"]["annotations"]["prometheus.io/port"] == str(port)
    assert f"start_http_server({port})" in (DOCS / "operations.md").read_text()


def test_a_process_that_stands_still_ends_before_its_session_does(workload: dict[str, Any]) -> None:
    """A process that gets SIGTERM has enough time to end."""
    (container,) = pod_of(workload)["containers"]
    probe = container["livenessProbe"]
    assert probe["periodSeconds"] * probe["failureThreshold"] < SESSION_S
    assert pod_of(workload)["terminationGracePeriodSeconds"] > CLOSE_S


def test_selectors_are_those_of_the_pods(documents: dict[str, list[dict[str, Any]]], workload: dict[str, Any]) -> None:
    """This holds for the workload, its disruption budget and its service."""
    labels = workload["spec"]["template"]["metadata"]["labels"]
    for one in documents[workload["kind"].lower()]:
        selector = one["spec"]["selector"]
        assert selector.get("matchLabels", selector) == labels


def test_the_identity_of_a_pod_is_its_name(documents: dict[str, list[dict[str, Any]]]) -> None:
    """`stateful_set_id` makes the instance id from POD_NAME; a Deployment has no instance id."""
    (stateful,) = [one for one in documents["statefulset"] if one["kind"] == "StatefulSet"]
    (container,) = pod_of(stateful)["containers"]
    (name,) = [entry for entry in container["env"] if entry["name"] == "POD_NAME"]
    assert name["valueFrom"] == {"fieldRef": {"fieldPath": "metadata.name"}}
    assert "POD_NAME" not in json.dumps(documents["deployment"])


def test_the_scaler_asks_for_a_metric_that_members_have(documents: dict[str, list[dict[str, Any]]]) -> None:
    """The metric is of the page's group, for the StatefulSet."""
    (scaler,) = documents["keda"]
    (stateful,) = [one for one in documents["statefulset"] if one["kind"] == "StatefulSet"]
    target = scaler["spec"]["scaleTargetRef"]
    assert (target["kind"], target["name"]) == (stateful["kind"], stateful["metadata"]["name"])
    (trigger,) = scaler["spec"]["triggers"]
    found = re.fullmatch(r'sum\((\w+)\{(\w+)="(\w+)"\}\)', trigger["metadata"]["query"])
    assert found is not None
    assert found[1] == names.PARTITION_LAG.replace(".", "_")
    assert found[2] == names.GROUP.replace(".", "_")
    assert f'"group.id": "{found[3]}"' in program()
