"""What went wrong, from the traces of a group's members: all findings, ordered, without findings that others explain."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from membership_client.debugger.findings.broker_restarted import broker_restarted
from membership_client.debugger.findings.callback_failed import callback_failed
from membership_client.debugger.findings.commit_refused import commit_refused
from membership_client.debugger.findings.duplicate_instance_id import duplicate_instance_id
from membership_client.debugger.findings.ended_by_error import ended_by_error
from membership_client.debugger.findings.finding import Finding
from membership_client.debugger.findings.killed import killed
from membership_client.debugger.findings.network_lost import network_lost
from membership_client.debugger.findings.offsets_awaited import offsets_awaited
from membership_client.debugger.findings.poll_interval_exceeded import poll_interval_exceeded
from membership_client.debugger.findings.rebalance import rebalances
from membership_client.debugger.findings.rebalance_storm import rebalance_storm
from membership_client.debugger.findings.slow_callbacks import slow_callbacks
from membership_client.debugger.findings.slow_close import slow_close
from membership_client.debugger.findings.standstill import standstill
from membership_client.debugger.findings.suppression import unexplained
from membership_client.debugger.findings.thrown_out import thrown_out
from membership_client.debugger.findings.turned_away import turned_away
from membership_client.debugger.findings.unowned_partition import unowned_partition
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
    poll_interval_exceeded,
    rebalances,
    rebalance_storm,
    slow_callbacks,
    slow_close,
    standstill,
    thrown_out,
    turned_away,
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
    found = [finding for find in _FINDERS for finding in find(group)]
    return sorted(unexplained(found), key=_order)


def _order(finding: Finding) -> tuple[int, float, tuple[str, ...], str]:
    return finding.kind.weight, finding.began, finding.members, finding.sentence
