"""A process that was away for longer than its session hands out nothing before it knows what became of its partitions."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.consumer.conftest import NewWorld
from tests.consumer.helpers import Reader, World
from tests.consumer.reading import ReadingProcess
from tests.consumer.reading_process import BUSY_LOOP
from tests.integration.members import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.deep]

Act = Callable[[ReadingProcess], None]

SESSION_MS = 3000
RECORDS = 40_000
"""Of each partition: more than are read while the test runs, so some always lie ready."""


STOPPED = (ReadingProcess.stop, ReadingProcess.go_on)
HELD_UP = (ReadingProcess.hold_interpreter, ReadingProcess.let_go_of_interpreter)


@pytest.mark.parametrize("absence", [STOPPED, HELD_UP], ids=["stopped", "interpreter held up"])
@pytest.mark.parametrize(
    ("protocol", "style"),
    [("consumer", "poll and auto-commit"), ("classic", "consume and commit at once"), ("consumer", BUSY_LOOP)],
)
def test_a_process_that_was_away_hands_out_nothing_before_its_loss(
    new_world: NewWorld, tmp_path: Path, protocol: str, style: str, absence: tuple[Act, Act]
) -> None:
    """With records at hand when it goes on, and another owner meanwhile: the bug was that it handed them out first.

    Nor does it commit what it had read: as its old self it has no say any more.
    """
    world = new_world(2, consumer_session_timeout_ms=SESSION_MS)
    world.produce(RECORDS)
    config: dict[str, Any] = {"group.protocol": protocol}
    config |= {"session.timeout.ms": SESSION_MS, "heartbeat.interval.ms": 500} if protocol == "classic" else {}
    sleeper = ReadingProcess(world.config(config), world.topic, style, tmp_path / "sleeper")
    try:
        eventually(lambda: lines_of(sleeper) > 500, "it reads")
        goes, comes_back = absence
        goes(sleeper)
        stopped_at = time.monotonic()
        heir = world.owner(config)
        inherited = commit_far_ahead(world, heir)
        comes_back(sleeper)
        eventually(lambda: (heir.poll(), "lost" in sleeper.diary.path.read_text())[1], "it knows")
        count = lines_of(sleeper)
        eventually(lambda: (heir.poll(), lines_of(sleeper) > count + 500)[1], "it reads again")
    finally:
        sleeper.end(signal.SIGKILL)
    # A line that was about to be written at the stop is written afterwards, with an earlier time.
    since = [entry for entry in sleeper.diary.entries if entry.at > stopped_at + SESSION_MS / 2000]
    # One call may have been returning its records in the moment of the stop: no check can come later than its own.
    if since[0].kind == "record":
        since = [entry for entry in since if entry.at > since[0].at]
    assert since[0].kind == "lost"
    # The member that owns a partition by now goes on from there.
    assert all(offset >= inherited for offset in world.committed().values())
    assert min(entry.offset for entry in since if entry.kind == "record" and entry.offset is not None) >= inherited


def commit_far_ahead(world: World, heir: Reader) -> int:
    """Of every partition; a commit of what the sleeper has read would go back."""
    heir.consumer.commit(offsets=[world.place(number, RECORDS // 2) for number in range(2)], asynchronous=False)
    return RECORDS // 2


def lines_of(process: ReadingProcess) -> int:
    path = process.diary.path
    return path.read_bytes().count(b"\n") if path.exists() else 0
