"""UNOWNED_PARTITION and KILLED."""

from __future__ import annotations

import pytest

from membership_client.debugger.commands.diagnose_command import as_json, report
from membership_client.debugger.findings.finding import Kind
from membership_client.debugger.model.timeline import groups_of
from tests.diagnose.traces import Recorded, faults, kinds, plan, script, section_of, sections_of, the
from tests.simulation.script import Action, Crash, Mood, Script, Shut, Start


def crash(*more: Action, until: float = 80.0) -> Script:
    actions: list[Action] = [Start(0.0, "a"), Start(1.0, "b"), Crash(20.0, "b"), *more]
    return script([plan("a"), plan("b", instance_id="till-b")], actions, calm_at=until)


def test_a_killed_process_is_known_by_what_others_got() -> None:
    """Its partitions waited for its session to end."""
    findings = faults(sections_of(crash()))
    assert kinds(findings) == {Kind.KILLED, Kind.UNOWNED_PARTITION}
    killed, unowned = the(Kind.KILLED, findings), the(Kind.UNOWNED_PARTITION, findings)
    assert killed.members == unowned.members == ("till-b",)
    assert killed.certainty == "certain"
    assert "got orders" not in killed.sentence
    assert "gets orders-3" in killed.evidence[-1].text
    assert [str(partition) for partition in unowned.partitions] == ["orders-3", "orders-4", "orders-5"]
    assert "till-b ended without leaving, and the group waited for its session to end" in unowned.sentence


def test_a_killed_static_member_that_is_back_soon_leaves_nothing_unowned() -> None:
    """Its new run is the proof that the old one ended."""
    actions: list[Action] = [Start(0.0, "b"), Crash(20.0, "b"), Start(22.0, "b")]
    findings = faults(
        sections_of(script([plan("b", instance_id="till-b", conflict="takeover")], actions, calm_at=30.0))
    )
    assert kinds(findings) == {Kind.KILLED}
    assert "a new run of till-b" in findings[0].evidence[-1].text


def test_a_static_member_may_be_away_for_as_long_as_its_session() -> None:
    """That is what it left for a while for."""
    actions: list[Action] = [Start(0.0, "a"), Start(1.0, "b"), Shut(20.0, "b"), Start(50.0, "b")]
    played = script([plan("a"), plan("b", instance_id="till-b")], actions, calm_at=60.0)
    assert faults(sections_of(played)) == []


def test_how_long_each_partition_had_no_owner_is_told_also_where_that_is_no_fault() -> None:
    """To people and to programs, all times together: only what lasted for more than ten seconds was told."""
    away: list[Action] = [Shut(20.0, "b"), Start(28.0, "b"), Shut(60.0, "b"), Start(64.0, "b")]
    plans = [plan("a"), plan("b", instance_id="till-b")]
    groups = groups_of(sections_of(script(plans, [Start(0.0, "a"), Start(1.0, "b"), *away], calm_at=80.0)), 2.0)
    (shown,) = as_json(groups, [])["groups"]
    unowned = {each["partition"]: each for each in shown["unowned"] if each["times"] > 1}
    assert set(unowned) == {"orders-3", "orders-4", "orders-5"}
    assert all(8.0 <= each["longest_s"] < each["total_s"] < 20.0 for each in unowned.values())
    title, first, *_ = [line for line in report(groups, []) if line][4:]
    assert title == "Without an owner, all times together:"
    assert first == f"  {unowned['orders-3']['total_s']:.1f} s  orders[3-5]"


def test_a_static_member_that_is_away_for_too_long_leaves_its_partitions_alone() -> None:
    """Nobody else may take them before its session is over."""
    actions: list[Action] = [Start(0.0, "a"), Start(1.0, "b"), Shut(20.0, "b")]
    played = script([plan("a"), plan("b", instance_id="till-b")], actions, calm_at=130.0, session_timeout_s=90.0)
    finding = the(Kind.UNOWNED_PARTITION, faults(sections_of(played)))
    assert "till-b left for a while" in finding.sentence


def test_all_traces_that_end_together_are_no_deaths() -> None:
    """Somebody collected them while everything ran."""
    sections = [
        Recorded.named(name).owning(number).stays_stable(30.0).section(name) for number, name in enumerate("ab")
    ]
    assert faults(sections) == []


def test_a_trace_that_is_torn_tells_of_a_death_by_itself() -> None:
    """Half a line is all the proof there is."""
    section = Recorded.named("a").owning(0).stays_stable(30.0).section(torn=True)
    finding = the(Kind.KILLED, faults([section]))
    assert finding.certainty == "likely"
    assert "torn in the middle" in finding.sentence


def test_a_trace_that_ends_much_earlier_than_the_others_is_suspected() -> None:
    """Without proof: its file may have been cut off."""
    sections = [
        Recorded.named("a").owning(0).stays_stable(30.0).section("a"),
        Recorded.named("b").owning(1).stays_stable(60.0).section("b"),
    ]
    finding = the(Kind.KILLED, faults(sections))
    assert (finding.members, finding.certainty) == (("a:7",), "likely")


def test_a_trace_that_was_saved_earlier_than_the_others_is_no_death() -> None:
    """Its header was written last, by a process that lived."""
    early = Recorded.named("a").owning(0).stays_stable(30.0)
    early.now += 1.0
    with early.clock():
        saved = section_of(early.journal.lines(), "a")
    assert faults([saved, Recorded.named("b").owning(1).stays_stable(90.0).section("b")]) == []


def test_a_slow_assign_explains_why_nobody_owned_its_partitions() -> None:
    """Saying both would be saying it twice."""
    slow = Mood(at=20.0, until=21.0, who="b", slow_s=25.0)
    actions: list[Action] = [Start(0.0, "a"), slow, Start(20.0, "b")]
    findings = faults(sections_of(script([plan("a"), plan("b")], actions, calm_at=60.0)))
    assert kinds(findings) == {Kind.WAITED_FOR_CALLBACK}


def test_what_a_member_without_a_trace_may_own_is_no_finding() -> None:
    """A partition that went to a librdkafka member and came back was said to have had no owner, for an unknown reason."""
    actions: list[Action] = [Start(0.0, "a"), Start(1.0, "b"), Start(20.0, "c"), Shut(60.0, "c")]
    sections = sections_of(script([plan(name) for name in "abc"], actions, calm_at=90.0))
    assert faults([section for section in sections if section.path.name != "c1.jsonl"]) == []


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_a_classic_group_that_waits_for_a_callback_explains_all_that_waits(strategy: str) -> None:
    """What another member had given up at once was said to have no owner, and why was said to be unknown."""
    slow = Mood(at=19.0, until=60.0, who="a", slow_s=25.0)
    actions: list[Action] = [Start(0.0, "a"), Start(1.0, "b"), slow, Start(20.0, "c")]
    played = script([plan(name, strategy=strategy) for name in "abc"], actions, calm_at=90.0)
    findings = faults(sections_of(played))
    assert kinds(findings) == {Kind.WAITED_FOR_CALLBACK}
    assert {finding.members for finding in findings} == {("a1:7",)}
