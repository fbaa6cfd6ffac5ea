"""Looks for a shorter script that fails too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.simulation.script import Script


def shrink(script: Script, fails: Callable[[Script], bool], most_tries: int = 300) -> Script:
    """Leave out actions, many at once and then one by one, and processes without actions, as long as the script still fails."""
    tries = _Tries(fails, most_tries)
    size = max(1, len(script.actions) // 2)
    while size >= 1:
        script, shorter = _leave_out(script, size, tries)
        size = size if shorter and size == 1 else size // 2
    return _without_idle_plans(script, tries)


class _Tries:
    """The number of attempts is bounded, because a report in time is worth more than the shortest script."""

    def __init__(self, fails: Callable[[Script], bool], most: int) -> None:
        self._fails = fails
        self._left = most

    def fail(self, script: Script) -> bool:
        self._left -= 1
        return self._left >= 0 and self._fails(script)


def _leave_out(script: Script, size: int, tries: _Tries) -> tuple[Script, bool]:
    """One pass over the script with pieces of that size. Did any piece go?"""
    shorter, index = False, 0
    while index < len(script.actions):
        candidate = script.without(index, size)
        if tries.fail(candidate):
            script, shorter = candidate, True
        else:
            index += size
    return script, shorter


def _without_idle_plans(script: Script, tries: _Tries) -> Script:
    for plan in script.plans:
        acts = any(getattr(action, "who", None) == plan.name for action in script.actions)
        candidate = replace(script, plans=tuple(other for other in script.plans if other != plan))
        if not acts and candidate.plans and tries.fail(candidate):
            script = candidate
    return script
