"""REBALANCE_STORM."""

from __future__ import annotations

from membership_client.debugger.findings.finding import Kind
from tests.diagnose.traces import faults, kinds, plan, script, sections_of, the
from tests.simulation.script import Action, Crash, Evict, Resubscribe, Shut, Start


def test_a_member_that_comes_and_goes_is_the_one_that_churns() -> None:
    """And not the one that suffers it."""
    actions: list[Action] = [Start(0.0, "steady")]
    for round_ in range(6):
        at = 10.0 + 20 * round_
        actions += [Start(at, "restless"), Shut(at + 10, "restless", reason="crashed again")]
    played = script([plan("steady"), plan("restless")], actions, calm_at=140.0)
    finding = the(Kind.REBALANCE_STORM, faults(sections_of(played)))
    assert "steady1" not in finding.members
    assert len(finding.members) == 6
    assert "crashed again" in finding.evidence[0].text
    assert "rebalances" in finding.sentence


def test_a_member_that_is_thrown_out_again_and_again_churns_too() -> None:
    """Whoever does that."""
    evictions: list[Action] = [Evict(20.0 + 15 * round_, "b") for round_ in range(6)]
    actions: list[Action] = [Start(0.0, "a"), Start(1.0, "b"), *evictions]
    findings = faults(sections_of(script([plan("a"), plan("b")], actions, calm_at=120.0)))
    assert the(Kind.REBALANCE_STORM, findings).members == ("b1:7",)
    assert kinds(findings) == {Kind.REBALANCE_STORM, Kind.REMOVED_FROM_OUTSIDE}


def test_a_subscription_that_flickers_is_a_storm() -> None:
    """Each change is a rebalance for all."""
    topics = [frozenset({"orders"}), frozenset({"orders", "bills"})]
    changes: list[Action] = [Resubscribe(20.0 + 8 * number, "b", topics[(number + 1) % 2]) for number in range(6)]
    actions: list[Action] = [Start(0.0, "a"), Start(1.0, "b"), *changes]
    finding = the(Kind.REBALANCE_STORM, faults(sections_of(script([plan("a"), plan("b")], actions, calm_at=80.0))))
    assert finding.members == ("b1:7",)


def test_a_subscription_that_each_member_changes_once_is_no_storm() -> None:
    """A new version of the application does that."""
    names, more = ["a", "b", "c", "d"], frozenset({"orders", "bills"})
    starts: list[Action] = [Start(float(number), name) for number, name in enumerate(names)]
    changes = [Resubscribe(30.0 + 2 * number, name, more) for number, name in enumerate(names)]
    played = script([plan(name) for name in names], [*starts, *changes], calm_at=60.0)
    assert Kind.REBALANCE_STORM not in kinds(faults(sections_of(played)))


def test_a_rolling_restart_of_dynamic_members_is_no_storm() -> None:
    """Nor is the end of the group right after it."""
    names = ["a", "b", "c", "d"]
    starts: list[Action] = [Start(float(number), name) for number, name in enumerate(names)]
    roll: list[Action] = []
    for number, name in enumerate(names):
        at = 15.0 + 5 * number
        roll += [Shut(at, name, reason="new version"), Start(at + 3.0, name)]
    ends = [Shut(45.0 + number, name, reason="end of shift") for number, name in enumerate(names)]
    played = script([plan(name) for name in names], [*starts, *roll, *ends], calm_at=60.0)
    assert faults(sections_of(played)) == []


def test_a_member_that_is_killed_again_and_again_is_a_storm() -> None:
    """It says no word when it goes; what the group does shows that it did. The first line names it."""
    actions: list[Action] = [Start(0.0, "steady")]
    for round_ in range(6):
        at = 10.0 + 30 * round_
        actions += [Start(at, "loop"), Crash(at + 8, "loop")]
    found = faults(sections_of(script([plan("steady"), plan("loop")], actions, calm_at=200.0)))
    storm = the(Kind.REBALANCE_STORM, found)
    assert len(storm.members) >= 4
    assert not [name for name in storm.members if name.startswith("steady")]
    assert storm.brief.startswith(storm.members[0])


def test_a_single_crash_is_no_storm() -> None:
    """Nor is its replacement."""
    actions: list[Action] = [Start(0.0, "a"), Start(1.0, "b"), Crash(20.0, "b"), Start(25.0, "b")]
    played = script([plan("a"), plan("b")], actions, calm_at=90.0)
    assert Kind.REBALANCE_STORM not in kinds(faults(sections_of(played)))
