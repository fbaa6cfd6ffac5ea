"""Looks for a shorter script that shows a mismatch too."""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.conformance.script import Script

BUDGET_S = 40.0
"""A failure that is told in time is worth more than the shortest one."""


def shrink(script: Script, fails: Callable[[Script], bool], budget_s: float = BUDGET_S) -> Script:
    """Leaves out steps, many at once and then one by one, while it still fails; each try is a play on a real broker."""
    give_up_at = time.monotonic() + budget_s
    size = max(1, len(script.steps) // 2)
    while size >= 1:
        before, index = script, 0
        while index < len(script.steps) and time.monotonic() < give_up_at:
            shorter = script.without(index, size)
            if fails(shorter):
                script = shorter
            else:
                index += size
        # Single steps are tried until none can go: one that was needed may not be, without another.
        size = size if size == 1 and script != before else size // 2
    return script
