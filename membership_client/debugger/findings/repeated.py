"""Findings that repeat each other: a callback that is slow in each of a hundred rebalances is one thing to mend."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import replace

from membership_client.debugger.findings.finding import Finding, Kind

_REPEAT = frozenset({Kind.WAITED_FOR_CALLBACK, Kind.WAITED_FOR_POLL})


def folded(findings: Iterable[Finding]) -> list[Finding]:
    """Of the waits for the same callback of one member only the longest, which says of how many it is."""
    found: dict[Hashable, list[Finding]] = defaultdict(list)
    for number, finding in enumerate(findings):
        # The advice differs by the kind of the callback.
        alike = (finding.kind, finding.members, finding.advice) if finding.kind in _REPEAT else number
        found[alike].append(finding)
    return [_longest(alike) for alike in found.values()]


def _longest(alike: list[Finding]) -> Finding:
    longest = max(alike, key=lambda finding: (finding.lasted_s, -finding.began, finding.sentence))
    if len(alike) == 1:
        return longest
    more = f"the longest of {len(alike)} such waits"
    return replace(longest, brief=f"{longest.brief}, {more}", sentence=f"{longest.sentence} It was {more}.")
