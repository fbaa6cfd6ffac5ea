"""Groups in trouble, by the thousand: nothing may go wrong on the way, and all must be well in the end.

`pytest tests/simulation --seed N` plays one seed, in this process; `--seeds N` plays more or fewer than by default.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.simulation.fleet import Outcome, cut
from tests.simulation.tally import Tally


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test per handful of seeds, or the one seed that was asked for."""
    if "seeds" not in metafunc.fixturenames:
        return
    seed, count = metafunc.config.getoption("seed"), metafunc.config.getoption("seeds")
    pieces = cut(count) if seed is None else [range(seed, seed + 1)]
    metafunc.parametrize("seeds", pieces, ids=[f"{piece[0]}-{piece[-1]}" for piece in pieces])


def test_every_seed_is_safe_and_comes_to_rest(seeds: range, playing: Callable[[range], Outcome], tally: Tally) -> None:
    """No rule is broken at any moment, and once nothing bad happens any more the group comes to rest and stays there."""
    outcome = playing(seeds)
    tally.count(outcome.seeds, outcome.processor_s)
    if outcome.failure is not None:
        pytest.fail(outcome.failure, pytrace=False)
