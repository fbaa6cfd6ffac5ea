"""What happens is printed in sentences, changes only."""

from __future__ import annotations

from pathlib import Path

import pytest

from membership_client_spark.demo.events import (
    DriverReport,
    DriverTask,
    EpochBegan,
    ExecutorGone,
    decode_report,
    decode_task,
    encode_report,
    encode_task,
)
from membership_client_spark.demo.screen import PipelineSentences, save_screen
from tests.spark.demo.recorded import SWAPPED, whole

SAID = [event for event in whole(slots=SWAPPED) if isinstance(event, DriverReport)]


def test_slots_are_told_when_their_partitions_change() -> None:
    sentences = PipelineSentences()
    told = [line.text for event in whole() for line in sentences.sentences_for(event)]
    assert told.count("slot s-0 owns partitions 0 1") == 1
    assert "executor 0 killed in the middle of epoch 2 (kill -9 70)" in told
    assert "epoch  2: 10 records in 1.5 s (7/s)" in told
    again = sentences.sentences_for(EpochBegan(at=10.0, epoch=3, slots=SWAPPED))
    assert [line.text for line in again] == ["slot s-0 owns partitions 2", "slot s-1 owns partitions 0 1"]


def test_an_executor_that_was_not_killed_by_us_is_told_as_such() -> None:
    (line,) = PipelineSentences().sentences_for(ExecutorGone(at=1.0, executor="7"))
    assert line.text == "executor 7 is lost, and the demonstration did not kill it"


@pytest.mark.parametrize("said", SAID, ids=lambda said: type(said).__name__)
def test_what_the_driver_says_arrives_as_it_was(said: DriverReport) -> None:
    line = encode_report(said)
    assert "\n" not in line
    assert decode_report(line) == said


def test_the_task_arrives_as_it_was() -> None:
    task = DriverTask(bootstrap_servers="h:1", directory="/a b", python_path="p", records=3, max_records=2)
    assert decode_task(encode_task(task)) == task


def test_the_picture_is_an_svg_that_fetches_nothing(tmp_path: Path) -> None:
    save_screen([("a line", "bold red"), ("", "")], tmp_path / "demo.svg")
    svg = (tmp_path / "demo.svg").read_text()
    assert svg.startswith("<svg")
    assert "url(" not in svg.replace("url(#", "")
