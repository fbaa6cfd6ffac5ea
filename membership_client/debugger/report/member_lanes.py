"""The lanes of a group's members: which runs share one, and what each shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from membership_client.core.events import RunCallback
from membership_client.debugger.model.calls import CallbackRecord
from membership_client.debugger.model.member_run import MemberRun
from membership_client.debugger.model.outages import Outage, failure_text
from membership_client.debugger.model.silences import Silence
from membership_client.debugger.model.timeline import Group
from membership_client.debugger.report.content import CallSpan, MemberLane, Stretch
from membership_client.debugger.report.marks import marks_of
from membership_client.debugger.report.presence import Presence
from membership_client.debugger.report.states import states_of


def lanes_of(group: Group) -> list[list[MemberRun]]:
    """Runs of one name that followed each other are together: a static member that was restarted stays one lane."""
    lanes: list[list[MemberRun]] = []
    for run in group.runs:
        free = (lane for lane in lanes if lane[0].name == run.name and lane[-1].ended <= run.began)
        lane = next(free, None)
        if lane is None:
            lanes.append([run])
        else:
            lane.append(run)
    return sorted(lanes, key=lambda lane: (lane[0].name, lane[0].began))


def member_lane(runs: Sequence[MemberRun], presences: Mapping[MemberRun, Presence], *, alone: bool) -> MemberLane:
    """`alone`: no other lane has this name."""
    first, ends = runs[0], _ends(runs, presences)
    return MemberLane(
        name=first.name,
        label=first.name if alone else f"{first.name} ({first.host}:{first.pid})",
        group=first.group,
        details=tuple(detail for run in runs for detail in _details(run)),
        states=tuple(span for run, end in zip(runs, ends, strict=True) for span in states_of(run, end)),
        calls=tuple(_call_span(call) for run in runs for call in run.calls),
        stretches=tuple(stretch for run in runs for stretch in stretches_of(run)),
        marks=tuple(mark for run in runs for mark in marks_of(run, vanishes=presences[run].vanished)),
    )


def _ends(runs: Sequence[MemberRun], presences: Mapping[MemberRun, Presence]) -> list[float]:
    """A run is over at the latest when the next one of its lane begins."""
    nexts = [run.began for run in runs[1:]] + [float("inf")]
    return [min(presences[run].until, following) for run, following in zip(runs, nexts, strict=True)]


def _details(run: MemberRun) -> list[tuple[str, str]]:
    named = [("instance id", run.instance_id)] if run.instance_id else []
    return [*named, ("member id", run.member_id), ("where", run.where), ("steps", str(len(run.steps)))]


def _call_span(call: CallbackRecord) -> CallSpan:
    offset_s = call.wanted.time - call.wanted.at
    began = call.wanted.at if call.began_at is None else call.began_at
    return CallSpan(
        wanted=call.wanted.time,
        began=began + offset_s if call.returned else None,
        ended=call.last.time,
        kind=call.kind.value,
        partitions=call.partitions,
        cause=cause_of(call),
        error=call.error,
    )


def cause_of(call: CallbackRecord) -> str:
    return next(str(effect.cause) for effect in call.wanted.effects_of(RunCallback) if effect.call_id == call.call_id)


def stretches_of(run: MemberRun) -> Iterator[Stretch]:
    for silence in run.silences:
        if not silence.awaited:
            yield Stretch(silence.before.time, silence.after.time, "silent", _stood_still(silence))
    for outage in run.outages:
        yield Stretch(outage.first.time, outage.last.time, "unanswered", _unanswered(outage))


def _stood_still(silence: Silence) -> str:
    return (
        f"Its next step came {silence.late_s:.1f} s later than it was due. "
        f"The process used {silence.cpu_s:.1f} s of processor time meanwhile."
    )


def _unanswered(outage: Outage) -> str:
    first, count = failure_text(outage.first) or "", len(outage.failures)
    return first if count == 1 else f"{first}\nand {count - 1} more until a heartbeat was answered"
