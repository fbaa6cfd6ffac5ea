"""The soak's own eyes: each thing that must not happen is seen, and what may happen is not held against anybody."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.soak_fleet import CLASSIC_GROUP
from tests.benchmarks.soak_watch import ANSWERED_S, CLASSIC_LATE_S, LATE_S, Watch


class Diaries:
    """Consumers of one group, which write what a test says."""

    def __init__(self, directory: Path) -> None:
        self.paths = {name: directory / name for name in ("one", "two", "three")}
        self.wakes: dict[Path, list[float]] = {}
        self.watch = Watch()

    def write(self, who: str, kind: str, at: float, **facts: Any) -> None:
        read = {"began_at": at - 0.2, "confirmed_at": 1.0} if kind == "read" else {}
        with self.paths[who].open("a") as file:
            file.write(json.dumps({"at": at, "kind": kind, "partitions": [0], **read, **facts}) + "\n")

    def hand_over(self, how: str) -> None:
        """One reads until second 10 and gives up as it is said; two has the partition from then on."""
        self.write("one", "assign", 1.0, epoch=3)
        self.write("one", "read", 9.0, offset=0, count=10)
        self.write("one", how, 10.0, epoch=3)
        self.write("two", "assign", 11.0, epoch=5)
        self.write("two", "read", 12.0, offset=10, count=5)

    def violations(self, group: str = "group") -> list[str]:
        self.watch.follow(dict.fromkeys(self.paths.values(), group), self.wakes)
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


@pytest.mark.parametrize("heir", ["two", "three"])
@pytest.mark.parametrize(("group", "late_s"), [("group", LATE_S), (CLASSIC_GROUP, CLASSIC_LATE_S)])
def test_two_readers_are_seen(diaries: Diaries, heir: str, group: str, late_s: float) -> None:
    """One goes on for longer than it can have been unaware; the bug was that an owner in between hid it."""
    diaries.write("one", "assign", 1.0, epoch=3)
    diaries.write("two", "assign", 11.0, epoch=5)
    diaries.write("three", "assign", 11.5, epoch=7)
    diaries.write(heir, "read", 12.0, offset=0, count=5)
    diaries.write("one", "read", 12.0 + late_s - 1, offset=0, count=5)
    assert diaries.violations(group) == []
    diaries.write("one", "read", 12.0 + late_s + 1, offset=5, count=5)
    assert "owned twice" in diaries.violations(group)[0]


def test_a_reader_whom_the_coordinator_confirms_beside_another_is_seen(diaries: Diaries) -> None:
    """An answer may have been under way when the other one got the partition, but not for long."""
    diaries.write("one", "assign", 1.0, epoch=3)
    diaries.write("two", "assign", 11.0, epoch=5)
    diaries.write("one", "read", 20.0, offset=0, count=5, confirmed_at=11.0 + ANSWERED_S - 1)
    assert diaries.violations() == []
    diaries.write("one", "read", 21.0, offset=5, count=5, confirmed_at=11.0 + ANSWERED_S + 1)
    assert "agreed to both" in diaries.violations()[0]


def test_two_who_commit_are_seen(diaries: Diaries) -> None:
    """What was begun when another one had the partition was not to be accepted."""
    diaries.write("one", "assign", 1.0, epoch=3)
    diaries.write("one", "commit", 11.1, began_at=10.9, offset=1)
    diaries.write("two", "assign", 11.0, epoch=5)
    assert diaries.violations() == []
    diaries.write("one", "commit", 12.6, began_at=12.5, offset=1)
    assert "committed" in diaries.violations()[0]


def test_an_automatic_commit_is_as_late_as_what_it_covers(diaries: Diaries) -> None:
    """It is told after the event, even after the revocation: only its last record says when it can have been begun."""
    diaries.write("one", "assign", 1.0, epoch=3)
    diaries.write("one", "read", 9.0, offset=0, count=10)
    diaries.write("one", "revoke", 10.0, epoch=3)
    diaries.write("two", "assign", 11.0, epoch=5)
    diaries.write("one", "report", 12.0, offset=10)
    diaries.write("three", "assign", 13.0, epoch=7)
    assert diaries.violations() == []
    diaries.write("two", "read", 14.0, offset=10, count=5)
    diaries.write("two", "report", 15.0, offset=15)
    assert "committed" in diaries.violations()[0]


def test_a_sleeper_that_reads_on_is_seen(diaries: Diaries) -> None:
    """However soon after its waking: the bug was that it had seconds, as if it had not heard of its loss."""
    diaries.write("one", "assign", 1.0, epoch=3)
    diaries.wakes[diaries.paths["one"]] = [5.0, 21.0]
    diaries.write("one", "read", 5.3, offset=0, count=5, began_at=5.1)
    diaries.write("two", "assign", 11.0, epoch=5)
    assert diaries.violations() == []
    diaries.write("one", "read", 21.3, offset=5, count=5, began_at=21.1)
    assert "continued" in diaries.violations()[0]


def test_a_stop_right_after_a_read_happens_by_chance_only_once(diaries: Diaries) -> None:
    """The records were handed out before, and the time was taken after: twice means that they were not."""
    for who, epoch in (("one", 3), ("two", 5)):
        diaries.write(who, "assign", 1.0 + epoch, epoch=epoch)
        diaries.wakes[diaries.paths[who]] = [21.0]
    diaries.write("three", "assign", 11.0, epoch=7)
    diaries.write("one", "read", 21.1, offset=0, count=5, began_at=8.0)
    assert diaries.violations() == []
    diaries.write("two", "read", 21.1, offset=0, count=5, began_at=9.0)
    assert "continued" in diaries.violations()[0]


def test_a_record_that_was_committed_and_comes_again_is_seen(diaries: Diaries) -> None:
    """To whom the partition came after the commit; before, it may have been on its way."""
    diaries.write("one", "assign", 1.0, epoch=3)
    diaries.write("one", "read", 8.0, offset=0, count=10)
    diaries.write("one", "commit", 9.0, began_at=8.5, offset=10)
    diaries.write("one", "revoke", 10.0, epoch=3)
    diaries.write("two", "assign", 8.9, epoch=5)
    diaries.write("two", "read", 12.0, offset=8, count=2)
    assert not [text for text in diaries.violations() if "committed as" in text]
    diaries.write("three", "assign", 13.0, epoch=7)
    diaries.write("three", "read", 14.0, offset=9, count=1)
    assert "three read 0@9, which was committed as 10" in diaries.violations()[-1]


def test_a_handler_that_a_stop_delays_is_chance_only_once(diaries: Diaries) -> None:
    """A slot looks at its member, is stopped before its handler begins, and goes on with records that others committed."""
    diaries.write("one", "assign", 1.0, epoch=1)
    diaries.write("one", "read", 2.0, offset=0, count=10)
    diaries.write("one", "commit", 3.0, offset=10, began_at=2.5)
    for woken_at, who in ((20.0, "two"), (40.0, "three")):
        diaries.watch.note_wake(woken_at)
        diaries.write(who, "assign", woken_at + 0.1, epoch=2, began_at=woken_at + 0.1)
        diaries.write(who, "read", woken_at + 0.1, offset=0, count=5, began_at=woken_at + 0.1)
        if who == "two":
            assert diaries.violations() == []
    assert diaries.violations() == ["three read 0@0, which was committed as 10 before it had it"]


def test_only_the_first_call_after_a_stop_is_chance(diaries: Diaries) -> None:
    """The second one began after the stop."""
    diaries.write("one", "assign", 1.0, epoch=1)
    diaries.write("one", "read", 2.0, offset=0, count=10)
    diaries.write("one", "commit", 3.0, offset=10, began_at=2.5)
    diaries.watch.note_wake(20.0)
    diaries.write("two", "assign", 20.1, epoch=2, began_at=20.1)
    diaries.write("two", "read", 20.1, offset=10, count=5, began_at=20.1)
    diaries.write("two", "assign", 20.2, epoch=3, began_at=20.2)
    diaries.write("two", "read", 20.2, offset=0, count=5, began_at=20.2)
    assert diaries.violations() == ["two read 0@0, which was committed as 10 before it had it"]


def test_a_record_that_was_committed_and_not_read_is_seen(diaries: Diaries) -> None:
    """Without waiting for the end: a batch that was dropped, and the next one committed."""
    diaries.write("one", "assign", 1.0, epoch=3)
    diaries.write("one", "read", 8.0, offset=0, count=10)
    assert diaries.violations() == []
    diaries.watch._compare_offsets("group", {0: 10})
    diaries.watch.look_for_losses(["group"])
    assert diaries.violations() == []
    diaries.watch._compare_offsets("group", {0: 13})
    diaries.watch.look_for_losses(["group"])
    assert diaries.violations() == ["3 records of group/0 were committed and not read, from offset 10 on"]
    assert diaries.watch.partitions_of_violations == {0}


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


@pytest.mark.parametrize("kind", ["commit", "report"])
def test_an_accepted_offset_that_no_look_finds_is_seen(diaries: Diaries, kind: str) -> None:
    """The bug was that one that got lost between two looks, and was committed again, passed."""
    diaries.write("one", "assign", 1.0, epoch=3)
    diaries.write("one", kind, 2.0, offset=7, **({"began_at": 1.5} if kind == "commit" else {}))
    assert diaries.violations() == []
    diaries.watch._compare_offsets("group", {0: 7})
    assert diaries.violations() == []
    diaries.watch._compare_offsets("other", {0: 6})
    assert diaries.violations() == []
    diaries.write("one", kind, 3.0, offset=9, **({"began_at": 2.5} if kind == "commit" else {}))
    assert diaries.violations() == []
    diaries.watch._compare_offsets("group", {0: 8})
    assert "from 9 to 8" in diaries.violations()[0]
