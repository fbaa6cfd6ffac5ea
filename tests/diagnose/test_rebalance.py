"""REBALANCE: who set it off, what moved, how long it took; and nothing else where nothing went wrong."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import pytest

from membership_client.core.error_codes import Code
from membership_client.core.events import ClassicHeartbeat, JoinGroup, MemberIdGiven, Refused
from membership_client.core.member import Member
from membership_client.debugger.diagnose import diagnose
from membership_client.debugger.findings.finding import Finding, Kind
from tests.core.classic_play import BEAT_S
from tests.core.play import accepted, config, orders
from tests.diagnose.sentences import complaints
from tests.diagnose.traces import Recorded, RecordedClassic, faults, plan, script, sections_of, shifted
from tests.diagnose.truth import truth_of
from tests.simulation.script import Action, Crash, Grow, Mood, Plan, Resubscribe, Script, Shut, Start


def told(played: Script) -> list[str]:
    findings = diagnose(sections_of(played))
    assert all(finding.kind is Kind.REBALANCE for finding in findings)
    return [finding.sentence for finding in findings]


def test_a_join_is_the_cause_of_what_moved_to_it() -> None:
    """With what everybody got, and how long the newcomer waited."""
    sentences = told(script([plan("a"), plan("b")], [Start(0.0, "a"), Start(2.0, "b")]))
    assert sentences[0].startswith("Epoch 2: a1:7 joined; a1:7 got orders[0-5], within ")
    assert sentences[1].startswith("Epoch 3: b1:7 joined; b1:7 got orders[3-5], within 3.")


@pytest.mark.parametrize("strategy", [None, "range", "cooperative-sticky"])
@pytest.mark.parametrize("apart_s", [0.0, 0.1, 0.9, 1.5])
@pytest.mark.parametrize("interval_s", [0.0, 1.0])
def test_a_join_is_the_cause_of_one_epoch(interval_s: float, apart_s: float, strategy: str | None) -> None:
    """Of members that come shortly after each other, also where the coordinator computes targets in batches."""
    names = "abcd"
    starts: list[Action] = [Start(apart_s * number, name) for number, name in enumerate(names)]
    played = script([plan(name, strategy=strategy) for name in names], starts)
    played = replace(played, settings=replace(played.settings, assignment_interval_s=interval_s))
    sections = [shifted(section, 0.01 * number) for number, section in enumerate(sections_of(played))]
    causes = [finding.sentence.partition(";")[0] for finding in diagnose(sections)]
    joined = Counter(name for cause in causes for name in re.findall(r"(\S+) joined(?! again)", cause))
    assert list(joined.values()) == [1] * len(names), causes


def test_members_that_leave_at_the_same_moment_each_raise_an_epoch() -> None:
    """All were told of the first one, and the next ones were said to have no traced member as their trigger."""
    names = ["a", "b", "c", "d"]
    starts: list[Action] = [Start(float(number), name) for number, name in enumerate(names)]
    ends: list[Action] = [Shut(20.0 + 0.3 * number, name, reason="end") for number, name in enumerate(names[1:])]
    sentences = told(script([plan(name) for name in names], [*starts, *ends], calm_at=30.0))
    left = [re.findall(r"(\w)1:7 left", sentence) for sentence in sentences]
    assert sorted(name for each in left for name in each) == ["b", "c", "d"]
    assert not [sentence for sentence in sentences if "unknown" in sentence]


def test_a_leave_is_told_with_its_reason() -> None:
    """The one that was given to close()."""
    actions: list[Action] = [Start(0.0, "a"), Start(2.0, "b"), Shut(12.0, "b", reason="scaled down")]
    sentences = told(script([plan("a"), plan("b")], actions))
    assert sentences[2].startswith("Epoch 4: b1:7 left (scaled down); a1:7 got orders[3-5]")


def test_a_changed_subscription_is_told() -> None:
    """With what it was changed to."""
    played = script([plan("a")], [Start(0.0, "a"), Resubscribe(7.0, "a", frozenset({"orders", "bills"}))])
    *_, last = diagnose(sections_of(played))
    assert last.kind is Kind.REBALANCE
    assert "a1:7 changed its subscription to bills, orders" in last.sentence


def test_a_killed_member_ends_with_the_epoch_that_gives_its_partitions_away() -> None:
    """A replacement that joined before the session had ended was told as one with that end, under the wrong epoch."""
    actions: list[Action] = [Start(0.0, "a"), Start(2.0, "b"), Crash(20.0, "b"), Start(21.0, "c")]
    findings = diagnose(sections_of(script([plan("a"), plan("b"), plan("c")], actions, calm_at=90.0)))
    whys = {f.sentence.partition(";")[0] for f in findings if f.kind is Kind.REBALANCE}
    assert {"Epoch 4: c1:7 joined", "Epoch 5: b1:7 ended without leaving"} <= whys


@pytest.mark.parametrize(
    ("every_s", "session_timeout_s", "raised_by"),
    [
        (7.0, 20.0, {11: "d1:7"}),
        (12.0, 20.0, {8: "c1:7"}),
        (7.0, 45.0, {10: "c1:7", 11: "d1:7"}),
        (12.0, 45.0, {10: "c1:7", 11: "d1:7", 12: "e1:7"}),
    ],
)
def test_in_a_loop_of_kills_each_whose_session_may_have_ended_is_named(
    every_s: float, session_timeout_s: float, raised_by: dict[int, str]
) -> None:
    """If a killed member owned nothing, no trace shows when its session ended: it was said that no traced member did it."""
    actions: list[Action] = [Start(0.0, "a")]
    for number, name in enumerate("bcdefg"):
        actions += [Start(5.0 + every_s * number, name), Crash(10.0 + every_s * number, name)]
    played = script([plan(name) for name in "abcdefg"], actions, calm_at=200.0, session_timeout_s=session_timeout_s)
    found = {finding.sentence.partition(":")[0]: finding for finding in diagnose(sections_of(played))}
    assert [epoch for epoch, finding in found.items() if "why is unknown" in finding.sentence] == [
        f"Epoch {epoch}" for epoch in raised_by
    ]
    for epoch, name in raised_by.items():
        told = found[f"Epoch {epoch}"]
        assert re.search(
            rf"perhaps it was [^;]*\b{name}\b.*, which was killed or fenced, a member without", told.sentence
        )
        assert name in told.members
        assert name in {line.member for line in told.evidence}


def test_what_another_got_under_an_earlier_epoch_is_not_given_up_in_a_later_one() -> None:
    """While a callback runs, its member does not reach the epochs in which others get what it has given up."""
    slow = Mood(at=9.0, until=60.0, who="a", slow_s=8.0)
    actions: list[Action] = [Start(0.0, "a"), slow, Start(10.0, "b"), Start(12.0, "c"), Start(22.0, "d")]
    findings = diagnose(sections_of(script([plan(name) for name in "abcd"], actions, calm_at=90.0)))
    assert [f.sentence for f in findings if "gave up" in f.sentence] == []


def test_what_no_traced_member_did_is_unknown() -> None:
    """A topic that grew is not in any member's trace."""
    (_, finding) = diagnose(sections_of(script([plan("a")], [Start(0.0, "a"), Grow(6.0, "orders", 8)])))
    assert finding.certainty == "unknown"
    assert "why is unknown: perhaps it was a member without a trace, a change of the topics" in finding.sentence
    assert [str(partition) for partition in finding.partitions] == ["orders-6", "orders-7"]


def test_a_classic_member_that_was_killed_before_it_was_let_in_is_not_ruled_out() -> None:
    """Its join has no answer, so it is in no epoch. It was said that none of the traced members did it."""
    classic = config(**{"group.protocol": "classic", "partition.assignment.strategy": "cooperative-sticky"})
    steady = RecordedClassic(Member(config=classic, member_id="a"))
    steady.joining()
    steady.answer(JoinGroup, MemberIdGiven("given-a"))
    steady.now += 0.5
    steady.let_in(0, 1)
    steady.let_callbacks_return()
    steady.advance(BEAT_S)
    killed = RecordedClassic(Member(config=classic, member_id="k"), now=steady.now - 1.0)
    killed.joining()
    killed.answer(JoinGroup, MemberIdGiven("given-k"))
    steady.answer(ClassicHeartbeat, Refused(Code.REBALANCE_IN_PROGRESS))
    steady.now += 0.5
    steady.let_in(0, 1, generation=2)
    steady.let_callbacks_return()
    steady.advance(60.0)
    sections = [steady.section("a.jsonl"), killed.section("k.jsonl")]
    found = diagnose(sections)
    rebalance = next(finding for finding in found if finding.sentence.startswith("Epoch 2"))
    assert rebalance.sentence.startswith(
        "Epoch 2: why is unknown: perhaps it was k:7, which was killed or fenced, a member"
    )
    assert rebalance.certainty == "unknown"
    assert complaints(truth_of(sections, 2.0), found) == []


def rolling_restart() -> Script:
    names = "abc"
    plans: list[Plan] = [plan(name, instance_id=f"till-{name}") for name in names]
    actions: list[Action] = [Start(float(number), name) for number, name in enumerate(names)]
    for number, name in enumerate(names):
        actions += [Shut(30.0 + 20 * number, name), Start(36.0 + 20 * number, name)]
    return script(plans, actions, calm_at=100.0)


def test_a_rolling_restart_of_static_members_is_no_fault_and_not_even_a_rebalance() -> None:
    """Each leaves for a while and finds its partitions where it left them."""
    findings = diagnose(sections_of(rolling_restart()))
    assert [finding.sentence.partition(";")[0] for finding in findings] == [
        "Epoch 2: till-a joined",
        "Epoch 3: till-b joined",
        "Epoch 4: till-c joined",
    ]


def scaling() -> Script:
    names = "abcdef"
    up: list[Action] = [Start(3.0 * number, name) for number, name in enumerate(names)]
    down: list[Action] = [Shut(100.0 + 5 * number, name, reason="scaled down") for number, name in enumerate(names[1:])]
    return script([plan(name) for name in names], up + down, calm_at=130.0)


def test_scaling_up_and_down_is_no_fault() -> None:
    """However many rebalances that takes."""
    findings = diagnose(sections_of(scaling()))
    assert {finding.kind for finding in findings} == {Kind.REBALANCE}
    assert len(findings) == 11


def test_a_group_that_is_shut_down_and_started_again_is_no_fault() -> None:
    """Nobody was there to own anything."""
    plans = [plan("a"), plan("b")]
    actions: list[Action] = [Start(0.0, "a"), Start(1.0, "b"), Shut(10.0, "a"), Shut(11.0, "b")]
    actions += [Start(60.0, "a"), Start(61.0, "b")]
    assert faults(sections_of(script(plans, actions, calm_at=70.0))) == []


def test_a_trace_that_begins_in_the_middle_invents_no_rebalance() -> None:
    """What it was told before is nobody's news."""
    member = Recorded.named("a").owning(0)
    middle = Recorded(member.member, now=member.now)
    middle.stays_stable(20.0)
    assert diagnose([middle.section()]) == []


def moved(finding: Finding) -> list[str]:
    return [str(partition) for partition in finding.partitions]


def test_what_a_single_trace_shows_is_told_without_the_others() -> None:
    """Somebody without a trace took it."""
    member = Recorded.named("a").owning(0, 1)
    member.told(orders(0))
    member.returns()
    member.answer(type(member.heartbeat()), accepted(3))
    (_, finding) = diagnose([member.section()])
    assert moved(finding) == ["orders-1"]
    assert "a:7 gave up orders[1]" in finding.sentence
