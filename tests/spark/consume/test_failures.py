"""Slots that fail in the same way again and again: the job ends, with what was raised on the executor and where."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from membership_client.testing import KafkaCluster
from membership_client_spark import SlotFailedError, consume
from tests.spark.clusters.driver_process import PATIENCE_S
from tests.spark.pipeline.stage import Stage

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(400), pytest.mark.deep]


class FailsToLoad:
    """A handler that reaches the executor, and raises when it is unpickled there: before a slot exists that could tell."""

    def __reduce__(self) -> tuple[Callable[[str], object], tuple[str]]:
        return eval, ("{}['no such key']",)

    def __call__(self, batch: Any, slot: Any) -> None: ...


class CannotBeSent:
    """A handler that the driver cannot pickle."""

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("cannot pickle this handler")

    def __call__(self, batch: Any, slot: Any) -> None: ...


def raises(batch: Any, slot: Any) -> None:
    int("no number")


def failed(spark: SparkSession, stage: Stage, handle: Callable[[Any, Any], None]) -> SlotFailedError:
    """What ends the job."""
    job = consume(spark, slots=1, name="slot", config=stage.config(), topics=[stage.topic], handle=handle)
    with job, pytest.raises(SlotFailedError) as raised:
        assert job.wait(PATIENCE_S), "it goes on for ever"
    assert raised.value.slot == 0
    return raised.value


@pytest.fixture
def stage(kafka: KafkaCluster) -> Stage:
    made = Stage(kafka.bootstrap_servers)
    made.fill(10)
    return made


def test_a_slot_that_cannot_even_begin(spark: SparkSession, stage: Stage) -> None:
    """It was submitted for ever, and the log said that an exception was thrown from the Python worker."""
    error = failed(spark, stage, FailsToLoad())
    assert "failed 3 times in the same way: KeyError: 'no such key'" in str(error)
    assert error.executor_traceback is not None
    assert error.executor_traceback.startswith("Traceback")


def test_a_handler_that_cannot_be_sent(spark: SparkSession, stage: Stage) -> None:
    """The driver itself raises."""
    assert "cannot pickle this handler" in str(failed(spark, stage, CannotBeSent()))


def test_a_module_that_the_executors_do_not_have(
    spark: SparkSession, stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As confluent_kafka may be missing there, or a module of the application's own."""
    (tmp_path / "only_on_the_driver.py").write_text("def handle(batch, slot): ...\n")
    monkeypatch.syspath_prepend(tmp_path)
    handle = importlib.import_module("only_on_the_driver").handle
    error = failed(spark, stage, handle)
    assert "lacks a package (No module named 'only_on_the_driver')" in str(error)
    assert "PYSPARK_PYTHON" in str(error)


def test_another_version_of_python(spark: SparkSession, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver's version travels with each task."""
    monkeypatch.setattr(spark.sparkContext, "pythonVer", "3.99")
    error = failed(spark, stage, raises)
    assert "must run the same version of Python" in str(error)
    assert f"3.{sys.version_info[1]}" in str(error)


def test_a_handler_that_raises_is_shown_with_the_line_that_did(spark: SparkSession, stage: Stage) -> None:
    """Spark drops the cause of what a task raises, and with it the handler's own traceback."""
    error = failed(spark, stage, raises)
    assert str(error).startswith("Slot 0: The handler raised ValueError: invalid literal")
    assert error.executor_traceback is not None
    assert 'int("no number")' in error.executor_traceback
    assert "in raises" in error.executor_traceback
