"""Threads that poll, hold and close, callbacks that fail, signals, and threads that do not start, in any interleaving.

More seeds: `python -m tests.consumer.simulation --seeds 10000`.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from membership_client.consumer.buffer import Buffer
from tests.consumer.simulation.play import play
from tests.consumer.simulation.scheduler import ScheduleError

SEEDS = 40


@pytest.mark.parametrize("first", range(0, SEEDS, 10))
def test_no_interleaving_breaks_a_rule(first: int) -> None:
    """No callback twice, none lost, no record after a revoke began, no commit of what was not handed out, nobody waits for ever."""
    callbacks = [len(play(seed).ran) for seed in range(first, first + 10)]
    assert sum(callbacks) > 20


def _hand_out_what_is_revoked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Buffer, "withhold", lambda *_: None)


def _commit_what_was_read_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Buffer, "positions", lambda _: {})


def play_all(seeds: Iterable[int]) -> None:
    for seed in seeds:
        play(seed)


@pytest.mark.parametrize("bug", [_hand_out_what_is_revoked, _commit_what_was_read_ahead])
def test_a_bug_is_found(monkeypatch: pytest.MonkeyPatch, bug: object) -> None:
    """The rules notice what they are there for, within a few seeds."""
    assert callable(bug)
    bug(monkeypatch)
    with pytest.raises(ScheduleError):
        play_all(range(200))
