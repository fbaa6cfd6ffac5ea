"""The summary says what happened, and the verdict is good only if all of it is."""

from __future__ import annotations

import pytest

from membership_client_spark.demo.events import DemoEvent
from membership_client_spark.demo.summary import complaints, summarize, table_lines, verdict
from tests.spark.demo.recorded import SWAPPED, beginning, whole


def test_a_run_as_it_should_be_has_no_complaints() -> None:
    summary = summarize(whole())
    assert summary.as_expected
    assert verdict(summary) == "An executor was lost; every order is there once, and the group did not notice."


@pytest.mark.parametrize(
    ("events", "complaint"),
    [
        (whole(rows=22), "2 rows are duplicates or of unknown orders"),
        (whole(rows=19, distinct=19), "1 orders are missing"),
        (whole(cents=499), "the revenue per customer does not add up"),
        (whole(group_epoch=5), "the group was rebalanced 2 times"),
        (whole(group_epoch=None), "the coordinator was not asked before and after"),
        (whole(slots=SWAPPED), "slots had other partitions than before"),
        (whole(lost=False), "no executor was lost, so nothing was shown"),
    ],
)
def test_whatever_is_not_as_it_should_be_is_said(events: list[DemoEvent], complaint: str) -> None:
    """One thing at a time, and nothing else is complained of."""
    summary = summarize(events)
    assert list(complaints(summary)) == [complaint]
    assert verdict(summary) == f"NOT AS EXPECTED: {complaint}."


def test_a_duplicate_does_not_make_up_for_a_missing_order() -> None:
    """As many rows as orders, but one is there twice and another not at all."""
    assert not summarize(whole(rows=20, distinct=19)).as_expected


def test_a_run_that_was_cut_short_is_not_as_expected() -> None:
    assert not summarize(beginning()).as_expected
    assert not summarize([]).as_expected


def test_the_table_has_a_line_for_each_figure() -> None:
    lines = [line.split() for line in table_lines(summarize(whole()))]
    assert ["orders", "produced", "20"] in lines
    assert ["duplicates", "0"] in lines
    assert ["executors", "lost", "1"] in lines
    assert ["group", "epoch", "before", "->", "after", "3", "->", "3"] in lines
    assert ["rebalances", "0"] in lines
