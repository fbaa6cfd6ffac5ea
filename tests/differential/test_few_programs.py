"""A few random programs with both libraries, in the quick tier; `test_many_programs.py` has more."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from membership_client.testing import KafkaCluster
from tests.differential.both import play_both
from tests.differential.play import World

pytestmark = pytest.mark.kafka

SEEDS = (3, 4, 7, 8)


def test_a_few_programs_do_the_same_with_both_libraries(kafka: KafkaCluster) -> None:
    """What they return, raise, deliver and commit is the same, but for the intended differences."""
    world = World(kafka.bootstrap_servers)
    with ThreadPoolExecutor(len(SEEDS)) as pool:
        mismatches = [mismatch for found in pool.map(lambda seed: play_both(seed, world), SEEDS) for mismatch in found]
    assert not mismatches, "\n\n".join(map(str, mismatches))
