"""Groups in trouble, by the hundred: nothing may go wrong on the way, and all must be well in the end.

`pytest tests/simulation --seed N` plays one seed, in this process; `--seeds N` plays more or fewer than by default.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.simulation.fleet import Outcome
from tests.simulation.tally import Tally


def test_every_seed_is_safe_and_comes_to_rest(seeds: range, playing: Callable[[range], Outcome], tally: Tally) -> None:
    """No rule is broken at any moment, and once nothing bad happens any more the group comes to rest and stays there."""
    tally.expect_success(playing(seeds))
