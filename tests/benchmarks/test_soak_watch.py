"""The soak's own eyes: each thing that must not happen is seen, and what may happen is not held against anybody."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.soak_watch import LATE_S, Watch


class Diaries:
    """Two consumers of one group, which write what a test says."""

    def __init__(self, directory: Path) -> None:
        self._paths = {name: directory / name for name in ("one", "two")}
        self.watch = Watch()

    def write(self, who: str, kind: str, at: float, **facts: Any) -> None:
        with self._paths[who].open("a") as file:
            file.write(json.dumps({"at": at, "kind": kind, "partitions": [0], **facts}) + "\n")

    def hand_over(self, how: str) -> None:
        """One reads until second 10 and gives up as it is said; two has the partition from then on."""
        self.write("one", "assign", 1.0, epoch=3)
        self.write("one", "read", 9.0, offset=0, count=10)
        self.write("one", how, 10.0, epoch=3)
        self.write("two", "assign", 11.0, epoch=5)
        self.write("two", "read", 12.0, offset=10, count=5)

    def violations(self) -> list[str]:
        self.watch.follow(dict.fromkeys(self._paths.values(), "group"))
        return self.watch.violations


@pytest.fixture
def diaries(tmp_path: Path) -> Diaries:
    return Diaries(tmp_path)


@pytest.mark.parametrize("how", ["revoke", "lost"])
def test_a_handover_is_fine(diaries: Diaries, how: str) -> None:
    """And every record came."""
    diaries.hand_over(how)
    assert diaries.violations() == []
    assert diaries.watch.missing("group", {0: 15}) == 0
    assert diaries.watch.missing("group", {0: 17}) == 2


def test_two_readers_are_seen(diaries: Diaries) -> None:
    """One goes on for longer than it can have been unaware of its loss."""
    diaries.write("one", "assign", 1.0, epoch=3)
    diaries.write("two", "assign", 11.0, epoch=5)
    diaries.write("two", "read", 12.0, offset=0, count=5)
    diaries.write("one", "read", 12.0 + LATE_S - 1, offset=0, count=5)
    assert diaries.violations() == []
    diaries.write("one", "read", 12.0 + LATE_S + 1, offset=5, count=5)
    assert "owned twice" in diaries.violations()[0]


def test_two_who_commit_are_seen(diaries: Diaries) -> None:
    """None of them may be accepted after the other."""
    diaries.write("one", "assign", 1.0, epoch=3)
    diaries.write("two", "assign", 11.0, epoch=5)
    diaries.write("two", "commit", 12.0, began_at=11.5, offset=1)
    diaries.write("one", "commit", 12.6, began_at=12.5, offset=1)
    assert "committed" in diaries.violations()[0]


def test_a_gap_and_a_stranger_are_seen(diaries: Diaries) -> None:
    """A record that was skipped, and one of a partition that was given up."""
    diaries.hand_over("revoke")
    diaries.write("two", "read", 13.0, offset=16, count=1)
    diaries.write("one", "read", 13.0, offset=10, count=1)
    assert sorted(text.split()[0] for text in diaries.violations()) == ["one", "two"]


def test_an_offset_that_goes_back_or_away_is_seen() -> None:
    """Whoever did it."""
    watch = Watch()
    for offsets in ({0: 5}, {0: 7, 1: 2}):
        watch._compare_offsets("group", offsets)
    assert watch.violations == []
    watch._compare_offsets("group", {0: 6})
    assert len(watch.violations) == 2
