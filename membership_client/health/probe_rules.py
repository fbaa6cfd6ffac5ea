"""When a member is live, ready and started, as probes see it: with patience, so that no rebalance restarts a process."""

from __future__ import annotations

from membership_client.types import Health, MemberState, Snapshot
from membership_client.values import dataclass, replace

LATE_S = 5.0
"""How late the membership thread may be. On a busy machine seconds are no sign that it is stuck."""

READY_FOR_S = 60.0
"""How long a member that was ready stays so, while it joins again or the coordinator is silent: longer than most rebalances."""

_OUT = frozenset({MemberState.UNSUBSCRIBED, MemberState.LEAVING, MemberState.STALE, MemberState.FATAL})
"""States in which a member does not try to be in the group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """A member at one moment."""

    snapshot: Snapshot
    health: Health
    started: bool
    """Has it subscribed? Then its thread was started."""
    due_at: float
    """When its thread is to take its next turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What is kept of a member between two looks."""

    ready_at: float = float("-inf")
    """When it was last ready without patience."""
    awake_at: float = float("-inf")
    """When this process went on after it had been stopped: the membership thread was late until then, and is not stuck."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberReport:
    """One member, as probes see it."""

    group_id: str
    member_id: str
    instance_id: str | None
    state: str
    epoch: int
    partitions: int
    live: bool
    """False: restart the process. FATAL, closed, its thread stuck, or the application does not poll."""
    ready: bool
    """In the group, or out of it for moments; with or without partitions."""
    started: bool
    """It has subscribed. That it joins depends on brokers, which a restart would not mend."""
    why: str


def judged(facts: Facts, memory: Memory, now: float) -> tuple[MemberReport, Memory]:
    """What a probe is told, and what is remembered for the next one."""
    memory = replace(memory, ready_at=now) if facts.health.ready else memory
    trouble = _trouble(facts, memory, now)
    out = not facts.health.live or facts.snapshot.state in _OUT
    shown = facts.snapshot
    report = MemberReport(
        group_id=shown.group_id,
        member_id=shown.member_id,
        instance_id=shown.instance_id,
        state=shown.state.value,
        epoch=shown.epoch,
        partitions=len(shown.owned),
        live=trouble is None,
        ready=trouble is None and not out and now - memory.ready_at <= READY_FOR_S,
        started=facts.started,
        why=trouble or facts.health.why,
    )
    return report, memory


def _trouble(facts: Facts, memory: Memory, now: float) -> str | None:
    """Why the process should be restarted."""
    if not facts.health.live:
        return facts.health.why
    if facts.snapshot.state is MemberState.STALE:
        return f"the application does not poll ({facts.snapshot.cause})"
    late_s = now - max(facts.due_at, memory.awake_at)
    return f"the membership thread has been stuck for {late_s:.0f} s" if late_s > LATE_S else None
