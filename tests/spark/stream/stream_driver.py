"""A driver that streams a topic into a directory, starts the query again when it fails, and can be killed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.errors import StreamingQueryException

from tests.spark.clusters import driving
from tests.spark.stream.queries import Batches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PROGRAM = Path(__file__)


def main() -> None:
    from membership_client_spark import KafkaGroupSource

    task = driving.task()
    batches = Batches(Path(task["home"]))

    def write(df: DataFrame, batch_id: int) -> None:
        driving.say("batch", id=batch_id)
        batches.write(df, batch_id)

    with driving.session() as spark:
        spark.dataSource.register(KafkaGroupSource)
        frame = spark.readStream.format("kafka-group").options(**task["options"]).load()
        while True:
            writer = frame.writeStream.foreachBatch(write).option("checkpointLocation", batches.checkpoint)
            query = writer.start()
            driving.say("query")
            try:
                query.awaitTermination()
            except StreamingQueryException as error:
                driving.say("failed", text=str(error))


if __name__ == "__main__":
    main()
