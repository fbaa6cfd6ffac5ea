"""What went wrong, out of the traces of a group's members: all findings, ordered, without those that others explain."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from membership_client.debugger.finding import Finding
from membership_client.debugger.findings.callback_failed import callback_failed
from membership_client.debugger.timeline import Group, groups_of
from membership_client.trace.reading import Section

SKEW_S = 2.0
"""By how much the clocks of two machines are taken to differ unless somebody knows better."""

_FINDERS: tuple[Callable[[Group], list[Finding]], ...] = (callback_failed,)


def diagnose(sections: Sequence[Section], skew_s: float = SKEW_S) -> list[Finding]:
    """By group, then weight, then time; the same for the same sections in any order.

    TraceError if a line is not what this version writes.
    """
    return [finding for group in groups_of(sections, skew_s) for finding in _findings(group)]


def _findings(group: Group) -> list[Finding]:
    found = [finding for find in _FINDERS for finding in find(group)]
    return sorted(found, key=_order)


def _order(finding: Finding) -> tuple[int, float, tuple[str, ...], str]:
    return finding.kind.weight, finding.began, finding.members, finding.sentence
