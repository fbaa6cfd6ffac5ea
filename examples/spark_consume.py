"""A Spark job that runs on: each slot is a static member, and its handler gets Arrow batches where the task runs.

Run it with the address of a broker that has a topic `orders`, and a directory; end it with SIGTERM.
"""

import signal
import sys

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from membership_client_spark import consume

bootstrap_servers, directory = sys.argv[1:]
spark = SparkSession.builder.master("local[2,4]").getOrCreate()


def handle(batch, slot):
    """Returning means: processed, commit. The file is named after its first record, so a repetition replaces it."""
    partition, offset = batch["partition"][0], batch["offset"][0]
    pq.write_table(pa.Table.from_batches([batch]), f"{directory}/{partition}-{offset}.parquet")


config = {"bootstrap.servers": bootstrap_servers, "group.id": "archive", "auto.offset.reset": "earliest"}
with consume(spark, slots=2, name="archive", config=config, topics=["orders"], handle=handle) as job:
    signal.signal(signal.SIGTERM, lambda *_: job.stop("terminated"))
    job.wait()
print(job, flush=True)
