"""The seed alone decides what happens, and a short programme has every kind of trouble."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.soak.programme import Kind, programme
from tests.soak.story import story

SESSION_S = 3.0


@pytest.mark.parametrize("seed", range(20))
def test_a_seed_is_a_programme(seed: int) -> None:
    """The same one each time, in the order of time, and whole: a failure can be played again."""
    troubles = programme(seed, 60.0, SESSION_S)
    assert troubles == programme(seed, 60.0, SESSION_S)
    assert [one.at_s for one in troubles] == sorted(one.at_s for one in troubles)
    assert troubles[0].kind is Kind.SLEEP
    assert {one.kind for one in troubles[1 : 1 + len(Kind)]} == set(Kind)
    assert {one.seat for one in troubles} == {0, 1}


def test_sleeps_and_cuts_outlast_a_session_and_naps_do_not() -> None:
    """Who is away for longer has lost everything; who is away for less, nothing."""
    for one in (one for seed in range(20) for one in programme(seed, 60.0, SESSION_S)):
        assert (one.lasts_s > SESSION_S) == (one.kind in {Kind.SLEEP, Kind.CUT})


def test_a_story_has_only_what_concerns_its_partitions(tmp_path: Path) -> None:
    """In the order of time, from all diaries, with what was done to the processes."""
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text(
        '{"at": 11.0, "kind": "assign", "partitions": [0, 1], "epoch": 3}\n'
        '{"at": 12.0, "kind": "read", "partitions": [0], "offset": 5, "count": 2}\n'
        '{"at": 13.0, "kind": "read", "partitions": [1], "offset": 9, "count": 1}\n'
    )
    two.write_text('{"at": 12.5, "kind": "commit", "partitions": [0], "offset": 4}\n')
    told = story([one, two, tmp_path / "none"], [(12.2, "process 1 is killed")], {0}, began_at=10.0)
    assert told.splitlines() == [
        "   1.000 s  one: assign [0] at epoch 3",
        "   2.000 s  one: read 0@5..6",
        "   2.200 s  process 1 is killed",
        "   2.500 s  two: commit of 0@4 was accepted",
    ]
