"""Incidents of the application's own making: callbacks, handlers, polls, closes."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from confluent_kafka import Producer

from membership_client.debugger.findings.finding import Finding, Kind
from tests.incidents.conftest import Actor, Stage
from tests.integration.members import eventually

pytestmark = pytest.mark.kafka

same_in_both = pytest.mark.parametrize("protocol", ["consumer"], indirect=True)
"""What the application does is told alike in both protocols, so one is enough."""


def the(findings: list[Finding], kind: Kind) -> Finding:
    """The one finding of that kind."""
    found = [finding for finding in findings if finding.kind is kind]
    assert len(found) == 1, [(finding.kind.name, finding.sentence) for finding in findings]
    return found[0]


def told(finding: Finding) -> str:
    """Everything a reader is given."""
    return " ".join([finding.sentence, *map(str, finding.evidence), finding.advice])


def produce(stage: Stage, count: int) -> None:
    producer = Producer({"bootstrap.servers": stage.bootstrap_servers})
    for number in range(count):
        producer.produce(stage.name, b"4111 1111", partition=number % 4)
    producer.flush()


def test_a_slow_revoke_is_blamed_on_who_was_slow_and_not_on_who_waited(stage: Stage) -> None:
    """With the callback, how long it took, and the function in which it stood."""
    slow = stage.enter("slow", slow={"revoked": 6.0}, config={"max.poll.interval.ms": 8000})
    slow.wait_owner(4)
    waiting = stage.enter("waiting")
    waiting.wait_owner(2)
    finding = the(stage.faults(), Kind.WAITED_FOR_CALLBACK)
    assert finding.members == ("slow",)
    assert "revoked" in finding.sentence
    assert "flush_to_the_database" in told(finding)


@same_in_both
def test_a_callback_that_takes_little_of_its_budget_is_named_too(stage: Stage) -> None:
    """With five minutes to spare it was warned of after half of them: of 20 s no function was ever shown."""
    slow = stage.enter("slow", slow={"revoked": 5.0})
    slow.wait_owner(4)
    stage.enter("waiting").wait_owner(2)
    finding = the(stage.faults(), Kind.WAITED_FOR_CALLBACK)
    assert finding.members == ("slow",)
    assert "flush_to_the_database" in told(finding)


@same_in_both
def test_a_callback_that_raises_is_named_with_its_place_and_without_its_message(stage: Stage) -> None:
    """What it could not load is the customer's business."""
    stage.enter("broken", fails=["assigned"]).wait_for("assigned")
    working = stage.enter("working")
    working.wait_owner(2)
    finding = the(stage.faults(), Kind.CALLBACK_FAILED)
    assert finding.members == ("broken",)
    text = told(finding)
    assert "ConnectionRefusedError" in text
    assert "_behave (actor_process.py:" in text
    assert "4711" not in text


@same_in_both
def test_a_handler_that_does_not_poll_holds_back_the_others_and_is_named(stage: Stage) -> None:
    """The revoke waited for the next poll, because a record was in hand: which one, and in which function.

    One record takes longer than a newcomer may need to start: with short ones this test depended on when in a record it came.
    """
    produce(stage, 4)
    busy = stage.enter("busy", consumes=True, work_s=16.0, config={"max.poll.interval.ms": 20_000})
    busy.wait_for("record")
    newcomer = stage.enter("newcomer")
    newcomer.wait_owner(2)
    finding = the(stage.faults(), Kind.WAITED_FOR_POLL)
    assert finding.members == ("busy",)
    text = told(finding)
    assert "charge_the_customer" in text
    assert "4111" not in text


def test_a_record_that_takes_longer_than_the_poll_interval_is_named(stage: Stage) -> None:
    """Member, record and function; the others are not to blame."""
    produce(stage, 1)
    slow = stage.enter("slow", static=False, consumes=True, work_s=20.0, config={"max.poll.interval.ms": 2000})
    slow.wait_for("record")
    stage.enter("other").wait_owner(4)
    finding = the(stage.faults(), Kind.POLL_INTERVAL_EXCEEDED)
    assert finding.members == (slow.called,)
    text = told(finding)
    assert f"{stage.name}-0@0" in text
    assert "charge_the_customer" in text


@same_in_both
def test_a_close_that_a_callback_holds_up_is_told(stage: Stage) -> None:
    """It was given three seconds, and its callback took them all."""
    closing = stage.enter("closing", slow={"revoked": 30.0}, close_s=3.0)
    closing.wait_owner(4)
    closing.close("end of shift")
    finding = the(stage.faults(), Kind.SLOW_CLOSE)
    assert finding.members == ("closing",)
    assert "flush_to_the_database" in told(finding)


@same_in_both
def test_a_commit_after_the_partition_was_gone_is_told(stage: Stage) -> None:
    """Who committed, what, and that ownership was over."""
    late = stage.enter("late", static=False)
    late.wait_owner(4)
    stage.enter("new", static=False).wait_owner(2)
    kept = {tuple(pair) for pair in late.wait_owner(2)}
    gone = next(number for number in range(4) if (stage.name, number) not in kept)
    late.tell(f"commit {stage.name}-{gone}")
    late.wait_for("refused", error="NotOwnedError")
    finding = the(stage.faults(), Kind.COMMIT_REFUSED)
    assert finding.members == (late.called,)
    assert f"{stage.name}-{gone}" in told(finding)


@same_in_both
def test_a_member_that_comes_and_goes_is_the_one_that_churns(stage: Stage) -> None:
    """Many rebalances in a short time, and the member who caused them; not those who suffered them."""
    steady = stage.enter("steady")
    steady.wait_owner(4)
    for round_ in range(6):
        churning = stage.enter(f"crashing-{round_}", static=False, incarnation="")
        churning.wait_owner(2)
        churning.close("crashed again")
        steady.wait_owner(4)
    finding = the(stage.faults(), Kind.REBALANCE_STORM)
    assert "steady" not in finding.members
    assert "crashed again" in told(finding)


def peace(stage: Stage, actors: Iterable[Actor]) -> list[Finding]:
    """All rebalances, after everybody has left in peace: not even an end of the play is a fault."""
    for actor in actors:
        actor.close("end of the play")
    findings = stage.findings()
    assert [(finding.kind.name, finding.sentence) for finding in findings if finding.kind.is_fault] == []
    return findings


def test_healthy_scaling_up_and_down_blames_nobody(patient_stage: Stage) -> None:
    """Members come and go with reasons, which the rebalances name: that is what a group is for."""
    stage = patient_stage
    first, second = stage.enter("first"), stage.enter("second")
    first.wait_owner(2)
    second.wait_owner(2)
    third = stage.enter("third", static=False)
    eventually(lambda: third.said and third.said[-1].get("owned"), "a share for the third")
    name = third.called
    third.close("scaled down")
    first.wait_owner(2)
    second.wait_owner(2)
    told = " ".join(finding.sentence for finding in peace(stage, [first, second]))
    assert f"{name} joined" in told
    assert f"{name} left (scaled down)" in told


def test_a_healthy_rolling_restart_blames_nobody(patient_stage: Stage) -> None:
    """Static members leave temporarily and come back: there is not even a rebalance, and nobody seems to have been killed."""
    stage, names = patient_stage, ("one", "two")
    actors = {name: stage.enter(name) for name in names}
    for actor in actors.values():
        actor.wait_owner(2)
    for name in names:
        actors[name].close("new version")
        actors[name] = stage.enter(name, incarnation="-again")
        actors[name].wait_owner(2)
    peace(stage, actors.values())
