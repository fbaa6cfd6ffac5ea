"""Groups in trouble, by the hundred: nothing may go wrong on the way, and all must be well in the end.

`pytest tests/simulation --seed N` plays one seed; `--seeds N` plays more than by default.
"""

from __future__ import annotations

import pytest

from tests.simulation.generate import script_of
from tests.simulation.play import FailedRunError, play
from tests.simulation.report import describe_failure
from tests.simulation.tally import Tally

SEEDS_PER_TEST = 25


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test per handful of seeds, or the one seed that was asked for."""
    if "first" not in metafunc.fixturenames:
        return
    seed, count = metafunc.config.getoption("seed"), metafunc.config.getoption("seeds")
    firsts = range(0, count, SEEDS_PER_TEST)
    pieces = [(seed, seed + 1)] if seed is not None else [(at, min(count, at + SEEDS_PER_TEST)) for at in firsts]
    metafunc.parametrize(("first", "end"), pieces, ids=[f"{first}-{end - 1}" for first, end in pieces])


def test_every_seed_is_safe_and_comes_to_rest(first: int, end: int, tally: Tally) -> None:
    """No rule is broken at any moment, and once nothing bad happens any more the group comes to rest and stays there."""
    for seed in range(first, end):
        tally.seeds += 1
        try:
            play(script_of(seed))
        except FailedRunError as failure:
            pytest.fail(describe_failure(failure), pytrace=False)
