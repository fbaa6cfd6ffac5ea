"""Lanes of text show the right owner in the right column."""

from __future__ import annotations

from membership_client.demo.facts import Span, gaps, overlaps, owned_spans
from membership_client.demo.view import Timescale
from tests.demo.recorded import gives, gone, takes


def test_spans_are_put_in_order_of_time_not_of_arrival() -> None:
    """Two processes write to two pipes, so the order of arrival is random."""
    lanes = owned_spans([takes(3, "b", 2, 0), takes(1, "a", 1, 0), gives(2, "a", 1, 0), gone(4, "b", 2)])
    assert lanes == {0: [Span("a", 1, 2), Span("b", 3, 4)]}
    assert gaps(lanes[0]) == [Span(None, 2, 3), Span(None, 4)]
    assert overlaps(lanes[0]) == []


def test_two_owners_at_once_overlap() -> None:
    lanes = owned_spans([takes(1, "a", 1, 0), takes(2, "b", 2, 0), gives(3, "a", 1, 0)])
    assert len(overlaps(lanes[0])) == 1


def test_a_column_shows_who_owned_it_for_most_of_its_time() -> None:
    scale = Timescale(begins=0, now=5, columns=10, step_s=1)
    cells = scale.cells([Span("a", 0, 1.9), Span("b", 3.8)])
    assert [cell.owner for cell in cells] == ["a", "a", None, None, "b"]
    assert [cell.first for cell in cells] == [True, False, False, False, True]


def test_the_scale_grows_with_the_run_and_never_overflows() -> None:
    for seconds in (0.1, 9.0, 60.0, 4000.0):
        scale = Timescale.fitting(0, seconds, 70)
        assert len(scale.cells([Span("a", 0)])) <= 70
