"""CALLBACK_FAILED."""

from __future__ import annotations

from membership_client.debugger.findings.finding import Kind
from tests.core.play import orders
from tests.diagnose.traces import Recorded, faults

ERROR = 'Traceback (most recent call last):\n  File "/app/shop.py", line 12, in load\n    x\nValueError: 4111'


def test_a_callback_that_raises_is_told_with_its_place() -> None:
    """Once, however often it was tried."""
    member = Recorded.named("a")
    member.stable(0)
    member.told(orders(0, 1))
    member.returns(ERROR)
    member.advance(3.0)
    member.returns(ERROR)
    (finding,) = faults([member.section()])
    assert finding.kind is Kind.CALLBACK_FAILED
    assert finding.sentence == "The assigned callback of a:7 raised 2 times: ValueError at load (shop.py:12)."
    assert [str(partition) for partition in finding.partitions] == ["orders-1"]
    assert len(finding.evidence) == 2
