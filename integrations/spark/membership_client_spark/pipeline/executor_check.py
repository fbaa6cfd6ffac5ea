"""Finds out early whether executors can run the Python reader: by a small job, while the members join."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql import SparkSession

from membership_client_spark.errors import SparkSettingsError
from membership_client_spark.slot_failure import setup_note
from membership_client_spark.spark_session import described_jobs

logger = logging.getLogger("membership_client_spark")


class ExecutorCheck:
    """One task that imports what reading needs; it also starts the first Python worker. Belongs to the pipeline's thread."""

    def __init__(self, spark: SparkSession, name: str) -> None:
        self._spark = spark
        self._name = name
        self._advice: str | None = None
        self._thread = threading.Thread(target=self._run, name=f"{name}-executors", daemon=True)
        self._thread.start()

    def is_running(self) -> bool:
        return self._thread.is_alive()

    def raise_if_unfit(self) -> None:
        """SparkSettingsError if executors were found unable to read."""
        if self._advice:
            raise SparkSettingsError(f"Executors cannot read epochs: {self._advice}")

    def _run(self) -> None:
        def load(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            import confluent_kafka  # noqa: PLC0415 - in the task
            import pyarrow  # noqa: ICN001, PLC0415 - in the task

            for _ in batches:
                yield pyarrow.RecordBatch.from_pydict({"version": [str(confluent_kafka.version())]})

        try:
            with described_jobs(self._spark, f"{self._name}: check of the executors' Python"):
                self._spark.range(0, 1, 1, 1).mapInArrow(load, "version string").collect()
        except Exception as error:  # noqa: BLE001 - other failures, such as lost executors, are those of the epoch's own job
            self._advice = setup_note(error)
            logger.debug("[%s] the check of the executors' Python failed: %s", self._name, error)
