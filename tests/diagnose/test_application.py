"""POLL_INTERVAL_EXCEEDED, COMMIT_REFUSED, SLOW_CLOSE."""

from __future__ import annotations

import pytest

from membership_client import NotOwnedError
from membership_client.core.events import Close, GroupLeft, LeaveGroup
from membership_client.debugger.findings.finding import Kind
from membership_client.trace.journal import CommitTally
from tests.diagnose.traces import Recorded, faults, kinds, the


def test_a_record_that_took_too_long_is_named() -> None:
    """With the function that had it."""
    member = Recorded.named("a", **{"max.poll.interval.ms": 20_000}).owning(0).polls()
    member.stays_stable(12.0)
    member.note("in hand", records=["orders-0@17 (message in charge)"])
    member.note(
        "warning", budget="POLL", call=None, spent=12.0, limit=20.0, thread="main", stack=["charge (shop.py:9)"]
    )
    member.stays_stable(7.0)
    member.advance(2.0)
    finding = the(Kind.POLL_INTERVAL_EXCEEDED, faults([member.section()]))
    assert "a:7 did not poll for 20.0 s, with orders-0@17 in hand" in finding.sentence
    assert "It did not poll again" in finding.sentence
    assert any("charge (shop.py:9)" in line.text for line in finding.evidence)


def test_a_commit_of_what_is_others_is_told_with_the_partition() -> None:
    """Once, for all that follow each other."""
    member = Recorded.named("a").owning(0)
    tally = CommitTally(member.journal)
    for _ in range(3):
        with pytest.raises(NotOwnedError), member.clock(), tally.commit(1):
            raise NotOwnedError("Not owned any more: orders-1.")
        member.stays_stable(2.0)
    finding = the(Kind.COMMIT_REFUSED, faults([member.section()]))
    assert "3 commits of a:7 were refused" in finding.sentence
    assert "orders-1" in finding.sentence


def test_a_close_that_a_callback_held_up_is_told() -> None:
    """With what its thread did, as the watchdog noted it."""
    member = Recorded.named("a").owning(0)
    member.do(Close(timeout_s=4.0))
    member.advance(2.5)
    member.note("warning", budget="CLOSE", call=None, spent=2.0, limit=4.0, thread="t", stack=["flush (shop.py:3)"])
    member.advance(3.0)
    findings = faults([member.section()])
    finding = the(Kind.SLOW_CLOSE, findings)
    assert finding.sentence == "The close of a:7 took 4.0 s of its 4.0 s, because its revoked callback did not return."
    assert any("flush (shop.py:3)" in line.text for line in finding.evidence)
    assert kinds(findings) == {Kind.SLOW_CLOSE}


def test_a_prompt_close_is_not_worth_a_word() -> None:
    """Whatever time it was given."""
    member = Recorded.named("a").owning(0)
    member.do(Close(timeout_s=4.0))
    member.now += 0.2
    member.returns()
    member.answer(LeaveGroup, GroupLeft())
    assert faults([member.section()]) == []


def closed_after(callback_s: float, leave_s: float = 0.0) -> Recorded:
    """A member whose close() lets a callback run for 300 s, and gives the rest 10 s."""
    member = Recorded.named("a").owning(0)
    member.do(Close(timeout_s=10.0, callback_timeout_s=300.0))
    member.stays_stable(callback_s)
    member.returns()
    member.advance(leave_s)
    member.answer(LeaveGroup, GroupLeft())
    return member


def test_a_callback_within_its_own_budget_makes_no_close_slow() -> None:
    """8 s of 300 s were reported as 8 s of the close's own 10 s."""
    assert Kind.SLOW_CLOSE not in kinds(faults([closed_after(8.0).section()]))


def test_a_callback_that_takes_most_of_its_own_budget_makes_a_close_slow() -> None:
    """The limit that is named is the callback's."""
    finding = the(Kind.SLOW_CLOSE, faults([closed_after(200.0).section()]))
    assert finding.sentence == (
        "The close of a:7 waited 200 s of at most 300 s for its revoked callback, which took 200 s."
    )


def test_a_close_that_waits_for_the_coordinator_is_slow_whatever_its_callbacks_took() -> None:
    """The callback's time counts on neither side."""
    finding = the(Kind.SLOW_CLOSE, faults([closed_after(2.0, leave_s=6.0).section()]))
    assert finding.sentence.startswith("The close of a:7 took 6.0 s of its 10.0 s, callbacks not counted")
