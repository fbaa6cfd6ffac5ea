"""When a partition had two owners or more, and whether that is sure."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator, Sequence

from membership_client.debugger.report.owned import Owned
from membership_client.debugger.report.scene import Overlap

_SAME_CLOCK_S = 0.01
"""How exactly two processes of one machine know the time of day: each reads both of its clocks one after the other."""


def overlaps_of(owned: Sequence[Owned], skew_s: float) -> Iterator[Overlap]:
    """`owned` by when each began."""
    waiting, there = deque(owned), list[Owned]()
    edges = sorted({edge for one in owned for edge in (one.span.began, one.span.ended)})
    for began, ended in itertools.pairwise(edges):
        while waiting and waiting[0].span.began <= began:
            there.append(waiting.popleft())
        there = [one for one in there if one.span.ended > began]
        if len(there) > 1:
            yield Overlap(began, ended, tuple(one.span.owner for one in there), _is_sure(there, ended - began, skew_s))


def _is_sure(owners: Sequence[Owned], lasted_s: float, skew_s: float) -> bool:
    hosts = {one.life.host for one in owners}
    return lasted_s > (skew_s if len(hosts) > 1 else _SAME_CLOCK_S)
