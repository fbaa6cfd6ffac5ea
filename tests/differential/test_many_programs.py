"""Many random programs with both libraries; `python -m tests.differential` plays as many as you like."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from membership_client.testing import KafkaCluster
from tests.differential.both import play_both
from tests.differential.play import World

pytestmark = [pytest.mark.kafka, pytest.mark.deep]

AT_ONCE = 6


@pytest.mark.parametrize("first", range(1000, 1060, 20))
def test_twenty_programs_do_the_same_with_both_libraries(kafka: KafkaCluster, first: int) -> None:
    """What they return, raise, deliver and commit is the same, but for the intended differences."""
    world = World(kafka.bootstrap_servers)
    seeds = range(first, first + 20)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        mismatches = [mismatch for found in pool.map(lambda seed: play_both(seed, world), seeds) for mismatch in found]
    assert not mismatches, "\n\n".join(map(str, mismatches))
