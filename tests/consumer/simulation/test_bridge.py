"""Threads that poll, hold and close, callbacks that fail, signals, and threads that do not start, in any interleaving.

More seeds: `python -m tests.consumer.simulation --seeds 10000`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from membership_client.consumer.bridge import Action, Role
from membership_client.consumer.buffer import Buffer
from membership_client.consumer.callback_queue import Call, CallbackQueue
from tests.consumer.simulation.play import play
from tests.consumer.simulation.scheduler import ScheduleError

SEEDS = 40


@pytest.mark.parametrize("first", range(0, SEEDS, 10))
def test_no_interleaving_breaks_a_rule(first: int) -> None:
    """No callback twice, none lost, none on a thread of ours, no record after a revoke began, no commit of what was not handed out, no thread waits for ever."""
    callbacks = [len(play(seed).ran) for seed in range(first, first + 10)]
    assert sum(callbacks) > 20


def _hand_out_what_is_revoked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Buffer, "withhold", lambda *_: None)


def _commit_what_was_read_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Buffer, "positions", lambda _: {})


def _run_callbacks_on_the_thread_that_wants_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def ready(queue: CallbackQueue, call: Call, handle: Callable[[], None]) -> None:
        make_ready(queue, call, handle)
        if queue.visit(Role.POLL, certain=True) is Action.RUN:
            queue.carry_out()

    make_ready = CallbackQueue.ready
    monkeypatch.setattr(CallbackQueue, "ready", ready)


def play_all(seeds: Iterable[int]) -> None:
    for seed in seeds:
        play(seed)


@pytest.mark.parametrize(
    "bug",
    [_hand_out_what_is_revoked, _commit_what_was_read_ahead, _run_callbacks_on_the_thread_that_wants_them],
)
def test_a_bug_is_found(monkeypatch: pytest.MonkeyPatch, bug: object) -> None:
    """The rules notice what they are there for, within a few seeds."""
    assert callable(bug)
    bug(monkeypatch)
    with pytest.raises(ScheduleError):
        play_all(range(200))
