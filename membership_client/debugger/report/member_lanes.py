"""The lanes of a group's members: which runs share one, and what each shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from membership_client.core.events import RunCallback
from membership_client.debugger.model.calls import Call
from membership_client.debugger.model.member_history import Life
from membership_client.debugger.model.timeline import Group
from membership_client.debugger.report.marks import marks_of
from membership_client.debugger.report.presence import Presence
from membership_client.debugger.report.scene import CallSpan, MemberLane
from membership_client.debugger.report.states import states_of
from membership_client.debugger.report.stretches import stretches_of


def lanes_of(group: Group) -> list[list[Life]]:
    """Runs of one name that followed each other are together: a static member that was restarted stays one lane."""
    lanes: list[list[Life]] = []
    for life in group.lives:
        free = (lane for lane in lanes if lane[0].name == life.name and lane[-1].ended <= life.began)
        lane = next(free, None)
        if lane is None:
            lanes.append([life])
        else:
            lane.append(life)
    return sorted(lanes, key=lambda lane: (lane[0].name, lane[0].began))


def member_lane(lives: Sequence[Life], presences: Mapping[Life, Presence], *, alone: bool) -> MemberLane:
    """`alone`: no other lane has this name."""
    first, ends = lives[0], _ends(lives, presences)
    return MemberLane(
        name=first.name,
        label=first.name if alone else f"{first.name} ({first.host}:{first.pid})",
        group=first.group,
        details=tuple(detail for life in lives for detail in _details(life)),
        states=tuple(span for life, end in zip(lives, ends, strict=True) for span in states_of(life, end)),
        calls=tuple(_call_span(call) for life in lives for call in life.calls),
        stretches=tuple(stretch for life in lives for stretch in stretches_of(life)),
        marks=tuple(mark for life in lives for mark in marks_of(life, vanishes=presences[life].vanished)),
    )


def _ends(lives: Sequence[Life], presences: Mapping[Life, Presence]) -> list[float]:
    """A run is over at the latest when the next one of its lane begins."""
    nexts = [life.began for life in lives[1:]] + [float("inf")]
    return [min(presences[life].until, following) for life, following in zip(lives, nexts, strict=True)]


def _details(life: Life) -> list[tuple[str, str]]:
    named = [("instance id", life.instance_id)] if life.instance_id else []
    return [*named, ("member id", life.member_id), ("where", life.where), ("steps", str(len(life.steps)))]


def _call_span(call: Call) -> CallSpan:
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


def cause_of(call: Call) -> str:
    return next(str(run.cause) for run in call.wanted.effects_of(RunCallback) if run.call_id == call.call_id)
