"""KILLED, PROCESS_STOPPED and INTERPRETER_BLOCKED: a process ended, stood still, or ran one thread only."""

from __future__ import annotations

from collections.abc import Iterator

from membership_client.debugger.findings.finding import Certainty, Evidence, Finding, Kind
from membership_client.debugger.model.fences import Fence, FenceCause
from membership_client.debugger.model.member_run import MemberRun
from membership_client.debugger.model.shared_partitions import SharedPeriod, shared_periods_of
from membership_client.debugger.model.silences import Silence
from membership_client.debugger.model.timeline import Group, ended_without_close, evidence_of_death
from membership_client.debugger.model.trace_entry import TraceEntry
from membership_client.debugger.words import lasting, partitions_text, second
from membership_client.types import MemberState

# --- KILLED ----------------------------------------------------------------------------------------------------------


def killed(group: Group) -> list[Finding]:
    return [_killed_finding(group, run) for run in group.runs if ended_without_close(group, run)]


def _killed_finding(group: Group, run: MemberRun) -> Finding:
    last, proof = run.entries[-1], evidence_of_death(group, run)
    owned = f" It owned {partitions_text(last.owned)}." if last.owned else ""
    torn = ", torn in the middle" if run.torn else ""
    return Finding(
        kind=Kind.KILLED,
        group=run.group,
        members=(run.name,),
        partitions=tuple(sorted(last.owned)),
        began=last.time,
        ended=last.time,
        brief=f"{run.name} ended without leaving after {second(last.time)}",
        sentence=(
            f"{run.name} ({run.where}) ended without leaving: its trace stops without a close{torn}. "
            f"The process was killed, crashed or has not run since, or its file was cut off.{owned}"
        ),
        evidence=(run.evidence(last, f"the last line{torn}"), *([proof] if proof else [])),
        advice=(
            "Look for the out-of-memory killer, an eviction or a crash at that time. A static member (group.instance.id) "
            "with group.instance.id.conflict=takeover gets its partitions back at once."
        ),
        certainty="certain" if proof else "likely",
    )


# --- PROCESS_STOPPED and INTERPRETER_BLOCKED -------------------------------------------------------------------------


_LONG_S = 5.0
_LONG_INTERVALS = 3
"""Heartbeat intervals without a heartbeat that are worth a finding also where the session survived them."""
_IDLE, _BUSY = 0.1, 0.5
"""Shares of one processor: below the first the process stood still, above the second it worked, between them both are possible."""


def standstill(group: Group) -> list[Finding]:
    return [
        _standstill_finding(group, run, silence)
        for run in group.runs
        for silence in run.silences
        if _matters(run, silence)
    ]


def _matters(run: MemberRun, silence: Silence) -> bool:
    # Without a fence, a jump of the clock means that the clock was set.
    long = silence.late_s - silence.slept_s >= max(_LONG_S, _LONG_INTERVALS * run.interval_s)
    shown = not silence.awaited and (long or silence.after.state is MemberState.STALE)
    return shown or _fence(run, silence) is not None


def _fence(run: MemberRun, silence: Silence) -> Fence | None:
    found = (fence for fence in run.fences if fence.why is FenceCause.STILL and fence.silence is not None)
    return next(
        (fence for fence in found if fence.silence is not None and fence.silence.before is silence.before), None
    )


def _standstill_finding(group: Group, run: MemberRun, silence: Silence) -> Finding:
    notes = _notes_meanwhile(group, run, silence)
    held = _notes_of_a_held_interpreter(run, silence)
    blocked, certainty = (True, _CERTAIN) if held else _verdict(silence, worked=bool(notes))
    fence = _fence(run, silence)
    used = f"its process used {lasting(silence.cpu_s)} of processor time"
    what = "no other thread could run" if blocked else _stood_still(silence)
    if silence.awaited and not held:
        what += "; or the answer came late, which looks the same here"
    owned = f" It owned {partitions_text(silence.before.owned)} all the time." if silence.before.owned else ""
    return Finding(
        kind=Kind.INTERPRETER_BLOCKED if blocked else Kind.PROCESS_STOPPED,
        group=run.group,
        members=(run.name,),
        partitions=tuple(sorted(silence.before.owned)),
        began=silence.before.time,
        ended=silence.after.time,
        brief=_brief(run, silence, certainty, blocked=blocked),
        sentence=f"{run.name} {_did(silence)}, while {used}: {what}; {_outcome(group, run, silence)}.{owned}",
        evidence=(*_evidence(run, silence), *held, *notes, *_fence_evidence(run, fence)),
        advice=(_BLOCKED if blocked else _STOPPED) + (_OR_LATE if silence.awaited and not held else ""),
        certainty=certainty,
    )


def _outcome(group: Group, run: MemberRun, silence: Silence) -> str:
    if _fence(run, silence):
        return "its session ended meanwhile, and the coordinator fenced it"
    if any(shared.stale is run and shared.began < silence.after.time for shared in _shared_during(group, silence)):
        return "its session ended meanwhile, and others got its partitions"
    if silence.after.state is MemberState.STALE:
        return "then its poll interval was over, and it left the group"
    return "its session survived"


def _shared_during(group: Group, silence: Silence) -> Iterator[SharedPeriod]:
    return (shared for shared in shared_periods_of(group) if shared.began >= silence.before.time)


def _brief(run: MemberRun, silence: Silence, certainty: Certainty, *, blocked: bool) -> str:
    how_long = f"for {lasting(silence.lasted_s)} from {second(silence.before.time)}"
    if certainty != "certain":
        return f"{run.name} did nothing {how_long}"
    return f"the interpreter of {run.name} was blocked {how_long}" if blocked else f"{run.name} was stopped {how_long}"


def _did(silence: Silence) -> str:
    if silence.awaited:
        return f"read the answer to a heartbeat {lasting(silence.lasted_s)} after it was sent"
    return f"did nothing for {lasting(silence.lasted_s)}"


def _stood_still(silence: Silence) -> str:
    if silence.slept_s > silence.lasted_s / 2:
        return "its own clock stood still too, so the whole machine slept"
    return "the process stood still or got no processor"


def _verdict(silence: Silence, *, worked: bool) -> tuple[bool, Certainty]:
    """Was the interpreter blocked, or else the process stopped?"""
    least, most = silence.cpu_shares
    if worked or least >= _BUSY:
        return True, "certain" if least >= _BUSY and not silence.awaited else "likely"
    if most <= _IDLE:
        return False, "unknown" if silence.awaited else "certain"
    return (least + most) / 2 > _IDLE, "likely"


def _notes_meanwhile(group: Group, run: MemberRun, silence: Silence) -> list[Evidence]:
    """Notes of other threads of the process during the silence: a stopped process writes none. All threads share one clock."""
    process = [other for other in group.runs if (other.host, other.pid) == (run.host, run.pid)]
    return [
        other.evidence(note, f"another thread noted: {note.note}")
        for other in process
        for note in other.notes
        if _is_inside(silence, note)
    ][:3]


_CERTAIN: Certainty = "certain"


def _notes_of_a_held_interpreter(run: MemberRun, silence: Silence) -> list[Evidence]:
    """Its own thread woke again and again, and got no turn: so the process ran, even if it used no processor."""
    return [
        run.evidence(note, "its thread waited for the lock of the interpreter, which another thread held")
        for note in run.notes
        if note.note == "interpreter held" and silence.before.at < note.at <= silence.after.at + _NOTED_WITHIN_S
    ]


_NOTED_WITHIN_S = 0.5


def _is_inside(silence: Silence, note: TraceEntry) -> bool:
    margin_s = silence.lasted_s / 10
    return silence.before.at + margin_s < note.at < silence.after.at - margin_s


def _evidence(run: MemberRun, silence: Silence) -> tuple[Evidence, ...]:
    return (
        run.evidence(silence.before, "the last step before"),
        run.evidence(silence.after, f"the first step after, {lasting(silence.late_s)} late"),
    )


def _fence_evidence(run: MemberRun, fence: Fence | None) -> tuple[Evidence, ...]:
    return (run.evidence(fence.entry, fence.said),) if fence else ()


_STOPPED = (
    "Look for what stopped it: SIGSTOP, a frozen container, a suspended or overloaded machine, a debugger, swapping."
)
_OR_LATE = " Look at the network between it and the coordinator at that time, too, and at the broker."
_BLOCKED = (
    "Find the call that holds the interpreter lock (an extension in C, a huge regular expression, sorting or parsing at "
    "once) and give it pauses or a process of its own; or set heartbeat.keeper=process."
)
