"""The sentences about the seeds after those of the quick tier."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.simulation.fleet import Outcome

pytestmark = pytest.mark.deep


def test_every_sentence_is_true(seeds: range, reading: Callable[[range], Outcome]) -> None:
    """As the test of the same name in test_sentences.py, which has the first seeds."""
    assert reading(seeds).failure is None
