"""A failure as text: the seed, the rule, the shortest script found that breaks it, and what happened in that one."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tests.simulation.play import FailedRunError, play
from tests.simulation.record import describe_action
from tests.simulation.script import Script
from tests.simulation.shrink import shrink


def describe_failures(failures: Sequence[FailedRunError]) -> str:
    """The first failure in full, the others by their seeds."""
    first, *others = failures
    also = [f"Seed {other.script.seed} fails too: {other}" for other in others]
    return "\n".join([describe_failure(first), *([""] if also else []), *also])


def describe_failure(failure: FailedRunError) -> str:
    shortest = _shortest(failure)
    script = shortest.script
    actions = (f"{action.at:9.3f}  {describe_action(action)}" for action in script.actions)
    return "\n".join(
        [
            f"Seed {failure.script.seed}: {failure}",
            f"Play it again with: pytest tests/simulation --seed {failure.script.seed}",
            "",
            f"The shortest script found that fails alike ({len(script.actions)} of {len(failure.script.actions)} actions):",
            f"  topics {dict(script.topics)}, calm at {script.calm_at:.3f} s, {script.settings}",
            *(f"  {plan}" for plan in script.plans),
            *actions,
            "",
            f"What happened in it, up to: {shortest}",
            *shortest.transcript,
        ]
    )


def _shortest(failure: FailedRunError) -> FailedRunError:
    found = failure

    def fails(script: Script) -> bool:
        nonlocal found
        try:
            play(script)
        except FailedRunError as other:
            if _rule(other) == _rule(failure):
                found = other
                return True
        return False

    shrink(failure.script, fails)
    return found


def _rule(failure: FailedRunError) -> str:
    """The broken rule, the member that broke it, and when."""
    return re.sub(r"[\d.]+ s, \w+: |\d+|\b[a-e]\d+\b|\[.*", "", str(failure))[:40]
