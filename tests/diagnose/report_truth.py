"""The lanes of a report, and the totals of `diagnose`, held against the traces."""

from __future__ import annotations

from collections.abc import Iterable

from membership_client.debugger.model.unowned import UnownedTotal
from membership_client.debugger.report.content import PartitionLane, ReportContent
from tests.diagnose.truth import Tenure, Truth, shared, unowned


def report_complaints(truth: Truth, content: ReportContent) -> list[str]:
    """What the lanes of partitions show and the traces do not."""
    return [
        f"{lane.partition}: {text}"
        for lane in content.partitions
        for text in _lane(truth, content, lane, truth.tenures((lane.partition.topic, lane.partition.partition)))
    ]


def _lane(truth: Truth, content: ReportContent, lane: PartitionLane, tenures: list[Tenure]) -> Iterable[str]:
    shown = sorted((round(span.began, 4), content.members[span.owner].name) for span in lane.owned)
    if shown != sorted((round(tenure.began.time, 4), tenure.life.name) for tenure in tenures):
        yield f"the owners shown are {shown}"
    for tenure in (tenure for tenure in tenures if not tenure.is_open):
        if not any(abs(span.ended - tenure.ended.time) < 1e-4 for span in lane.owned):
            yield f"{tenure.life.name} owned it until {tenure.ended.time}"
    for gap in lane.gaps:
        for tenure in tenures:
            if tenure.began.time < gap.ended - 1e-4 and tenure.ended.time > gap.began + 1e-4:
                yield f"{tenure.life.name} owned it while no owner is shown, at {gap.began}"
    true = [(began, ended) for began, ended, one, _ in shared(truth) if one.place == tenures[0].place]
    for overlap in lane.overlaps:
        if overlap.sure != any(
            began - 1e-4 <= overlap.began and overlap.ended <= ended + 1e-4 for began, ended in true
        ):
            yield f"two owners at {overlap.began}: {overlap.sure}"


def total_complaints(truth: Truth, totals: Iterable[UnownedTotal]) -> list[str]:
    """What the list of times without an owner says and the traces do not."""
    times = unowned(truth)
    return [
        f"{total.partition} had no owner for {total.total_s:.3f} s, {total.times} times"
        for total in totals
        if not _adds_up(total, [gap[1] - gap[0] for gap in times[total.partition.topic, total.partition.partition]])
    ]


def _adds_up(total: UnownedTotal, gaps: list[float]) -> bool:
    """All times between two owners; and the one after the last, if that owner was lost."""
    found = gaps if total.times == len(gaps) else gaps[:-1]
    return (
        total.times == len(found)
        and abs(total.total_s - sum(found)) < 1e-4
        and abs(total.longest_s - max(found)) < 1e-4
    )
