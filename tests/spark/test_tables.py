"""Progress as people see it: in a terminal, in a log, in a notebook."""

from __future__ import annotations

from dataclasses import replace

from membership_client import MemberState, TopicPartition
from membership_client_spark.pipeline.interface import EpochReport, EpochsProgress, SlotView
from membership_client_spark.tables import html_table, text_table


def progress(name: str) -> EpochsProgress:
    slot = SlotView(
        slot=0,
        instance_id=name,
        state=MemberState.STABLE,
        partitions=frozenset({TopicPartition("t", 0), TopicPartition("t", 1)}),
        lag=1234,
    )
    return EpochsProgress(epochs=2, records=3000, last=EpochReport(2, (), 2000, None, 4.0), running=3, slots=(slot,))


def test_a_pipeline_is_printed_with_its_pace_its_lag_and_its_slots() -> None:
    """print(pipeline.progress()) was the repr of a nested value."""
    assert str(progress("till-0")) == (
        "2 epochs with 3,000 records, 500 records/s in the last one; epoch 3 is running; lag 1,234\n"
        "slot  instance id  state   partitions  lag\n"
        "0     till-0       stable  2           1,234"
    )


def test_one_epoch_is_no_plural() -> None:
    """`1 epochs with 1 records` was printed after the first epoch."""
    assert str(replace(progress("till-0"), epochs=1, records=1, last=None)).startswith("1 epoch with 1 record; epoch 3")


def test_a_notebook_gets_a_table_with_nothing_of_html_in_it() -> None:
    """Names come from users, and a notebook runs what is in a page."""
    shown = progress("<script>")._repr_html_()
    assert shown.startswith("<table><caption>2 epochs")
    assert "<td>&lt;script&gt;</td><td>stable</td><td>2</td><td>1,234</td></tr></table>" in shown
    assert html_table("a & b", ["<"], []) == "<table><caption>a &amp; b</caption><tr><th>&lt;</th></tr></table>"


def test_columns_of_text_are_as_wide_as_their_widest_cell() -> None:
    """Also where that is the head."""
    assert text_table(("a", "head"), [("long", "1")]) == "a     head\nlong  1"
