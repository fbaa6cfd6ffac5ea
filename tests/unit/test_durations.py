"""Durations in ISO 8601."""

from __future__ import annotations

import math

import pytest

from membership_client.arguments import duration_s


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("P1D", 86_400),
        ("PT6H", 21_600),
        ("pt1h30m", 5400),
        ("P1DT1M0.5S", 86_460.5),
        ("PT0S", 0),
        (f"P{'9' * 400}D", math.inf),
    ],
)
def test_a_duration_in_seconds(text: str, seconds: float) -> None:
    """Days, hours, minutes and seconds, in any case, however long."""
    assert duration_s(text) == seconds


@pytest.mark.parametrize("text", ["", "P", "PT", "6h", "-PT1H", "PT-1H", "P1W", "P1M", "PT1.5H", "PT1H ", "PT٣H"])
def test_what_is_no_duration(text: str) -> None:
    """Nothing, negative ones, and what is longer in some months than in others."""
    assert duration_s(text) is None
