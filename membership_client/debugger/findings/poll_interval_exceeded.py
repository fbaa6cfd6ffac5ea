"""POLL_INTERVAL_EXCEEDED: the application did not poll in time, and the member left the group for it."""

from __future__ import annotations

from membership_client.core.events import Budget
from membership_client.debugger.findings.finding import Finding, Kind
from membership_client.debugger.model.member_run import MemberRun
from membership_client.debugger.model.stacks import stacks_between
from membership_client.debugger.model.timeline import Group
from membership_client.debugger.model.trace_entry import TraceEntry
from membership_client.debugger.words import lasting
from membership_client.trace.values import encode
from membership_client.types import MemberState

S = MemberState


def poll_interval_exceeded(group: Group) -> list[Finding]:
    return [_finding(run, step) for run in group.runs for step in run.steps if _is_stale(step)]


def _is_stale(step: TraceEntry) -> bool:
    return step.state is S.STALE and step.state_before is not S.STALE


def _finding(run: MemberRun, step: TraceEntry) -> Finding:
    interval_s = run.poll_interval_s
    told = stacks_between(run, step.at - interval_s - 1.0, step.at, encode(Budget.POLL))
    in_hand = next((line.text.removeprefix("in hand: ") for line in told if line.text.startswith("in hand: ")), "")
    record = f", with {in_hand} in hand" if in_hand else ""
    back = next((later for later in run.steps if later.at > step.at and later.state is not S.STALE), None)
    again = f" It polled again {lasting(back.at - step.at)} later." if back else " It did not poll again in this trace."
    return Finding(
        kind=Kind.POLL_INTERVAL_EXCEEDED,
        group=run.group,
        members=(run.name,),
        partitions=tuple(sorted(step.owned_before)),
        began=step.time - interval_s,
        ended=back.time if back else run.ended,
        sentence=f"{run.name} did not poll for {lasting(interval_s)}{record}, and left the group for it.{again}",
        evidence=(*told, run.evidence(step, f"left: the poll interval of {lasting(interval_s)} was exceeded")),
        advice="Wrap long work in consumer.hold(), hand it to another thread, or raise max.poll.interval.ms.",
    )
