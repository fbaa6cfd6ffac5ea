"""Words at the end of a run about how much was done in it, also where the run was spread over several processes."""

from __future__ import annotations

import pytest

_KEY = pytest.StashKey[list[object]]()


def add_summary(config: pytest.Config, tally: object) -> None:
    """Its text, as it is when the run ends, becomes a line of the summary."""
    config.stash.setdefault(_KEY, []).append(tally)


def summaries(config: pytest.Config) -> list[str]:
    return [str(tally) for tally in config.stash.get(_KEY, [])]
