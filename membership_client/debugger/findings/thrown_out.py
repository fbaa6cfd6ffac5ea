"""REMOVED_FROM_OUTSIDE and THROWN_OUT: the group let a member go, and nothing in its own trace explains it.

A broker's log tells who asked for it, or why; without one it is known only whether the member was on time.
"""

from __future__ import annotations

from collections.abc import Iterator

from membership_client.debugger.findings.finding import Certainty, Evidence, Finding, Kind
from membership_client.debugger.model.broker_log import Dismissal, How
from membership_client.debugger.model.fences import Fence, Why
from membership_client.debugger.model.member_history import Life
from membership_client.debugger.model.timeline import Group
from membership_client.debugger.words import lasting


def thrown_out(group: Group) -> list[Finding]:
    return [_finding(life, fence) for life in group.lives for fence in life.fences if fence.why in _UNEXPLAINED]


_UNEXPLAINED = frozenset({Why.OUTSIDE, Why.UNKNOWN})


def _finding(life: Life, fence: Fence) -> Finding:
    line = fence.line
    return Finding(
        kind=Kind.REMOVED_FROM_OUTSIDE if fence.why is Why.OUTSIDE else Kind.THROWN_OUT,
        group=life.group,
        members=(life.name,),
        partitions=tuple(sorted(fence.moment.owned_before)),
        began=fence.moment.time,
        ended=fence.moment.time,
        sentence=_guess(life, fence) if line is None else _told(life, line),
        evidence=tuple(_evidence(life, fence, line)),
        advice=_advice(line),
        certainty=_certainty(fence, line),
    )


def _told(life: Life, line: Dismissal) -> str:
    if line.how is How.REMOVED:
        return (
            f"{life.name} was removed by somebody else, with a LeaveGroup request; the reason given is: {line.reason}"
        )
    return f"{life.name} was thrown out by the coordinator, because {line.reason}; why it came to that its trace does not show."


def _guess(life: Life, fence: Fence) -> str:
    if fence.why is Why.UNKNOWN or fence.confirmed is None:
        return (
            f"{life.name} was thrown out ({fence.said}). Its trace shows no standstill, outage or callback that explains it, "
            "so what made the coordinator do so is unknown."
        )
    ago = lasting(fence.moment.at - fence.confirmed.at)
    return (
        f"{life.name} was thrown out although it was on time: the coordinator had counted on it {ago} before. "
        "Somebody removed it, or the coordinator forgot it; who and why is unknown to the client."
    )


def _evidence(life: Life, fence: Fence, line: Dismissal | None) -> Iterator[Evidence]:
    if fence.confirmed is not None:
        yield life.evidence(fence.confirmed, "the coordinator counts on it")
    if line is not None:
        # Beside the member's lines; the broker's clock is another, so its own date stays in the text.
        yield Evidence(line.path, line.line, fence.moment.time, life.name, f"the coordinator wrote: {line.text}")
    yield life.evidence(fence.moment, fence.said)


def _advice(line: Dismissal | None) -> str:
    if line is None:
        return "The reason is in the log of the coordinator only: give its server.log of that time with --broker-log."
    if line.how is How.REMOVED:
        return "Ask who removes members of this group; the member joins again by itself."
    return "Look at what the machine and the network of the member did just before; a longer session tolerates more."


def _certainty(fence: Fence, line: Dismissal | None) -> Certainty:
    if line is not None:
        return "likely" if line.time is None else "certain"
    return "likely" if fence.why is Why.OUTSIDE else "unknown"
