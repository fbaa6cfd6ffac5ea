"""WAITED_FOR_CALLBACK and WAITED_FOR_POLL."""

from __future__ import annotations

from membership_client.core.events import CallbackReturned, Heartbeat, Refused
from membership_client.debugger.findings.finding import Kind, answer
from tests.core.play import orders
from tests.diagnose.traces import Recorded, faults, kinds, the


def returns_after(member: Recorded, seconds: float, *, waited_s: float = 0.0) -> None:
    call = member.member.call
    assert call is not None
    began_at = member.now + waited_s
    member.stays_stable(seconds)
    member.do(CallbackReturned(call.call_id, None, began_at, "g-callbacks"))


def test_a_slow_revoke_is_told_with_thread_and_stack() -> None:
    """As the watchdog noted it."""
    member = Recorded.named("slow").owning(0, 1)
    member.told(orders(0))
    member.note(
        "warning",
        budget="CALLBACK",
        call=member.member.ids,
        spent=4.0,
        limit=8.0,
        thread="t",
        stack=["flush (shop.py:3)"],
    )
    returns_after(member, 12.0)
    finding = the(Kind.WAITED_FOR_CALLBACK, faults([member.section()]))
    assert finding.members == ("slow:7",)
    assert finding.sentence == (
        "orders[1] waited for the revoked callback of slow:7, which took 12.0 s on thread g-callbacks."
    )
    assert any("thread t is at flush (shop.py:3)" in line.text for line in finding.evidence)


def test_a_slow_assign_keeps_its_records_waiting() -> None:
    """They belong to nobody until it returns."""
    member = Recorded.named("slow").owning(0)
    member.told(orders(0, 1))
    returns_after(member, 12.0)
    assert "The records of orders[1] waited" in the(Kind.WAITED_FOR_CALLBACK, faults([member.section()])).sentence


def test_a_callback_that_never_returns_is_told_too() -> None:
    """As long as the trace goes."""
    member = Recorded.named("slow").owning(0, 1)
    member.told(orders(0))
    member.stays_stable(30.0)
    finding = the(Kind.WAITED_FOR_CALLBACK, faults([member.section()]))
    assert "had not returned after 30.0 s" in finding.sentence
    assert finding.certainty == "likely"


def test_a_quick_callback_is_not_worth_a_word() -> None:
    """Nobody even hears of it before the next heartbeat."""
    member = Recorded.named("quick").owning(0, 1)
    member.told(orders(0))
    returns_after(member, 3.0)
    assert faults([member.section()]) == []


def test_a_handler_that_does_not_poll_is_told_from_a_slow_callback() -> None:
    """The callback itself was quick, but began late; with the record that was in hand."""
    member = Recorded.named("busy").owning(0, 1).polls()
    member.told(orders(0))
    member.note("in hand", records=["orders-1@17 (message in charge)"])
    returns_after(member, 12.0, waited_s=11.5)
    findings = faults([member.section()])
    assert kinds(findings) == {Kind.WAITED_FOR_POLL}
    assert "began 11.5 s later" in findings[0].sentence
    assert any("orders-1@17" in line.text for line in findings[0].evidence)


def test_a_callback_that_outlasts_the_patience_of_the_group_is_why_it_was_thrown_out() -> None:
    """And nobody from outside."""
    member = Recorded.named("slow", **{"max.poll.interval.ms": 30_000}).owning(0, 1)
    member.told(orders(0))
    member.stays_stable(31.0)
    member.advance(5.0)
    member.answer(Heartbeat, Refused(25))
    findings = faults([member.section()])
    assert kinds(findings) == {Kind.WAITED_FOR_CALLBACK}
    assert "the coordinator waited no longer and fenced it" in findings[0].sentence


def test_an_answer_that_begins_with_a_topic_leaves_it_as_it_is() -> None:
    """Topics are case-sensitive: it said "Orders[1] waited"."""
    member = Recorded.named("slow").owning(0, 1).polls()
    member.told(orders(0))
    returns_after(member, 12.0, waited_s=11.0)
    assert answer(faults([member.section()])).startswith("orders[1] waited 11.0 s for slow:7 to poll, from ")


def test_a_callback_of_a_member_that_does_not_poll_waits_for_no_poll() -> None:
    """A busy machine began the callback of a GroupMember late, and its group was said to wait for it to poll."""
    member = Recorded.named("late").owning(0, 1)
    member.told(orders(0))
    returns_after(member, 12.0, waited_s=11.0)
    assert kinds(faults([member.section()])) == {Kind.WAITED_FOR_CALLBACK}


def test_a_callback_that_is_slow_in_each_rebalance_is_one_finding() -> None:
    """Six rebalances were six findings that differed in their times only."""
    member = Recorded.named("slow").owning(0, 1, 2)
    for left, seconds in ((2, 12.0), (1, 20.0)):
        member.told(orders(*range(left)))
        returns_after(member, seconds)
        member.stays_stable(5.0)
    finding = the(Kind.WAITED_FOR_CALLBACK, faults([member.section()]))
    assert finding.sentence == (
        "orders[1] waited for the revoked callback of slow:7, which took 20.0 s on thread g-callbacks. "
        "It was the longest of 2 such waits."
    )
