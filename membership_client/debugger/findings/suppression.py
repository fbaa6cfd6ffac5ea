"""Findings that only repeat another one."""

from __future__ import annotations

from collections.abc import Sequence

from membership_client.debugger.findings.finding import Finding, Kind

_STILL = frozenset({Kind.PROCESS_STOPPED, Kind.INTERPRETER_BLOCKED})
_EXPLAINED_BY: dict[Kind, frozenset[Kind]] = {
    Kind.NETWORK_LOST: frozenset({Kind.BROKER_RESTARTED}),
    Kind.REMOVED_FROM_OUTSIDE: frozenset({Kind.BROKER_RESTARTED}),
    Kind.THROWN_OUT: frozenset({Kind.BROKER_RESTARTED}),
    Kind.POLL_INTERVAL_EXCEEDED: _STILL,
    Kind.WAITED_FOR_CALLBACK: _STILL | {Kind.SLOW_CLOSE},
    Kind.WAITED_FOR_POLL: _STILL | {Kind.POLL_INTERVAL_EXCEEDED},
    Kind.SLOW_CLOSE: _STILL,
    Kind.UNOWNED_PARTITION: frozenset({Kind.WAITED_FOR_CALLBACK, Kind.WAITED_FOR_POLL, Kind.WAITED_FOR_OFFSETS}),
}
"""Of the same member at the same time: the second is the cause, and saying both would be saying it twice."""


def unexplained(findings: Sequence[Finding]) -> list[Finding]:
    return [finding for finding in findings if not any(_explains(other, finding) for other in findings)]


def _explains(cause: Finding, finding: Finding) -> bool:
    if cause.kind not in _EXPLAINED_BY.get(finding.kind, frozenset()) or not cause.overlaps(finding):
        return False
    if finding.kind is Kind.UNOWNED_PARTITION:
        return set(finding.partitions) <= set(cause.partitions) and _covers(cause, finding)
    together = bool(set(cause.members) & set(finding.members))
    return together and (cause.kind not in _STILL or _covers(cause, finding))


def _covers(cause: Finding, finding: Finding) -> bool:
    """Most of it: a pause of a second does not explain a minute."""
    shared_s = min(cause.ended, finding.ended) - max(cause.began, finding.began)
    return shared_s >= finding.lasted_s / 2
