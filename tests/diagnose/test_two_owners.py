"""TWO_OWNERS: a member that went on with partitions which the group had given to another one, and why it did."""

from __future__ import annotations

from membership_client.core.events import Heartbeat, Refused, Tick
from membership_client.debugger.findings.finding import Finding, Kind
from tests.diagnose.traces import Recorded, faults, the


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
