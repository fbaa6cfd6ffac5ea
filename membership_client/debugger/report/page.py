"""A report as one HTML file that loads nothing else: style, program and data are inside."""

from __future__ import annotations

import base64
import hashlib
import html
import re
import zlib
from collections.abc import Iterable
from importlib.resources import files
from typing import get_args

from membership_client.cli.terminal_text import json_text
from membership_client.debugger.findings.finding import Finding, Kind, answer
from membership_client.debugger.model.untraced_members import UNTRACED
from membership_client.debugger.report.content import CallSpan, MarkKind, MemberLane, PartitionLane, ReportContent
from membership_client.debugger.words import partitions_text
from membership_client.trace.values import Json
from membership_client.types import MemberState

SCRIPTS = (
    "time", "model", "viewport", "lanes", "theme", "glyphs", "places", "pen", "member_row", "partition_row", "draw",
    "axis", "minimap", "tip", "findings", "legend", "input", "page", "main",
)  # fmt: skip
"""In this order: each uses the ones before it."""


def render(content: ReportContent) -> str:
    """Nothing out of a trace is markup in it: texts are data, which the program inserts as text."""
    style = _asset("page.css")
    script = "\n".join(['(() => {\n"use strict";', *(_asset(f"{name}.js") for name in SCRIPTS), "})();"])
    parts = {
        "policy": html.escape(_policy(style, script)),
        "title": html.escape(title_of(content)),
        "style": style,
        "script": script,
        "data": _inert(page_data(content)),
    }
    page = _asset("page.html")
    pieces = page.split("{{")
    return pieces[0] + "".join(parts[name] + rest for name, _, rest in (piece.partition("}}") for piece in pieces[1:]))


def _policy(style: str, script: str) -> str:
    """Only this very style and this very program, by their hashes; no network at all."""
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _inert(data: Json) -> str:
    """JSON in which no tag can begin or end."""
    return json_text(data).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _asset(name: str) -> str:
    return (files("membership_client.debugger.report") / "assets" / name).read_text(encoding="utf-8")


# --- the data, as the program of the page reads it -------------------------------------------------------------------


_MARKS: tuple[str, ...] = get_args(MarkKind)
_STATES = [state.name for state in MemberState]


def page_data(content: ReportContent) -> Json:
    return _Writer(content).write()


def title_of(content: ReportContent) -> str:
    return f"Group {', '.join(content.groups)}" if content.groups else "No group"


def answers_of(content: ReportContent) -> str:
    """The first line of `diagnose`, of each group."""
    told = {group: answer(one for one in content.findings if one.group == group) for group in content.groups}
    text = " ".join(f"{group}: {text}" if len(told) > 1 else text for group, text in told.items())
    # All other times on the page are those of its reader's zone.
    zone = " Times in this line are UTC." if re.search(r"\d\d:\d\d:\d\d", text) else ""
    return f"{text}{zone}{f' {UNTRACED}' if content.untraced else ''}"


class _Writer:
    """Used once, by `page_data`."""

    def __init__(self, content: ReportContent) -> None:
        self._content = content
        self._strings: dict[str, int] = {}
        self._colours = colours_of(lane.name for lane in content.members)

    def write(self) -> Json:
        return {
            "title": title_of(self._content),
            "answer": answers_of(self._content),
            "began": self._content.began,
            "span": max(self._content.ended - self._content.began, 0.001),
            "states": _STATES,
            "marks": _MARKS,
            "memberCount": self._content.member_count,
            "members": [self._member(lane) for lane in self._content.members],
            "partitions": [self._partition(lane) for lane in self._content.partitions],
            "findings": [self._finding(finding) for finding in self._content.findings],
            "strings": list(self._strings),
        }

    def _at(self, time: float) -> float:
        return round(time - self._content.began, 6)

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
            "members": [i for i, lane in enumerate(self._content.members) if _is_about(finding, lane)],
            "partitions": [
                i
                for i, lane in enumerate(self._content.partitions)
                if lane.group == finding.group and lane.partition in partitions
            ],
        }


def _is_about(finding: Finding, lane: MemberLane) -> bool:
    return lane.group == finding.group and lane.name in finding.members


def _severity(kind: Kind) -> str:
    if not kind.is_fault:
        return "info"
    return "error" if kind.weight <= Kind.CALLBACK_FAILED.weight else "warning"


# --- colours ---------------------------------------------------------------------------------------------------------


COLOURS = 10
TEXTURES = 5


def colours_of(names: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Colour and texture by name. A name decides its colour, unless it is taken; textures come once colours run out."""
    chosen: dict[str, tuple[int, int]] = {}
    taken = [0] * COLOURS
    for name in sorted(set(names)):
        wanted = zlib.crc32(name.encode(errors="replace")) % COLOURS
        colour = min(range(COLOURS), key=lambda one: (taken[one], (one - wanted) % COLOURS))
        chosen[name] = colour, taken[colour] % TEXTURES
        taken[colour] += 1
    return chosen
