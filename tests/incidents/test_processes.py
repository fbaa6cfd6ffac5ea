"""Incidents of processes, networks and brokers: told apart from the traces alone."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka.admin import ResourceType

from membership_client.debugger.finding import Kind
from membership_client.testing import KafkaCluster
from membership_client.testing.wire import parse_addresses
from tests.incidents.conftest import SESSION_S, Stage
from tests.incidents.test_callbacks import the, told
from tests.integration.members import eventually, remove_member
from tests.integration.proxy import Proxy
from tests.integration.test_access import AUTHORIZER, Rules

pytestmark = pytest.mark.kafka


def outlast_a_session() -> None:
    threading.Event().wait(SESSION_S + 2.0)


def test_a_stopped_process_is_told_from_everything_else(stage: Stage) -> None:
    """It used no processor while its session ended."""
    stopped, other = stage.enter("stopped"), stage.enter("other")
    stopped.wait_owner(2)
    other.wait_owner(2)
    stopped.signal(signal.SIGSTOP)
    other.wait_owner(4)
    stopped.signal(signal.SIGCONT)
    stopped.wait_back(2)
    finding = the(stage.faults(), Kind.PROCESS_STOPPED)
    assert finding.members == ("stopped",)


def test_a_blocked_interpreter_is_told_from_a_stopped_process(stage: Stage) -> None:
    """One thread worked hard and let no other run."""
    blocked, other = stage.enter("blocked"), stage.enter("other")
    blocked.wait_owner(2)
    other.wait_owner(2)
    blocked.tell(f"block {SESSION_S + 3.0}")
    other.wait_owner(4)
    blocked.wait_back(2)
    finding = the(stage.faults(), Kind.INTERPRETER_BLOCKED)
    assert finding.members == ("blocked",)


@pytest.fixture
def proxied_kafka() -> Iterator[tuple[KafkaCluster, Proxy]]:
    """A broker whose clients all come through a proxy."""
    with Proxy() as proxy, KafkaCluster(settings={"advertised.listeners": f"PLAINTEXT://{proxy.address}"}) as cluster:
        (proxy.target,) = parse_addresses(cluster.bootstrap_servers)
        yield cluster, proxy


def test_a_lost_network_is_told_from_a_lost_process(
    proxied_kafka: tuple[KafkaCluster, Proxy], new_stage: Callable[..., Stage]
) -> None:
    """The member worked all the time, and nobody answered it."""
    cluster, proxy = proxied_kafka
    stage = new_stage(cluster.bootstrap_servers)
    cut_off = stage.enter("cut-off", config={"bootstrap.servers": proxy.address, "request.timeout.ms": 1000})
    cut_off.wait_owner(4)
    proxy.cut()
    outlast_a_session()
    proxy.mend()
    cut_off.wait_back(4)
    assert the(stage.faults(), Kind.NETWORK_LOST).members == ("cut-off",)


def test_a_killed_process_is_known_by_a_trace_that_just_ends(stage: Stage) -> None:
    """The others went on; nobody else is to blame."""
    killed, other = stage.enter("killed"), stage.enter("other")
    killed.wait_owner(2)
    other.wait_owner(2)
    killed.signal(signal.SIGKILL)
    other.wait_owner(4)
    other.tell("close end of the test")
    other.wait_for("closed")
    findings = stage.findings()
    assert the(findings, Kind.KILLED).members == ("killed",)
    assert not [finding for finding in findings if "other" in finding.members and finding.kind is not Kind.REBALANCE]


def test_two_pods_with_one_instance_id_are_both_named(stage: Stage) -> None:
    """With the host and the process of each, so that somebody can find them."""
    first = stage.enter("till-1", incarnation="-a")
    first.wait_owner(4)
    second = stage.enter("till-1", incarnation="-b", config={"group.instance.id.conflict": "takeover"})
    second.wait_owner(4)
    first.wait_for("state", state="FATAL")
    finding = the(stage.faults(), Kind.DUPLICATE_INSTANCE_ID)
    assert finding.members == ("till-1",)
    text = told(finding)
    assert str(first.pid) in text
    assert str(second.pid) in text


@pytest.mark.parametrize("protocol", ["consumer"], indirect=True)
def test_a_second_holder_that_gives_way_is_told_too(stage: Stage) -> None:
    """It failed at once, and the first never noticed. In a classic group the newcomer always wins."""
    first = stage.enter("till-1", incarnation="-a")
    first.wait_owner(4)
    second = stage.enter("till-1", incarnation="-b", config={"group.instance.id.conflict": "fail"})
    second.wait_for("state", state="FATAL")
    finding = the(stage.faults(), Kind.DUPLICATE_INSTANCE_ID)
    assert str(second.pid) in told(finding)


def test_a_broker_that_restarts_is_blamed_and_no_member_is(
    new_stage: Callable[..., Stage], protocol: dict[str, Any]
) -> None:
    """All lost it at the same moment, and found it again. Members of a classic group must not have given up meanwhile."""
    patience = {"session.timeout.ms": 60_000} if "session.timeout.ms" in protocol else {}
    with KafkaCluster() as cluster:
        stage = new_stage(cluster.bootstrap_servers)
        actors = [stage.enter(name, config=patience) for name in ("one", "two")]
        for actor in actors:
            actor.wait_owner(2)
        cluster.kill(1)
        cluster.restart(1)
        threading.Event().wait(2.0)  # Several heartbeats, which the broker answers again.
        for actor in actors:
            actor.wait_owner(2)
        findings = stage.faults()
    assert {finding.kind for finding in findings} == {Kind.BROKER_RESTARTED}


def test_a_removal_from_outside_is_not_blamed_on_the_member(stage: Stage) -> None:
    """It was on time with everything; the reason is in the broker's log, and unknown to the trace."""
    victim, other = stage.enter("victim"), stage.enter("other")
    victim.wait_owner(2)
    other.wait_owner(2)
    remove_member(stage.bootstrap_servers, stage.name, victim.member_id, "victim")
    victim.wait_back(2)
    finding = the(stage.faults(), Kind.REMOVED_FROM_OUTSIDE)
    assert finding.members == ("victim",)
    assert "unknown" in told(finding)


@pytest.fixture
def small_kafka() -> Iterator[KafkaCluster]:
    with KafkaCluster(settings={"group.consumer.max.size": 1, "group.max.size": 1}) as cluster:
        yield cluster


def test_a_full_group_is_told_with_its_limit(small_kafka: KafkaCluster, new_stage: Callable[..., Stage]) -> None:
    """Who was not let in, and which setting says so."""
    stage = new_stage(small_kafka.bootstrap_servers)
    stage.enter("inside").wait_owner(4)
    stage.enter("outside").wait_for("state", state="FATAL")
    finding = the(stage.faults(), Kind.GROUP_FULL)
    assert finding.members == ("outside",)
    assert "group.consumer.max.size" in finding.advice


@pytest.fixture
def guarded_kafka() -> Iterator[KafkaCluster]:
    with KafkaCluster(settings=AUTHORIZER) as cluster:
        yield cluster


def test_a_denied_group_is_told_with_what_must_be_granted(
    guarded_kafka: KafkaCluster, new_stage: Callable[..., Stage]
) -> None:
    """The resource, and the operation."""
    stage = new_stage(guarded_kafka.bootstrap_servers)
    Rules(guarded_kafka, ResourceType.GROUP, stage.name).deny()
    denied = stage.enter("denied")
    eventually(lambda: denied.said and denied.said[-1].get("state") == "FATAL", "a fatal member")
    finding = the(stage.faults(), Kind.ACCESS_DENIED)
    assert finding.members == ("denied",)
    assert stage.name in finding.sentence
    assert "READ" in finding.advice
