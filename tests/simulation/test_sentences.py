"""What `diagnose`, the report and `watch` say of simulated groups is what happened.

`pytest tests/simulation/test_sentences.py --seed N` reads one seed, in this process.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.simulation.fleet import Outcome


def test_every_sentence_is_true(seeds: range, reading: Callable[[range], Outcome]) -> None:
    """Each name, number, partition and time of day in it; the bugs: "within 0.0 s" of 45.3 s, five changes that were one."""
    assert reading(seeds).failure is None
