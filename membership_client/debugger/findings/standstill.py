"""PROCESS_STOPPED and INTERPRETER_BLOCKED: a member that did nothing when it should have, told apart by the processor."""

from __future__ import annotations

from membership_client.debugger.findings.finding import Certainty, Evidence, Finding, Kind
from membership_client.debugger.model.fences import Fence, Why
from membership_client.debugger.model.gaps import Gap
from membership_client.debugger.model.history_step import Moment
from membership_client.debugger.model.member_history import Life
from membership_client.debugger.model.timeline import Group
from membership_client.debugger.words import lasting, partitions_text
from membership_client.types import MemberState

_LONG_S = 5.0
_LONG_INTERVALS = 3
"""So many intervals without a heartbeat are worth a line also where the session survived them."""
_IDLE, _BUSY = 0.1, 0.5
"""Of one processor: below it stood still, above it worked, in between one cannot be sure."""


def standstill(group: Group) -> list[Finding]:
    return [_finding(group, life, gap) for life in group.lives for gap in life.gaps if _matters(life, gap)]


def _matters(life: Life, gap: Gap) -> bool:
    # Without a fence, a clock that jumped was only set.
    long = gap.late_s - gap.slept_s >= max(_LONG_S, _LONG_INTERVALS * life.interval_s)
    shown = not gap.awaited and (long or gap.after.state is MemberState.STALE)
    return shown or _fence(life, gap) is not None


def _fence(life: Life, gap: Gap) -> Fence | None:
    found = (fence for fence in life.fences if fence.why is Why.STILL and fence.gap is not None)
    return next((fence for fence in found if fence.gap is not None and fence.gap.before is gap.before), None)


def _finding(group: Group, life: Life, gap: Gap) -> Finding:
    notes = _notes_meanwhile(group, life, gap)
    blocked, certainty = _verdict(gap, worked=bool(notes))
    fence = _fence(life, gap)
    outcome = "its session ended meanwhile, and the group threw it out" if fence else "its session survived"
    used = f"its process used {lasting(gap.cpu_s)} of processor time"
    what = "no other thread could run" if blocked else _stood_still(gap)
    if gap.awaited:
        what += "; or the answer came late, which looks the same here"
    owned = f" It owned {partitions_text(gap.before.owned)} all the time." if gap.before.owned else ""
    return Finding(
        kind=Kind.INTERPRETER_BLOCKED if blocked else Kind.PROCESS_STOPPED,
        group=life.group,
        members=(life.name,),
        partitions=tuple(sorted(gap.before.owned)),
        began=gap.before.time,
        ended=gap.after.time,
        sentence=f"{life.name} {_did(gap)}, while {used}: {what}; {outcome}.{owned}",
        evidence=(*_evidence(life, gap), *notes, *_thrown_out(life, fence)),
        advice=(_BLOCKED if blocked else _STOPPED) + (_OR_LATE if gap.awaited else ""),
        certainty=certainty,
    )


def _did(gap: Gap) -> str:
    if gap.awaited:
        return f"read the answer to a heartbeat {lasting(gap.lasted_s)} after it was sent"
    return f"did nothing for {lasting(gap.lasted_s)}"


def _stood_still(gap: Gap) -> str:
    if gap.slept_s > gap.lasted_s / 2:
        return "its own clock stood still too, so the whole machine slept"
    return "the process stood still or got no processor"


def _verdict(gap: Gap, *, worked: bool) -> tuple[bool, Certainty]:
    """Was the interpreter blocked, or else the process stopped?"""
    least, most = gap.cpu_shares
    if worked or least >= _BUSY:
        return True, "certain" if least >= _BUSY and not gap.awaited else "likely"
    if most <= _IDLE:
        return False, "unknown" if gap.awaited else "certain"
    return (least + most) / 2 > _IDLE, "likely"


def _notes_meanwhile(group: Group, life: Life, gap: Gap) -> list[Evidence]:
    """What other threads of the process wrote down: one that is stopped writes nothing. They share one clock."""
    process = [other for other in group.lives if (other.host, other.pid) == (life.host, life.pid)]
    return [
        other.evidence(note, f"another thread noted: {note.note}")
        for other in process
        for note in other.notes
        if _is_inside(gap, note)
    ][:3]


def _is_inside(gap: Gap, note: Moment) -> bool:
    margin_s = gap.lasted_s / 10
    return gap.before.at + margin_s < note.at < gap.after.at - margin_s


def _evidence(life: Life, gap: Gap) -> tuple[Evidence, ...]:
    return (
        life.evidence(gap.before, "the last step before"),
        life.evidence(gap.after, f"the first step after, {lasting(gap.late_s)} late"),
    )


def _thrown_out(life: Life, fence: Fence | None) -> tuple[Evidence, ...]:
    return (life.evidence(fence.moment, fence.said),) if fence else ()


_STOPPED = (
    "Look for who stopped it: SIGSTOP, a frozen container, a suspended or overloaded machine, a debugger, swapping."
)
_OR_LATE = " Look at the network between it and the coordinator at that time, too, and at the broker."
_BLOCKED = (
    "Find the call that holds the interpreter lock (an extension in C, a huge regular expression, sorting or parsing at "
    "once) and give it pauses or a process of its own."
)
