"""Incidents of whole groups: subscriptions, settings, topics, restarts, clocks, a record that moves from member to member.

The brokers are embedded: what members do and what their traces hold is the same, and a test takes seconds.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Consumer as TheirConsumer
from confluent_kafka import Producer
from confluent_kafka import TopicPartition as Place

from membership_client.admin import GroupAdmin
from membership_client.debugger.findings.finding import Finding, Kind
from membership_client.testing import EmbeddedKafka
from tests.incidents.conftest import PATIENT, Actor, Pace, Stage
from tests.incidents.test_callbacks import peace, the, told
from tests.integration.members import eventually


@pytest.fixture
def embedded() -> Iterator[EmbeddedKafka]:
    with EmbeddedKafka() as cluster:
        yield cluster


@pytest.fixture
def near(embedded: EmbeddedKafka, new_stage: Callable[..., Stage]) -> Stage:
    """A group on embedded brokers, with short sessions."""
    return new_stage(embedded.bootstrap_servers)


@pytest.fixture
def calm(embedded: EmbeddedKafka, new_stage: Callable[..., Stage]) -> Stage:
    """A group on embedded brokers that loses no member because the machine is busy."""
    return new_stage(embedded.bootstrap_servers, PATIENT)


def pair(stage: Stage) -> tuple[Actor, Actor]:
    """Two members with two partitions each."""
    one, two = stage.enter("one"), stage.enter("two")
    one.wait_owner(2)
    two.wait_owner(2)
    return one, two


def kinds(findings: list[Finding]) -> set[Kind]:
    return {finding.kind for finding in findings}


def pause(seconds: float) -> None:
    """What is awaited shows nowhere but in the traces."""
    threading.Event().wait(seconds)


@pytest.mark.parametrize("protocol", ["consumer", "classic"], indirect=True)
def test_two_members_whose_subscriptions_flap_are_both_named(calm: Stage) -> None:
    """They stay in the group all the time; the third one only suffers."""
    steady, one, two = calm.enter("steady"), calm.enter("one"), calm.enter("two")
    for actor in (steady, one, two):
        actor.wait_for("state", state="STABLE")
    calm.admin.create_topic(f"{calm.name}-more", 2)
    for topics in [f"{calm.name} {calm.name}-more", calm.name] * 2:
        for actor in (one, two):
            actor.tell(f"subscribe {topics}")
            pause(1.5)
    storm = the(calm.faults(), Kind.REBALANCE_STORM)
    assert set(storm.members) == {"one", "two"}


def test_a_heartbeat_interval_that_is_changed_while_members_run_blames_nobody(calm: Stage) -> None:
    """The answers bring the new interval, and a member that follows it is not late."""
    actors = pair(calm)
    for interval_ms in (2500, 500):
        calm.admin.set_group_config(calm.name, consumer_heartbeat_interval_ms=interval_ms)
        pause(4.0)
    peace(calm, actors)


def test_partitions_that_are_added_and_cannot_be_assigned_blame_the_callback(
    embedded: EmbeddedKafka, near: Stage
) -> None:
    """The member keeps its old ones, and the other one gets its part of the new ones."""
    config = {"metadata.max.age.ms": 1000}
    one = near.enter("one", config=config)
    two = near.enter("two", fails=["assigned"], fails_from=4, config=config)
    one.wait_owner(2)
    two.wait_owner(2)
    embedded.add_partitions(near.name, 8)
    one.wait_owner(4)
    eventually(
        lambda: any(p[1] >= 4 for line in two.said for p in line.get("partitions", ())), "a callback for new ones"
    )
    failed = the(near.faults(), Kind.CALLBACK_FAILED)
    assert failed.members == ("two",)
    assert {number >= 4 for _, number in failed.partitions} == {True}


def test_an_extension_that_holds_the_interpreter_without_work_is_told_from_a_stopped_process(near: Stage) -> None:
    """Neither uses the processor: a member whose thread waits for the interpreter wakes, and a stopped one does not."""
    one, _ = pair(near)
    one.tell("block-in-c 8")
    one.wait_back(2)
    blocked = the(near.faults(), Kind.INTERPRETER_BLOCKED)
    assert (blocked.members, blocked.certainty) == (("one",), "certain")


def test_clocks_an_hour_apart_blame_nobody(calm: Stage) -> None:
    """Rebalances are ordered by the coordinator's epochs, which need no clock."""
    fast, two = calm.enter("fast", clock_s=3600.0), calm.enter("two", static=False)
    fast.wait_owner(2)
    two.wait_owner(2)
    two.close("scaled down")
    fast.wait_owner(4)
    peace(calm, [fast])


def test_a_coordinator_that_loads_is_blamed_and_no_member_is(embedded: EmbeddedKafka, calm: Stage) -> None:
    """It answered, and refused all members until it had loaded the group."""
    pair(calm)
    embedded.move_coordinator(loading_s=4.0)
    pause(7.0)
    findings = calm.faults()
    assert kinds(findings) == {Kind.BROKER_RESTARTED}
    assert "COORDINATOR" in told(findings[0])


def test_an_open_transaction_is_what_a_consumer_waits_for(calm: Stage) -> None:
    """Its partitions have an owner, and no record of them is read."""
    where = {"bootstrap.servers": calm.bootstrap_servers}
    reader = TheirConsumer({**where, "group.id": calm.name, "group.protocol": "classic"})
    producer = Producer({**where, "transactional.id": calm.name})
    producer.init_transactions()
    producer.begin_transaction()
    producer.send_offsets_to_transaction([Place(calm.name, 1, 0)], reader.consumer_group_metadata(), 10)
    one = calm.enter("one", consumes=True)
    one.wait_for("state", state="RECONCILING")
    eventually(lambda: "CallbackDelayed" in calm.trace_of("one"), "a delay in the trace")
    producer.commit_transaction()
    one.wait_owner(4)
    reader.close()
    waited = the(calm.faults(), Kind.WAITED_FOR_OFFSETS)
    assert waited.members == ("one",)
    assert "UNSTABLE_OFFSET_COMMIT" in waited.sentence


def test_a_topic_that_does_not_exist_is_named(calm: Stage) -> None:
    """Nothing else is wrong: the member is in the group, and waits for ever."""
    one = calm.enter("one")
    one.wait_owner(4)
    one.tell(f"subscribe {calm.name} ordesr")
    pause(6.0)
    missing = the(calm.faults(), Kind.TOPIC_MISSING)
    assert missing.members == ("one",)
    assert "subscribes to topic ordesr, which does not exist" in missing.sentence


def test_a_rolling_restart_blames_nobody(calm: Stage) -> None:
    """Static members close and come back; no finding may tell of it as of a storm."""
    names = [f"pod-{number}" for number in range(4)]
    actors = {name: calm.enter(name) for name in names}
    for name in names:
        actors[name].wait_owner(1)
    for name in names:
        actors[name].close("rolling restart")
        actors[name] = calm.enter(name, incarnation="-new")
        actors[name].wait_owner(1)
    peace(calm, actors.values())


def test_a_pod_that_is_replaced_on_another_host_is_no_duplicate(near: Stage) -> None:
    """The old one was killed: that is told, with its host; the new one took over, and nobody shares an instance id."""
    one, two = near.enter("one", host="node-1"), near.enter("two", host="node-2")
    one.wait_owner(2)
    two.wait_owner(2)
    one.signal(signal.SIGKILL)
    one.wait_ended()
    takeover = {"group.instance.id.conflict": "takeover"}
    new = near.enter("one", incarnation="-new", host="node-3", config=takeover)
    new.wait_owner(2)
    pause(5.0)  # Only a trace that the others outlast shows that its member ended.
    for actor in (new, two):
        actor.close("end of the play")
    findings = [finding for finding in near.findings() if finding.kind.is_fault]
    killed = the(findings, Kind.KILLED)
    assert kinds(findings) == {Kind.KILLED}
    assert "on node-1" in killed.sentence


def test_a_poison_record_that_moves_from_member_to_member_is_one_finding(near: Stage) -> None:
    """There were two findings for each member, and a storm: none said that it was always the same record."""
    producer = Producer({"bootstrap.servers": near.bootstrap_servers})
    producer.produce(near.name, b"poison", partition=2)
    producer.flush()
    config = {"max.poll.interval.ms": 3000}
    actors = [near.enter(name, consumes=True, poison_s=9.0, config=config) for name in ("one", "two")]
    for actor in actors:
        actor.wait_for("state", state="STALE")
    pause(4.0)
    poison = the(near.faults(), Kind.POISON_RECORD)
    assert set(poison.members) == {"one", "two"}
    assert f"Record {near.name}-2@0 took longer than the poll interval of 3.0 s" in poison.sentence
    assert "charge_the_customer" in told(poison)


# --- without traces --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", ["consumer"], indirect=True)
@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGKILL])
def test_a_member_that_is_stopped_or_killed_is_named_while_its_group_waits_for_nobody(
    embedded: EmbeddedKafka, new_stage: Callable[..., Stage], number: signal.Signals
) -> None:
    """`groups waiting` knew nothing of it, nor of the replacement that is refused the instance id meanwhile."""
    stage = new_stage(embedded.bootstrap_servers, Pace(session_s=45.0))
    producer = Producer({"bootstrap.servers": stage.bootstrap_servers})
    one = stage.enter("one", consumes=True, config={"auto.commit.interval.ms": 200})
    one.wait_owner(4)
    producer.produce(stage.name, b"1", partition=1)
    producer.flush()
    eventually(lambda: embedded.committed(stage.name), "a commit")
    one.signal(number)
    if number is signal.SIGKILL:
        new = stage.enter("one", incarnation="-new")
        new.wait_for("state", state="JOINING")
    producer.produce(stage.name, b"2", partition=1)
    producer.flush()
    with GroupAdmin(stage.bootstrap_servers) as admin:
        (quiet,) = eventually(lambda: admin.waiting_for(stage.name).quiet, "a quiet member")
    one.signal(signal.SIGKILL)
    assert (quiet.member.name, quiet.records) == ("one", 1)
