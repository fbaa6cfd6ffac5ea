"""TWO_OWNERS: a member that went on with partitions which the group had given to another one, and why it did."""

from __future__ import annotations

from dataclasses import replace

import pytest

from membership_client.core.events import Heartbeat, Refused, Tick
from membership_client.debugger.diagnose import diagnose
from membership_client.debugger.findings.finding import Finding, Kind
from membership_client.debugger.model.timeline import groups_of
from membership_client.trace import Section
from tests.core.play import accepted, orders
from tests.diagnose.sentences import complaints
from tests.diagnose.traces import Recorded, faults, kinds, the
from tests.diagnose.truth import truth_of


def stopped_and_then_slow(heir_at: float) -> Finding:
    """Stopped from 1010 to 1070, when it learns that it is out; its lost callback runs until 1090."""
    member = Recorded.named("a").owning(0).stays_stable(10.0)
    member.now += 60.0
    member.do(Tick())
    member.answer(Heartbeat, Refused(25))
    member.advance(20.0)
    member.let_callbacks_return()
    heir = Recorded.named("b", now=heir_at).owning(0).stays_stable(90.0)
    return the(Kind.TWO_OWNERS, faults([member.section("a.jsonl"), heir.section("b.jsonl")], 0.0))


def test_a_standstill_is_the_reason_while_it_lasts() -> None:
    """The member could not know."""
    finding = stopped_and_then_slow(1020.0)
    assert finding.members == ("a:7", "b:7")
    assert finding.sentence == (
        "orders[0] had two owners for 70.0 s: a:7 owned it after the group had given it to b:7. "
        "a:7 did nothing at that time, so it did not learn that its session had ended."
    )


def test_of_two_reasons_the_longer_one_is_told() -> None:
    """The lost callback took 20 s after a standstill that covered five: the standstill was blamed for all of it."""
    finding = stopped_and_then_slow(1065.0)
    assert finding.sentence == (
        "orders[0] had two owners for 25.0 s: a:7 owned it after the group had given it to b:7. "
        "a:7 had learned that it was out of the group, and its lost callback had not returned."
    )


# --- clocks that are set ---------------------------------------------------------------------------------------------


def handover(member_set_s: float, heir_set_s: float = 0.0) -> list[Section]:
    """A revoked callback takes 20 s, and another member gets the partition after it; clocks are set while it runs."""
    member = Recorded.named("a").owning(0, 1).stays_stable(10.0)
    heir = Recorded.named("b").owning(2).stays_stable(10.0)
    member.told(orders(0), 3)
    member.slept_s += member_set_s
    heir.slept_s += heir_set_s
    member.stays_stable(20.0).returns()
    member.answer(Heartbeat, accepted(3))
    heir.stays_stable(member.now - heir.now)
    heir.told(orders(1, 2), 3).let_callbacks_return()
    heir.answer(Heartbeat, accepted(3))
    assert member.now < heir.now < member.now + 10.0
    return [member.stays_stable(20.0).section("a.jsonl"), heir.stays_stable(20.0).section("b.jsonl")]


@pytest.mark.parametrize("sets", [(30.0, 0.0), (0.0, -30.0), (30.0, 4.0), (1800.0, 0.0), (-30.0, 30.0)])
def test_a_clock_that_is_set_during_a_revoke_makes_no_second_owner(sets: tuple[float, float]) -> None:
    """The time of day of its machine went ahead of the other machine's: which of the two was right is in no trace."""
    sections = handover(*sets)
    found = diagnose(sections)
    assert kinds(found) == {Kind.WAITED_FOR_CALLBACK, Kind.REBALANCE}
    assert complaints(truth_of(sections, 2.0), found) == []


def test_the_time_of_a_rebalance_is_told_with_the_doubt_that_a_set_clock_brings() -> None:
    """Its two ends are times of two machines, of which one was set by half a minute."""
    told = next(finding for finding in diagnose(handover(30.0)) if "epoch 3" in finding.sentence.lower())
    assert "(give or take 32.0 s)" in told.sentence


def test_a_clock_of_one_machine_that_both_members_saw_jump_leaves_no_doubt() -> None:
    """Two processes of one machine have one clock."""
    sections = [replace(section, header={**section.header, "host": "box"}) for section in handover(30.0, 30.0)]
    sections[1].header["pid"] = 8
    (group,) = groups_of(sections, 2.0)
    one, two = group.runs
    assert one.uncertainty_s(two, two.ended - 1.0, two.ended) == 0.0
    assert one.uncertainty_s(two, one.began, two.ended) == pytest.approx(30.0, abs=0.01)


def test_a_machine_that_slept_past_its_session_still_had_a_partition_that_another_one_got() -> None:
    """Its clock jumped too, but the fence after that proves that time passed."""
    member = Recorded.named("a").owning(0).stays_stable(20.0)
    heir = Recorded.named("b", now=1080.0).owning(0).stays_stable(600.0)
    member.slept_s += 600.0
    member.advance(5.0)
    member.answer(Heartbeat, Refused(25))
    member.let_callbacks_return()
    sections = [member.section("a.jsonl"), heir.section("b.jsonl")]
    found = diagnose(sections)
    assert "had two owners for 545 s (give or take 2.0 s)" in the(Kind.TWO_OWNERS, found).sentence
    assert complaints(truth_of(sections, 2.0), found) == []


def test_a_clock_that_is_set_ahead_makes_nobody_a_victim_of_a_kill() -> None:
    """Its trace seems to go on for an hour after that of the other member, which had been copied at the same moment."""
    fast = Recorded.named("a").owning(0).stays_stable(60.0)
    other = Recorded.named("b").owning(1).stays_stable(120.0)
    fast.slept_s += 3600.0
    assert faults([fast.stays_stable(60.0).section("a.jsonl"), other.section("b.jsonl")]) == []
