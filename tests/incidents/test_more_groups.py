"""Further incidents of whole groups on real brokers: what no list of incidents has, and what only a real broker does."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable
from functools import partial

import pytest
from confluent_kafka import Consumer as TheirConsumer
from confluent_kafka.admin import ResourceType

from membership_client import GroupMember
from membership_client.debugger.findings.finding import Kind
from membership_client.testing import KafkaCluster
from membership_client.types import MemberState
from tests.incidents.conftest import PATIENT, Pace, Stage
from tests.incidents.test_callbacks import peace, the, told
from tests.integration.members import eventually
from tests.integration.test_access import Rules

pytestmark = pytest.mark.kafka

MANY = 40


def is_stable(member: GroupMember) -> bool:
    return member.snapshot.state is MemberState.STABLE


def test_a_rolling_restart_of_forty_blames_nobody(kafka: KafkaCluster, new_stage: Callable[..., Stage]) -> None:
    """Most have no partition. Each leaves for a while and comes back: no storm, no death. All are in one process: eighty would take minutes."""
    stage = new_stage(kafka.bootstrap_servers, PATIENT)
    with contextlib.ExitStack() as members:

        def start(name: str, incarnation: str = "") -> GroupMember:
            config = {**stage.config_of(f"{name}{incarnation}"), "group.instance.id": name}
            member = members.enter_context(GroupMember(config))
            member.subscribe([stage.name])
            return member

        names = [f"pod-{number:02}" for number in range(MANY)]
        running = {name: start(name) for name in names}
        for name in names:
            eventually(partial(is_stable, running[name]), f"{name} is stable")
        for name in names:
            running[name].close(reason="rolling restart")
            running[name] = start(name, "-new")
            eventually(partial(is_stable, running[name]), f"{name} is back")
    peace(stage, [])


def test_an_acl_that_is_taken_away_from_running_members_is_told(
    guarded_kafka: KafkaCluster, new_stage: Callable[..., Stage]
) -> None:
    """Both were in the group and worked; the next heartbeat was denied."""
    stage = new_stage(guarded_kafka.bootstrap_servers, PATIENT)
    one, two = stage.enter("one"), stage.enter("two")
    one.wait_owner(2)
    two.wait_owner(2)
    Rules(guarded_kafka, ResourceType.GROUP, stage.name).deny()
    for actor in (one, two):
        actor.wait_for("state", state="FATAL")
    denied = [finding for finding in stage.faults() if finding.kind is Kind.ACCESS_DENIED]
    assert sorted(finding.members for finding in denied) == [("one",), ("two",)]
    assert all(stage.name in finding.sentence and "READ" in finding.advice for finding in denied)


# --- in nobody's list ------------------------------------------------------------------------------------------------


def test_a_broker_that_hangs_blames_the_broker_and_no_member(new_stage: Callable[..., Stage]) -> None:
    """It keeps its connections and answers nothing; all sessions survive, because it cannot end them either."""
    with KafkaCluster() as cluster:
        stage = new_stage(cluster.bootstrap_servers, PATIENT)
        config = {"request.timeout.ms": 3000}
        one, two = stage.enter("one", config=config), stage.enter("two", config=config)
        one.wait_owner(2)
        two.wait_owner(2)
        cluster.pause(1)
        threading.Event().wait(20.0)
        cluster.resume(1)
        threading.Event().wait(4.0)
        findings = stage.faults()
    assert {finding.kind for finding in findings} <= {Kind.BROKER_RESTARTED, Kind.NETWORK_LOST}
    assert {name for finding in findings for name in finding.members} == {"one", "two"}


def test_a_clock_that_is_set_back_blames_nobody(patient_stage: Stage) -> None:
    """An administrator's correction by a minute: nothing stood still, and no partition lost its owner."""
    one, two = patient_stage.enter("one"), patient_stage.enter("two")
    one.wait_owner(2)
    two.wait_owner(2)
    one.tell("clock -60")
    one.wait_for("clock")
    threading.Event().wait(4.0)
    peace(patient_stage, [one, two])


def test_a_clock_that_is_set_ahead_during_a_revoke_makes_no_second_owner(patient_stage: Stage) -> None:
    """The partitions go to a member on another machine, whose clock is left alone: its time of day seems earlier then."""
    slow = patient_stage.enter("slow", slow={"revoked": 8.0})
    slow.wait_owner(4)
    two = patient_stage.enter("two", static=False, host="elsewhere")
    slow.wait_for("revoked")
    slow.tell("clock 60")
    slow.wait_for("clock")
    two.wait_owner(2)
    slow.wait_owner(2)
    two.close("end of the play")
    slow.wait_owner(4)
    kinds = {finding.kind for finding in patient_stage.findings() if finding.kind.is_fault}
    assert kinds - {Kind.KILLED} == {Kind.WAITED_FOR_CALLBACK}


def test_a_close_that_outlasts_the_grace_period_ends_in_a_kill_that_is_named(
    kafka: KafkaCluster, new_stage: Callable[..., Stage]
) -> None:
    """As Kubernetes does it: close() waits for a callback, and SIGKILL comes before it returns."""
    stage = new_stage(kafka.bootstrap_servers, Pace(session_s=15.0))
    # The other one has all partitions first: the slow callback must not be that of a rebalance between the two.
    other = stage.enter("other")
    other.wait_owner(4)
    closing = stage.enter("closing", slow={"revoked": 60.0})
    closing.wait_owner(2)
    other.wait_owner(2)
    closing.tell("close pod deleted")
    closing.wait_for("revoked")
    threading.Event().wait(3.0)  # What it does is noted after a second.
    closing.signal(signal.SIGKILL)
    other.wait_owner(4)
    other.close("end of the play")
    findings = stage.findings()
    assert the(findings, Kind.KILLED).members == ("closing",)
    assert not [finding for finding in findings if finding.kind.is_fault and finding.members[0] != "closing"]


def test_a_librdkafka_member_that_shares_the_group_makes_no_finding(patient_stage: Stage) -> None:
    """Partitions go to it and come back; it has no trace. They were said to have had no owner, for an unknown reason."""
    one = patient_stage.enter("one", static=False)
    one.wait_owner(4)
    protocol = {key: value for key, value in patient_stage.protocol.items() if not key.endswith(".ms")}
    theirs = TheirConsumer(
        {"bootstrap.servers": patient_stage.bootstrap_servers, "group.id": patient_stage.name, **protocol}
    )
    theirs.subscribe([patient_stage.name])
    eventually(lambda: theirs.poll(0.2) or len(theirs.assignment()) == 2, "its partitions")
    for _ in range(75):  # Longer than what may be without an owner unnoticed.
        theirs.poll(0.2)
    theirs.close()
    one.wait_owner(4)
    peace(patient_stage, [one])


def test_a_topic_that_is_deleted_while_members_read_it_blames_no_member(patient_stage: Stage) -> None:
    """What is told is that it does not exist."""
    config = {"metadata.max.age.ms": 1000}
    one, two = patient_stage.enter("one", config=config), patient_stage.enter("two", config=config)
    one.wait_owner(2)
    two.wait_owner(2)
    patient_stage.admin.delete_topic(patient_stage.name)
    eventually(lambda: one.said[-1].get("owned") == [] and two.said[-1].get("owned") == [], "no partitions")
    threading.Event().wait(5.0)
    findings = patient_stage.faults()
    assert {finding.kind for finding in findings} <= {Kind.TOPIC_MISSING}
    assert all("does not exist" in told(finding) for finding in findings)
