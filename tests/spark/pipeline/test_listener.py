"""A listener of a pipeline is told of its start, of each committed epoch, and of its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from membership_client import WaitTimeoutError
from membership_client.testing import KafkaCluster
from membership_client_spark import (
    EpochCommitted,
    EpochReport,
    Epochs,
    EpochsListener,
    EpochsProgress,
    PipelineEnded,
    PipelineStarted,
)
from membership_client_spark.pipeline.listener import Events
from tests.integration.members import eventually
from tests.spark.pipeline.stage import PATIENCE_S, Collecting, Stage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from membership_client_spark import OffsetRange

pytestmark = pytest.mark.deep

PROGRESS = EpochsProgress(epochs=1, records=10, last=None, running=None, slots=())


class Noting(EpochsListener):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[PipelineStarted | EpochCommitted | PipelineEnded] = []

    def on_started(self, event: PipelineStarted) -> None:
        self.told.append(event)

    def on_epoch(self, event: EpochCommitted) -> None:
        self.told.append(event)

    def on_ended(self, event: PipelineEnded) -> None:
        self.told.append(event)

    @property
    def kinds(self) -> list[str]:
        return [type(event).__name__ for event in self.told]


def test_a_listener_that_raises_is_logged_and_the_next_one_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """A pipeline must not end because a dashboard does not answer."""

    class Raising(EpochsListener):
        def on_started(self, event: PipelineStarted) -> None:
            raise OSError(f"no dashboard for {event.name}")

    noting, events = Noting(), Events("orders", "shop")
    for listener in (Raising(), noting):
        events.add(listener)
    events.started()
    events.epoch(EpochReport(1, (), 10, None, 0.5), PROGRESS)
    events.ended(PROGRESS, None)
    assert noting.kinds == ["PipelineStarted", "EpochCommitted", "PipelineEnded"]
    assert {(event.name, event.group_id) for event in noting.told} == {("orders", "shop")}
    assert "the listener Raising raised" in caplog.text
    assert "no dashboard for orders" in caplog.text


@pytest.mark.kafka
def test_a_listener_is_told_of_each_epoch_and_of_the_end(kafka: KafkaCluster, spark: SparkSession) -> None:
    """In order; when `wait()` has returned, it has been told of the end."""
    stage, noting = Stage(kafka.bootstrap_servers), Noting()
    stage.fill(30)
    stage.read_all(spark, Collecting(), max_records=10, listener=noting)
    assert noting.kinds == ["PipelineStarted", *["EpochCommitted"] * 3, "PipelineEnded"]
    epochs = [event for event in noting.told if isinstance(event, EpochCommitted)]
    assert [(event.epoch.epoch_id, event.epoch.records, event.progress.lag) for event in epochs] == [
        (1, 10, 20),
        (2, 10, 10),
        (3, 10, 0),
    ]
    assert [event.progress.running for event in epochs] == [None, None, None]
    ended = noting.told[-1]
    assert isinstance(ended, PipelineEnded)
    assert (ended.progress.epochs, ended.error) == (3, None)


@pytest.mark.kafka
def test_a_listener_is_told_which_error_ended_the_pipeline(kafka: KafkaCluster, spark: SparkSession) -> None:
    """The same that `wait()` raises."""
    stage, noting = Stage(kafka.bootstrap_servers), Noting()
    stage.fill(5)

    def failing(*_: Any) -> None:
        raise OSError("no room")

    with stage.run(spark, failing, listener=noting) as pipeline, pytest.raises(OSError, match="no room") as raised:
        pipeline.wait(PATIENCE_S)
    ended = noting.told[-1]
    assert noting.kinds == ["PipelineStarted", "PipelineEnded"]
    assert isinstance(ended, PipelineEnded)
    assert ended.error is raised.value


@pytest.mark.kafka
def test_a_pipeline_can_be_stopped_by_its_own_function(kafka: KafkaCluster, spark: SparkSession) -> None:
    """stop() waited for ever, for the end of an epoch that waited for it."""
    stage, made, said = Stage(kafka.bootstrap_servers), list[Epochs](), list[object]()
    stage.fill(5)

    def stopping(_df: object, _epoch: int, _ranges: tuple[OffsetRange, ...]) -> None:
        eventually(lambda: bool(made), "the pipeline", PATIENCE_S)
        said.append(made[0].stop("enough"))
        with pytest.raises(WaitTimeoutError, match="Call stop"):
            made[0].wait()

    made.append(stage.run(spark, stopping))
    made[0].wait(PATIENCE_S)
    assert said == [False]
    assert sum(stage.committed().values()) == 5
