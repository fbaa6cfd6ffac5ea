"""TOPIC_MISSING: a subscribed topic that does not exist. A coordinator takes any name, and says nothing about it."""

from __future__ import annotations

from membership_client.core.events import Answered, TopicsDescribed
from membership_client.debugger.findings.finding import Finding, Kind
from membership_client.debugger.model.member_run import MemberRun
from membership_client.debugger.model.timeline import Group
from membership_client.debugger.model.trace_entry import TraceEntry
from membership_client.debugger.words import lasting, listed, second


def topic_missing(group: Group) -> list[Finding]:
    return [_finding(run, topic, steps) for run in group.runs for topic, steps in _missing(run).items()]


def _missing(run: MemberRun) -> dict[str, list[TraceEntry]]:
    """The answers of brokers that do not know a topic, by topic."""
    found: dict[str, list[TraceEntry]] = {}
    for step in run.steps:
        for topic in sorted(_unknown(step)):
            found.setdefault(topic, []).append(step)
    return found


def _unknown(step: TraceEntry) -> frozenset[str]:
    event = step.event
    described = isinstance(event, Answered) and isinstance(event.response, TopicsDescribed)
    return event.response.unknown if described else frozenset()  # type: ignore[union-attr]


def _finding(run: MemberRun, topic: str, steps: list[TraceEntry]) -> Finding:
    first, last = steps[0], steps[-1]
    seen = f", seen for {lasting(last.at - first.at)}" if last is not first else ""
    return Finding(
        kind=Kind.TOPIC_MISSING,
        group=run.group,
        members=(run.name,),
        began=first.time,
        ended=last.time,
        brief=f"topic {topic}, which {run.name} subscribes to, does not exist at {second(first.time)}",
        sentence=f"{run.name} subscribes to topic {topic}, which does not exist{seen}.",
        evidence=tuple(
            run.evidence(step, f"the broker does not know {listed(sorted(_unknown(step)))}") for step in steps[:2]
        ),
        advice="Correct the name, or create the topic: members notice it within some seconds.",
    )
