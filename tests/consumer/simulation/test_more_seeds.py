"""More interleavings of the threads of a Consumer than the quick tier has."""

from __future__ import annotations

import pytest

from tests.consumer.simulation.play import play

pytestmark = [pytest.mark.deep, pytest.mark.timeout(900)]

SEEDS = range(1000, 2000)
"""Seed 1055 found records of new partitions in the buffer before their callback had returned."""


def test_no_interleaving_of_a_thousand_breaks_a_rule() -> None:
    """The rules of `test_bridge.py`."""
    callbacks = [len(play(seed).ran) for seed in SEEDS]
    assert sum(callbacks) > 5 * len(SEEDS)
