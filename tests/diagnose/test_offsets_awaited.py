"""WAITED_FOR_OFFSETS."""

from __future__ import annotations

from membership_client.core.events import CallbackDelayed
from membership_client.debugger.findings.finding import Kind
from tests.core.play import orders
from tests.diagnose.traces import Recorded, faults, kinds, the

WHY = "the committed offsets of 1 partition of orders (UNSTABLE_OFFSET_COMMIT for orders-1)"


def delayed() -> Recorded:
    """A member whose assigned callback has waited for twelve seconds."""
    member = Recorded.named("late").owning(0)
    member.told(orders(0, 1))
    since = member.now
    member.stays_stable(12.0)
    assert member.member.call is not None
    member.do(CallbackDelayed(member.member.call.call_id, since, WHY))
    return member


def test_partitions_that_waited_for_their_offsets() -> None:
    """The bug: the trace told of a handler that did not poll, or of nothing."""
    member = delayed()
    member.stays_stable(3.0)
    member.returns()
    findings = faults([member.section()])
    assert kinds(findings) == {Kind.WAITED_FOR_OFFSETS}
    finding = the(Kind.WAITED_FOR_OFFSETS, findings)
    assert finding.sentence == f"The records of orders[1] waited 15.0 s because late:7 waited for {WHY}."
    assert len(finding.evidence) == 2


def test_one_that_still_waits_is_told_too() -> None:
    """As long as the trace goes."""
    sentence = the(Kind.WAITED_FOR_OFFSETS, faults([delayed().section()])).sentence
    assert "still waited after 12.0 s, when the trace ends," in sentence
