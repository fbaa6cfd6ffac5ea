"""The simulation's seeds after those of the quick tier."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.simulation.fleet import Outcome
from tests.simulation.tally import Tally

pytestmark = pytest.mark.deep


def test_every_seed_is_safe_and_comes_to_rest(seeds: range, playing: Callable[[range], Outcome], tally: Tally) -> None:
    """As the test of the same name in test_simulation.py, which has the first seeds."""
    tally.expect_success(playing(seeds))
