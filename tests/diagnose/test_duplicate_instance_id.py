"""DUPLICATE_INSTANCE_ID."""

from __future__ import annotations

import pytest

from membership_client.config import ConflictPolicy
from membership_client.debugger.findings.finding import Finding, Kind
from tests.diagnose.traces import faults, kinds, plan, script, sections_of, the
from tests.simulation.script import Action, Crash, Shut, Start


def meeting(conflict: ConflictPolicy, *more: Action, until: float = 20.0) -> list[Finding]:
    """Two processes under one id; the second comes seven seconds later."""
    plans = [plan("a", instance_id="till"), plan("b", instance_id="till", conflict=conflict)]
    return faults(sections_of(script(plans, [Start(0.0, "a"), Start(7.0, "b"), *more], calm_at=until)))


@pytest.mark.parametrize("conflict", ["takeover", "fail"])
def test_both_processes_are_named(conflict: ConflictPolicy) -> None:
    """Whichever of them had to go."""
    finding = the(Kind.DUPLICATE_INSTANCE_ID, meeting(conflict))
    assert finding.members == ("till",)
    assert finding.sentence.endswith("process 7 on a1 and process 7 on b1.")
    assert finding.certainty == "certain"


def test_pods_and_spark_slots_are_named_too() -> None:
    """That is what one can look for, and stop."""
    plans = [plan("a", instance_id="till"), plan("b", instance_id="till", conflict="takeover")]
    first, second = sections_of(script(plans, [Start(0.0, "a"), Start(7.0, "b")]))
    first.header["pod"] = "till-0"
    second.header["spark"] = "till-3, stage 2, attempt 1"
    finding = the(Kind.DUPLICATE_INSTANCE_ID, faults([first, second]))
    assert "process 7 on a1 (pod till-0)" in finding.sentence
    assert "process 7 on b1 (Spark till-3, stage 2, attempt 1)" in finding.sentence


def test_one_that_waits_in_vain_is_told_from_one_that_is_let_in() -> None:
    """The first never noticed."""
    assert kinds(meeting("wait", until=90.0)) == {Kind.DUPLICATE_INSTANCE_ID}


def test_a_hand_over_is_no_clash() -> None:
    """The old process was on its way out when the new one came."""
    assert meeting("wait", Shut(10.0, "a"), until=30.0) == []


def test_waiting_for_the_dead_is_no_clash() -> None:
    """The session of a killed process has to end first; there was only ever one at a time."""
    actions: list[Action] = [Start(0.0, "a"), Crash(7.0, "a"), Start(8.0, "a")]
    played = script([plan("a", instance_id="till")], actions, calm_at=30.0, session_timeout_s=6.0)
    assert kinds(faults(sections_of(played))) == {Kind.KILLED}


def test_a_process_that_comes_too_soon_after_a_killed_one_is_not_said_to_run_beside_it() -> None:
    """The coordinator keeps the id until the session ends, and `fail` does not wait for that."""
    findings = meeting("fail", Crash(5.0, "a"))
    finding = the(Kind.DUPLICATE_INSTANCE_ID, findings)
    assert "same time" not in finding.sentence
    assert finding.sentence.startswith(
        "Processes used group.instance.id till one after the other: process 7 on a1, then process 7 on b1."
    )
    assert "group.instance.id.conflict" in finding.advice


def test_a_holder_without_a_trace_is_described_as_the_coordinator_does() -> None:
    """Client and host, so that somebody can find it."""
    plans = [plan("a", instance_id="till"), plan("b", instance_id="till", conflict="fail")]
    _, second = sections_of(script(plans, [Start(0.0, "a"), Start(7.0, "b")]))
    finding = the(Kind.DUPLICATE_INSTANCE_ID, faults([second]))
    assert "member a1 (client a, host /127.0.0.1), of which there is no trace" in finding.sentence
    assert "same time" not in finding.sentence


def test_a_classic_member_is_no_third_process() -> None:
    """The coordinator's id of the first process passed for a process without a trace."""
    a, b = (plan(name, instance_id="till", conflict="takeover", strategy="range") for name in "ab")
    findings = faults(sections_of(script([a, b], [Start(0.0, "a"), Start(7.0, "b")], calm_at=20.0)))
    assert "no trace" not in the(Kind.DUPLICATE_INSTANCE_ID, findings).sentence
