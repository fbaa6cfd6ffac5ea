"""When a member was alone: it stood still, or it asked and nobody answered."""

from __future__ import annotations

from collections.abc import Iterator

from membership_client.debugger.model.gaps import Gap
from membership_client.debugger.model.member_history import Life
from membership_client.debugger.model.outages import Outage, failure_text
from membership_client.debugger.report.scene import Stretch


def stretches_of(life: Life) -> Iterator[Stretch]:
    for gap in life.gaps:
        if not gap.awaited:
            yield Stretch(gap.before.time, gap.after.time, "silent", _stood_still(gap))
    for outage in life.outages:
        yield Stretch(outage.first.time, outage.last.time, "unanswered", _unanswered(outage))


def _stood_still(gap: Gap) -> str:
    return (
        f"Its next step came {gap.late_s:.1f} s later than it was due. "
        f"The process used {gap.cpu_s:.1f} s of processor time meanwhile."
    )


def _unanswered(outage: Outage) -> str:
    first, count = failure_text(outage.first) or "", len(outage.failures)
    return first if count == 1 else f"{first}\nand {count - 1} more until a heartbeat was answered"
