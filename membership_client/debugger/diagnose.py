"""What went wrong, from the traces of a group's members: all findings, ordered, without findings that others explain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from membership_client.debugger.findings.errors import callback_failed, commit_refused, ended_by_error, not_admitted
from membership_client.debugger.findings.fenced import duplicate_instance_id, thrown_out
from membership_client.debugger.findings.finding import Finding, Kind
from membership_client.debugger.findings.network import broker_restarted, network_lost
from membership_client.debugger.findings.poison import poison_record
from membership_client.debugger.findings.process import killed, standstill
from membership_client.debugger.findings.rebalances import rebalances, unowned_partition
from membership_client.debugger.findings.repeated import folded
from membership_client.debugger.findings.slow import offsets_awaited, poll_interval_exceeded, slow_callbacks, slow_close
from membership_client.debugger.findings.storm import rebalance_storm
from membership_client.debugger.findings.topics import topic_missing
from membership_client.debugger.findings.two_owners import two_owners
from membership_client.debugger.model.broker_log import RemovalLine
from membership_client.debugger.model.timeline import Group, groups_of
from membership_client.trace.reading import Section

SKEW_S = 2.0
"""By how much the clocks of two machines may differ, unless the user says otherwise."""

_FINDERS: tuple[Callable[[Group], list[Finding]], ...] = (
    broker_restarted,
    callback_failed,
    commit_refused,
    duplicate_instance_id,
    ended_by_error,
    killed,
    network_lost,
    offsets_awaited,
    poison_record,
    poll_interval_exceeded,
    rebalances,
    rebalance_storm,
    slow_callbacks,
    slow_close,
    standstill,
    thrown_out,
    topic_missing,
    not_admitted,
    two_owners,
    unowned_partition,
)


def diagnose(
    sections: Sequence[Section], skew_s: float = SKEW_S, removal_lines: Sequence[RemovalLine] = ()
) -> list[Finding]:
    """By group, then weight, then time; the same for the same sections in any order.

    `removal_lines` are those of the brokers' logs. TraceError if a line is not what this version writes.
    """
    return [finding for group in groups_of(sections, skew_s, removal_lines) for finding in findings_of(group)]


def findings_of(group: Group) -> list[Finding]:
    """By weight, then time."""
    found = [_with_end_after_begin(finding) for find in _FINDERS for finding in find(group)]
    return sorted(folded(unexplained(found)), key=_order)


def _with_end_after_begin(finding: Finding) -> Finding:
    """A clock that is set back meanwhile shows an end before the begin."""
    return finding if finding.began <= finding.ended else replace(finding, ended=finding.began)


def _order(finding: Finding) -> tuple[int, float, tuple[str, ...], str]:
    return finding.kind.weight, finding.began, finding.members, finding.sentence


# --- findings that another one explains ------------------------------------------------------------------------------


_STILL = frozenset({Kind.PROCESS_STOPPED, Kind.INTERPRETER_BLOCKED})
_EXPLAINED_BY: dict[Kind, frozenset[Kind]] = {
    Kind.NETWORK_LOST: frozenset({Kind.BROKER_RESTARTED}),
    Kind.REMOVED_FROM_OUTSIDE: frozenset({Kind.BROKER_RESTARTED}),
    Kind.THROWN_OUT: frozenset({Kind.BROKER_RESTARTED, Kind.GROUP_FULL}),
    Kind.POLL_INTERVAL_EXCEEDED: _STILL | {Kind.POISON_RECORD},
    Kind.REBALANCE_STORM: frozenset({Kind.POISON_RECORD}),
    Kind.WAITED_FOR_CALLBACK: _STILL | {Kind.SLOW_CLOSE},
    Kind.WAITED_FOR_POLL: _STILL | {Kind.POLL_INTERVAL_EXCEEDED},
    Kind.SLOW_CLOSE: _STILL,
    Kind.UNOWNED_PARTITION: frozenset({Kind.WAITED_FOR_CALLBACK, Kind.WAITED_FOR_POLL, Kind.WAITED_FOR_OFFSETS}),
}
"""Which findings of the same member at the same time are the cause of another one, and are shown instead of it."""


def unexplained(findings: Sequence[Finding]) -> list[Finding]:
    return [finding for finding in findings if not any(_explains(other, finding) for other in findings)]


def _explains(cause: Finding, finding: Finding) -> bool:
    if cause.kind not in _EXPLAINED_BY.get(finding.kind, frozenset()) or not cause.overlaps(finding):
        return False
    if finding.kind is Kind.UNOWNED_PARTITION:
        # A classic group waits for one member before it assigns anything, also what others gave up.
        same = set(finding.partitions) <= set(cause.partitions) or cause.members[0] == finding.members[0]
        return same and _covers(cause, finding)
    if cause.kind is Kind.POISON_RECORD:
        return set(finding.members) <= set(cause.members)
    together = bool(set(cause.members) & set(finding.members))
    return together and (cause.kind not in _STILL or _covers(cause, finding))


def _covers(cause: Finding, finding: Finding) -> bool:
    """Does the cause cover at least half of it? A pause of a second does not explain a minute."""
    shared_s = min(cause.ended, finding.ended) - max(cause.began, finding.began)
    return shared_s >= finding.lasted_s / 2
