"""A scene as the JSON that the page reads: times from its beginning, repeated texts by number, so that it stays small."""

from __future__ import annotations

from typing import get_args

from membership_client.debugger.findings.finding import Finding, Kind
from membership_client.debugger.report.colours import colours_of
from membership_client.debugger.report.scene import CallSpan, MarkKind, MemberLane, PartitionLane, Scene
from membership_client.debugger.words import partitions_text
from membership_client.trace.values import Json
from membership_client.types import MemberState

_MARKS: tuple[str, ...] = get_args(MarkKind)
_STATES = [state.name for state in MemberState]


def page_data(scene: Scene) -> Json:
    return _Writer(scene).write()


def title_of(scene: Scene) -> str:
    return f"Group {', '.join(scene.groups)}" if scene.groups else "No group"


class _Writer:
    """Used once, by `page_data`."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._strings: dict[str, int] = {}
        self._colours = colours_of(lane.name for lane in scene.members)

    def write(self) -> Json:
        return {
            "title": title_of(self._scene),
            "began": self._scene.began,
            "span": max(self._scene.ended - self._scene.began, 0.001),
            "states": _STATES,
            "marks": _MARKS,
            "members": [self._member(lane) for lane in self._scene.members],
            "partitions": [self._partition(lane) for lane in self._scene.partitions],
            "findings": [self._finding(finding) for finding in self._scene.findings],
            "strings": list(self._strings),
        }

    def _at(self, time: float) -> float:
        return round(time - self._scene.began, 6)

    def _text(self, text: str | None) -> int | None:
        return self._strings.setdefault(text, len(self._strings)) if text else None

    def _member(self, lane: MemberLane) -> Json:
        colour, texture = self._colours[lane.name]
        return {
            "name": lane.label,
            "group": lane.group,
            "colour": colour,
            "texture": texture,
            "details": lane.details,
            "states": [
                [self._at(span.began), self._at(span.ended), _STATES.index(span.state.name), self._text(span.reason)]
                for span in lane.states
            ],
            "calls": [self._call(call) for call in lane.calls],
            "stretches": [[self._at(s.began), self._at(s.ended), s.kind, self._text(s.detail)] for s in lane.stretches],
            "marks": [
                [self._at(mark.at), _MARKS.index(mark.kind), self._text(mark.headline), self._text(mark.detail)]
                for mark in lane.marks
            ],
        }

    def _call(self, call: CallSpan) -> Json:
        began = None if call.began is None else self._at(call.began)
        partitions = partitions_text(call.partitions) if call.partitions else None
        told = [self._text(text) for text in (call.kind, partitions, call.cause, call.error)]
        return [self._at(call.wanted), began, self._at(call.ended), len(call.partitions), *told]

    def _partition(self, lane: PartitionLane) -> Json:
        return {
            "topic": lane.partition.topic,
            "number": lane.partition.partition,
            "group": lane.group,
            "owned": [
                [self._at(o.began), self._at(o.ended), o.owner, o.epoch, self._text(o.reason), self._text(o.ending)]
                for o in lane.owned
            ],
            "gaps": [[self._at(gap.began), self._at(gap.ended), self._text(gap.reason)] for gap in lane.gaps],
            "overlaps": [[self._at(o.began), self._at(o.ended), o.owners, o.sure] for o in lane.overlaps],
        }

    def _finding(self, finding: Finding) -> Json:
        partitions = frozenset(finding.partitions)
        return {
            "kind": finding.kind.value,
            "severity": _severity(finding.kind),
            "certainty": finding.certainty,
            "sentence": finding.sentence,
            "advice": finding.advice,
            "evidence": [f"{e.path.name}:{e.line}  {e.member}: {e.text}" for e in finding.evidence],
            "start": self._at(finding.began),
            "end": self._at(finding.ended),
            "members": [i for i, lane in enumerate(self._scene.members) if _is_about(finding, lane)],
            "partitions": [
                i
                for i, lane in enumerate(self._scene.partitions)
                if lane.group == finding.group and lane.partition in partitions
            ],
        }


def _is_about(finding: Finding, lane: MemberLane) -> bool:
    return lane.group == finding.group and lane.name in finding.members


def _severity(kind: Kind) -> str:
    if not kind.is_fault:
        return "info"
    return "error" if kind.weight <= Kind.CALLBACK_FAILED.weight else "warning"
