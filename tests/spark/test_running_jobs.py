"""Methods of a slot job and of a pipeline that run are fed bad values, too: a typed error, or success, and never a hang."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

import membership_client_spark
from membership_client.testing import KafkaCluster
from membership_client_spark import Epochs, SlotJob, consume
from tests.arguments.bad_values import NUMBERS, WAITS
from tests.arguments.feeding import Table, feed
from tests.arguments.kinds import Kind
from tests.arguments.surface import Place, places
from tests.arguments.tables import REASON
from tests.integration.members import eventually
from tests.spark.pipeline.stage import PATIENCE_S, Collecting, Stage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.kafka, pytest.mark.deep, pytest.mark.timeout(400)]

TABLE = Table(
    by_name={
        "slots": Kind(1, frozenset({"1"})),
        "reason": REASON,
        "timeout_s": Kind(0.05, NUMBERS | {"None"}),
    },
    by_place={},
)
FED = {f"membership_client_spark.{kind}.{name}" for kind in ("SlotJob", "Epochs") for name in ("wait", "scale", "stop")}
PLACES = [place for place in places(membership_client_spark) if place.owner in {"SlotJob", "Epochs"}]


@pytest.fixture
def slot_job(kafka: KafkaCluster, spark: SparkSession) -> Iterator[SlotJob]:
    """With one slot, which owns the whole topic."""

    def nothing(*_: object) -> None:
        """In here, because Spark sends a function of this module by its name, which executors do not know."""

    stage = Stage(kafka.bootstrap_servers)
    with consume(spark, slots=1, name="till", config=stage.config(), topics=[stage.topic], handle=nothing) as job:
        eventually(lambda: all(one.partitions for one in job.progress()), "a slot with partitions", PATIENCE_S)
        yield job


@pytest.fixture
def pipeline(kafka: KafkaCluster, spark: SparkSession) -> Iterator[Epochs]:
    """With one slot, and nothing to read."""
    with Stage(kafka.bootstrap_servers).run(spark, Collecting(), slots=1) as made:
        yield made


def test_every_method_is_known() -> None:
    """A new one needs a row in the table, and is fed."""
    assert {place.path for place in PLACES} == FED


def _fed(made: Any, owner: str) -> list[str]:
    """All its methods; that which ends it comes last."""
    mine = sorted((place for place in PLACES if place.owner == owner), key=lambda place: place.name == "stop")
    return [str(complaint) for place in mine for complaint in _complaints(place, getattr(made, place.name))]


def _complaints(place: Place, call: Callable[..., Any]) -> Iterator[object]:
    """Other timeouts would be waited for: the job runs on."""
    left_out = WAITS | {"None"} if place.name == "wait" else frozenset[str]()
    return feed(place, call, TABLE, leave_out=left_out)


def test_bad_values_for_a_slot_job(slot_job: SlotJob) -> None:
    """An exception as the reason of stop() was a traceback in the driver's log, and no slot heard that it was to end."""
    assert _fed(slot_job, "SlotJob") == []


def test_bad_values_for_a_pipeline(pipeline: Epochs) -> None:
    """As for the job."""
    assert _fed(pipeline, "Epochs") == []


def test_slots_are_told_to_end_whatever_the_reason_is(slot_job: SlotJob) -> None:
    """An exception could not be sent to them: they ran on until they were cancelled, after the whole timeout."""
    with ThreadPoolExecutor() as pool:
        pool.submit(slot_job.stop, ValueError("sold out"), timeout_s=10 * PATIENCE_S).result(PATIENCE_S)  # type: ignore[arg-type]
