"""When probes report a member as live, ready and started. No rebalance makes a probe fail, so none restarts a process."""

from __future__ import annotations

from membership_client.types import Health, MemberState, Snapshot
from membership_client.values import dataclass, replace

LATE_S = 5.0
"""How late the membership thread may be. On a busy machine it may be seconds late without being stuck."""

READY_FOR_S = 60.0
"""How long a ready member stays ready while it joins again or the coordinator is silent: longer than most rebalances."""

_OUT = frozenset({MemberState.UNSUBSCRIBED, MemberState.LEAVING, MemberState.STALE, MemberState.FATAL})
"""States in which a member does not try to be in the group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberFacts:
    """A member at one moment."""

    snapshot: Snapshot
    health: Health
    started: bool
    """Whether the member has subscribed, which starts its thread."""
    due_at: float
    """When its thread is to take its next turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeMemory:
    """Facts about a member that are kept from one probe to the next."""

    ready_at: float = float("-inf")
    """When the member itself was last ready. Probes report it as ready for READY_FOR_S longer."""
    awake_at: float = float("-inf")
    """When this process last went on after it had been stopped (SIGSTOP): a thread that was late until then is not stuck."""


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
    """False if the process should be restarted: FATAL, closed, its thread stuck, or the application does not poll."""
    ready: bool
    """True if the member is in the group, or has left it less than a minute ago; with or without partitions."""
    started: bool
    """True if the member has subscribed. It need not have joined: that depends on brokers, which a restart would not mend."""
    why: str


def judge_member(facts: MemberFacts, memory: ProbeMemory, now: float) -> tuple[MemberReport, ProbeMemory]:
    """The report for a probe, and the memory for the next probe."""
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


def _trouble(facts: MemberFacts, memory: ProbeMemory, now: float) -> str | None:
    """Why the process should be restarted; None if it should not."""
    if not facts.health.live:
        return facts.health.why
    if facts.snapshot.state is MemberState.STALE:
        return f"the application does not poll ({facts.snapshot.cause})"
    late_s = now - max(facts.due_at, memory.awake_at)
    return f"the membership thread has been stuck for {late_s:.0f} s" if late_s > LATE_S else None
