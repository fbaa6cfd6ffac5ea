"""Incidents of processes, networks and brokers: told apart from the traces alone."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import ResourceType

from membership_client.debugger.findings.finding import Kind
from membership_client.testing import ClusterAdmin, KafkaCluster, Listener
from membership_client.testing.wire import parse_addresses
from membership_client.types import TopicPartition
from tests.incidents.conftest import SESSION_S, Pace, Stage
from tests.incidents.test_callbacks import the, told
from tests.integration.members import eventually
from tests.integration.proxy import Proxy
from tests.integration.test_access import Rules

pytestmark = pytest.mark.kafka


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
    """One thread worked hard and let no other run. On a machine that gives it no processor, that is told instead."""
    blocked, other = stage.enter("blocked"), stage.enter("other")
    blocked.wait_owner(2)
    other.wait_owner(2)
    blocked.tell(f"block {SESSION_S + 3.0}")
    blocked.wait_back(2)
    starved = blocked.wait_for("blocked")["cpu_share"] < 0.25
    (finding,) = stage.faults()
    assert finding.members == ("blocked",)
    got_no_processor = finding.kind is Kind.PROCESS_STOPPED and "got no processor" in finding.sentence
    assert finding.kind is Kind.INTERPRETER_BLOCKED or (starved and got_no_processor)


@pytest.fixture
def proxied_kafka() -> Iterator[tuple[KafkaCluster, Proxy]]:
    """A broker some of whose clients come through a proxy."""
    with Proxy() as proxy:
        far = Listener("PLAINTEXT", advertised=proxy.address)
        with KafkaCluster(listeners={"FAR": far}) as cluster:
            (proxy.target,) = parse_addresses(cluster.address_of("FAR"))
            yield cluster, proxy


def test_a_lost_network_is_told_from_a_lost_process(
    proxied_kafka: tuple[KafkaCluster, Proxy], new_stage: Callable[..., Stage]
) -> None:
    """The member worked all the time, and nobody answered it; another one, whose way was not cut, is not blamed."""
    cluster, proxy = proxied_kafka
    stage = new_stage(cluster.bootstrap_servers, Pace(session_s=8.0))
    cut_off = stage.enter("cut-off", config={"bootstrap.servers": proxy.address, "request.timeout.ms": 1000})
    other = stage.enter("other")
    cut_off.wait_owner(2)
    other.wait_owner(2)
    proxy.cut()
    other.wait_owner(4)
    proxy.mend()
    cut_off.wait_back(2)
    findings = stage.faults()
    assert the(findings, Kind.NETWORK_LOST).members == ("cut-off",)
    assert not [finding for finding in findings if "other" in finding.members]


def test_a_killed_process_is_known_by_a_trace_that_just_ends(
    kafka: KafkaCluster, new_stage: Callable[..., Stage]
) -> None:
    """The others went on; nobody else is to blame. What it owned had no owner for a session, and both is told."""
    stage = new_stage(kafka.bootstrap_servers, Pace(session_s=15.0))
    killed, other = stage.enter("killed"), stage.enter("other", static=False)
    had = {TopicPartition(*partition) for partition in killed.wait_owner(2)}
    other.wait_owner(2)
    killed.signal(signal.SIGKILL)
    other.wait_owner(4)
    name = other.called
    other.close("end of the test")
    findings = stage.findings()
    assert the(findings, Kind.KILLED).members == ("killed",)
    unowned = the(findings, Kind.UNOWNED_PARTITION)
    assert (unowned.members, set(unowned.partitions)) == (("killed",), had)
    assert unowned.lasted_s > 12.0
    assert not [finding for finding in findings if name in finding.members and finding.kind is not Kind.REBALANCE]


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
    assert "no trace" not in text  # A classic coordinator's id of one of them passed for a third process.


@pytest.mark.parametrize("protocol", ["consumer"], indirect=True)
def test_a_second_holder_that_gives_way_is_told_too(stage: Stage) -> None:
    """It failed at once, and the first never noticed. In a classic group the newcomer always wins."""
    first = stage.enter("till-1", incarnation="-a")
    first.wait_owner(4)
    second = stage.enter("till-1", incarnation="-b", config={"group.instance.id.conflict": "fail"})
    second.wait_for("state", state="FATAL")
    finding = the(stage.faults(), Kind.DUPLICATE_INSTANCE_ID)
    assert str(second.pid) in told(finding)


def test_a_broker_that_restarts_is_blamed_and_no_member_is(new_stage: Callable[..., Stage]) -> None:
    """All lost it at the same moment, and found it again before the group had given them up."""
    with KafkaCluster() as cluster:
        stage = new_stage(cluster.bootstrap_servers, Pace(session_s=60.0))
        actors = [stage.enter(name) for name in ("one", "two")]
        for actor in actors:
            actor.wait_owner(2)
        cluster.kill(1)
        cluster.restart(1)
        threading.Event().wait(2.0)  # Several heartbeats, which the broker answers again.
        for actor in actors:
            actor.wait_owner(2)
        findings = stage.faults()
    assert {finding.kind for finding in findings} == {Kind.BROKER_RESTARTED}


def test_a_removal_from_outside_is_told_with_the_reason_that_the_administrator_gave(
    kafka: KafkaCluster, patient_stage: Stage, tmp_path: Path
) -> None:
    """It is in the broker's log. Without it the member is known to have been thrown out, and where to look."""
    stage = patient_stage
    victim, other = stage.enter("victim"), stage.enter("other")
    victim.wait_owner(2)
    other.wait_owner(2)
    ClusterAdmin(stage.bootstrap_servers).remove_member(stage.name, victim.member_id, "victim")
    victim.wait_back(2)
    log = tmp_path / "server.log"
    log.write_text(kafka.log(1))
    finding = the(stage.faults([log]), Kind.REMOVED_FROM_OUTSIDE)
    assert (finding.members, finding.certainty) == (("victim",), "certain")
    assert "removed by the test" in finding.sentence
    assert ("victim",) in [finding.members for finding in stage.faults()]


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
