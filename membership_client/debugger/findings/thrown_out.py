"""REMOVED_FROM_OUTSIDE and THROWN_OUT: a member was fenced, and nothing in its own trace explains it.

A broker's log tells who asked for it, or why; without one it is known only whether the member was on time.
"""

from __future__ import annotations

from collections.abc import Iterator

from membership_client.debugger.findings.finding import Certainty, Evidence, Finding, Kind
from membership_client.debugger.model.broker_log import RemovalKind, RemovalLine
from membership_client.debugger.model.fences import Fence, FenceCause
from membership_client.debugger.model.member_run import MemberRun
from membership_client.debugger.model.timeline import Group
from membership_client.debugger.words import lasting


def thrown_out(group: Group) -> list[Finding]:
    return [_finding(run, fence) for run in group.runs for fence in run.fences if fence.why in _UNEXPLAINED]


_UNEXPLAINED = frozenset({FenceCause.OUTSIDE, FenceCause.UNKNOWN})


def _finding(run: MemberRun, fence: Fence) -> Finding:
    line = fence.line
    return Finding(
        kind=Kind.REMOVED_FROM_OUTSIDE if fence.why is FenceCause.OUTSIDE else Kind.THROWN_OUT,
        group=run.group,
        members=(run.name,),
        partitions=tuple(sorted(fence.entry.owned_before)),
        began=fence.entry.time,
        ended=fence.entry.time,
        sentence=_guess(run, fence) if line is None else _told(run, line),
        evidence=tuple(_evidence(run, fence, line)),
        advice=_advice(line),
        certainty=_certainty(fence, line),
    )


def _told(run: MemberRun, line: RemovalLine) -> str:
    if line.how is RemovalKind.REMOVED:
        return (
            f"{run.name} was removed by another client, with a LeaveGroup request; the reason given is: {line.reason}"
        )
    return (
        f"{run.name} was fenced by the coordinator, because {line.reason}. Its trace does not show the cause of that."
    )


def _guess(run: MemberRun, fence: Fence) -> str:
    if fence.why is FenceCause.UNKNOWN or fence.confirmed is None:
        return (
            f"{run.name} was fenced ({fence.said}). Its trace shows no standstill, outage or callback that explains it, "
            "so what made the coordinator do so is unknown."
        )
    ago = lasting(fence.entry.at - fence.confirmed.at)
    return (
        f"{run.name} was fenced although it was on time: the coordinator had confirmed it {ago} before. "
        "Another client removed it, or the coordinator lost it: which of them is unknown to the client."
    )


def _evidence(run: MemberRun, fence: Fence, line: RemovalLine | None) -> Iterator[Evidence]:
    if fence.confirmed is not None:
        yield run.evidence(fence.confirmed, "the coordinator confirms it")
    if line is not None:
        # Beside the member's lines; the broker's clock is another, so its own date stays in the text.
        yield Evidence(line.path, line.line, fence.entry.time, run.name, f"the coordinator wrote: {line.text}")
    yield run.evidence(fence.entry, fence.said)


def _advice(line: RemovalLine | None) -> str:
    if line is None:
        return "The reason is in the log of the coordinator only: give its server.log of that time with --broker-log."
    if line.how is RemovalKind.REMOVED:
        return "Find the client that removes members of this group. The member joins again by itself."
    return "Look at what the machine and the network of the member did just before; a longer session tolerates more."


def _certainty(fence: Fence, line: RemovalLine | None) -> Certainty:
    if line is not None:
        return "likely" if line.time is None else "certain"
    return "likely" if fence.why is FenceCause.OUTSIDE else "unknown"
