"""GROUP_FULL, ACCESS_DENIED, REMOVED_FROM_OUTSIDE, THROWN_OUT, ENDED_BY_ERROR."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from membership_client.core.events import ClassicHeartbeat, Heartbeat, Refused
from membership_client.debugger.findings.finding import Kind
from tests.core.classic_play import BEAT_S
from tests.core.play import accepted
from tests.diagnose.traces import Recorded, RecordedClassic, faults, the


def refused(code: int, message: str, **overrides: Any) -> Recorded:
    member = Recorded.named("a", **overrides)
    member.joining()
    member.answer(Heartbeat, Refused(code, message))
    return member


def test_a_full_group_is_told_with_the_setting_that_says_so() -> None:
    """And that the member ended."""
    finding = the(Kind.GROUP_FULL, faults([refused(81, "at most 1").section()]))
    assert finding.members == ("a:7",)
    assert finding.sentence.startswith("Group g was full: a:7 was not let in, and ended")
    assert "group.consumer.max.size" in finding.advice


def test_a_member_that_waits_for_room_is_one_finding() -> None:
    """However often it asks."""
    member = refused(81, "at most 1", retry_when_full_s=2.0)
    for _ in range(5):
        member.advance(2.5)
        member.answer(Heartbeat, Refused(81, "at most 1"))
    assert "waited for room (6 times" in the(Kind.GROUP_FULL, faults([member.section()])).sentence


def test_a_denied_group_is_told_with_what_to_grant() -> None:
    """The group by its name, and the operation."""
    finding = the(Kind.ACCESS_DENIED, faults([refused(30, "no").section()]))
    assert "no access to group g" in finding.sentence
    assert "READ on the group" in finding.advice


def test_a_denied_topic_heals() -> None:
    """It ends when access was granted."""
    member = refused(29, "Not authorized to access topics: [orders]")
    member.advance(3.0)
    member.answer(Heartbeat, accepted(2))
    finding = the(Kind.ACCESS_DENIED, faults([member.section()]))
    assert "[orders]" in finding.sentence
    assert finding.evidence[-1].text == "over"


def test_a_removal_from_outside_is_not_blamed_on_the_member() -> None:
    """It was on time with everything, and the reason is unknown to it."""
    member = Recorded.named("a").owning(0).stays_stable(20.0)
    member.advance(5.0)
    member.answer(Heartbeat, Refused(25))
    (finding,) = faults([member.section()])
    assert finding.kind is Kind.REMOVED_FROM_OUTSIDE
    assert "unknown to the client" in finding.sentence
    assert "log of the coordinator" in finding.advice


def test_a_removal_before_the_first_heartbeat_is_not_blamed_on_the_member() -> None:
    """In a classic group an answered join says as much as a heartbeat; it was taken for nothing, so nobody was told."""
    member = RecordedClassic.new()
    member.stable(0).advance(BEAT_S)
    member.answer(ClassicHeartbeat, Refused(25))
    (finding,) = faults([member.section()])
    assert finding.kind is Kind.REMOVED_FROM_OUTSIDE


def late_answer() -> Recorded:
    """The heartbeat was sent in time, and its answer came nine seconds later."""
    member = Recorded.named("a").owning(0).stays_stable(20.0)
    member.advance(5.0)
    member.now += 9.0
    member.answer(Heartbeat, Refused(25, "who?"))
    return member


def wrong_epoch() -> Recorded:
    member = Recorded.named("a").owning(0).stays_stable(20.0)
    member.advance(5.0)
    member.answer(Heartbeat, Refused(110, "a smaller epoch"))
    return member


@pytest.mark.parametrize(("fenced", "said"), [(late_answer, "who?"), (wrong_epoch, "a smaller epoch")])
def test_a_member_that_was_thrown_out_for_no_known_reason_is_told(fenced: Callable[[], Recorded], said: str) -> None:
    """Nothing was said to be wrong, because no finding spoke of a fence that the trace does not explain."""
    (finding,) = faults([fenced().section()])
    assert (finding.kind, finding.members, finding.certainty) == (Kind.THROWN_OUT, ("a:7",), "unknown")
    assert said in finding.sentence
    assert "unknown" in finding.sentence


def test_an_end_that_no_other_finding_speaks_of_is_told_all_the_same() -> None:
    """A group of another kind, an old broker, a pattern that cannot be read."""
    finding = the(Kind.ENDED_BY_ERROR, faults([refused(128, "bad pattern").section()]))
    assert "invalid regex" in finding.sentence
    assert "RE2/J" in finding.advice
