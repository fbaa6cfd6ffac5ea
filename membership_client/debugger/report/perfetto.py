"""A report as Chrome's trace events, which ui.perfetto.dev and chrome://tracing open.

A member is a process; its states, its callbacks and each partition it owned are threads. What lies on one thread is
nested or apart, never interleaved, because that is all the format can say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from membership_client.cli.terminal_text import json_text
from membership_client.debugger.report.content import CallSpan, Mark, MemberLane, PartitionLane, ReportContent
from membership_client.trace.values import Json

_STATES, _CALLBACKS, _FIRST_PARTITION = 1, 2, 10
_ALONE = {"silent": 3, "unanswered": 4}


def perfetto(content: ReportContent) -> str:
    return json_text({"displayTimeUnit": "ms", "traceEvents": list(_events(content))})


def _events(content: ReportContent) -> Iterator[Json]:
    for number, member in enumerate(content.members):
        yield from _member(number + 1, member, content.groups)
    yield from _owned(content.partitions)
    for number, group in enumerate(content.groups, len(content.members) + 1):
        yield from _trouble(number, group, [lane for lane in content.partitions if lane.group == group], content)


def _member(pid: int, lane: MemberLane, groups: tuple[str, ...]) -> Iterator[Json]:
    yield _named(pid, None, lane.label if len(groups) == 1 else f"{lane.label} of {lane.group}")
    yield {"ph": "M", "name": "process_sort_index", "pid": pid, "tid": 0, "args": {"sort_index": pid}}
    yield _named(pid, _STATES, "state")
    yield _named(pid, _CALLBACKS, "callbacks")
    for span in lane.states:
        yield _span(pid, _STATES, span.state.name, span.began, span.ended, reason=span.reason)
    for call in lane.calls:
        yield from _call(pid, call)
    for stretch in lane.stretches:
        thread = _ALONE[stretch.kind]
        yield _named(pid, thread, stretch.kind)
        yield _span(pid, thread, stretch.kind, stretch.began, stretch.ended, detail=stretch.detail)
    for mark in lane.marks:
        yield _instant(pid, mark)


def _call(pid: int, call: CallSpan) -> Iterator[Json]:
    partitions = [str(partition) for partition in call.partitions]
    told = {"cause": call.cause, "error": call.error, "partitions": partitions}
    yield _span(pid, _CALLBACKS, f"on_{call.kind}", call.wanted, call.ended, **told)
    if call.began is not None and call.began > call.wanted:
        yield _span(pid, _CALLBACKS, "waits for a poll", call.wanted, call.began)
        yield _span(pid, _CALLBACKS, "runs", call.began, call.ended)


def _owned(lanes: Iterable[PartitionLane]) -> Iterator[Json]:
    for tid, lane in enumerate(lanes, _FIRST_PARTITION):
        for pid in sorted({owned.owner + 1 for owned in lane.owned}):
            yield _named(pid, tid, str(lane.partition))
        for owned in lane.owned:
            told = {"epoch": owned.epoch, "reason": owned.reason, "ending": owned.ending}
            yield _span(owned.owner + 1, tid, str(lane.partition), owned.began, owned.ended, **told)


def _trouble(pid: int, group: str, lanes: Iterable[PartitionLane], content: ReportContent) -> Iterator[Json]:
    """A process for what no member has: times without an owner, and with two."""
    yield _named(pid, None, f"group {group}: no owner, two owners")
    for tid, lane in enumerate(lanes, _FIRST_PARTITION):
        if lane.gaps or lane.overlaps:
            yield _named(pid, tid, str(lane.partition))
        for gap in lane.gaps:
            yield _span(pid, tid, "no owner", gap.began, gap.ended, reason=gap.reason)
        for overlap in lane.overlaps:
            owners = [content.members[owner].label for owner in overlap.owners]
            name = f"{len(owners)} owners" if overlap.sure else f"{len(owners)} owners, or clocks that differ"
            yield _span(pid, tid, name, overlap.began, overlap.ended, owners=owners)


# --- single events ---------------------------------------------------------------------------------------------------


def _micros(time: float) -> int:
    """Whole ones: then spans that touch still touch after rounding."""
    return round(time * 1e6)


def _span(pid: int, tid: int, name: str, began: float, ended: float, **args: Json) -> Json:
    at, until = _micros(began), _micros(ended)
    return {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": at, "dur": until - at, "args": args}


def _instant(pid: int, mark: Mark) -> Json:
    told = {"kind": mark.kind, "detail": mark.detail}
    return {
        "ph": "i",
        "s": "t",
        "name": mark.headline,
        "pid": pid,
        "tid": _STATES,
        "ts": _micros(mark.at),
        "args": told,
    }


def _named(pid: int, tid: int | None, name: str) -> Json:
    kind = "process_name" if tid is None else "thread_name"
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid or 0, "args": {"name": name}}
