"""From a topic of JSON orders to the revenue of each customer as Parquet, epoch by epoch; each order counts exactly once.

Run it with the address of a broker that has a topic `orders`, and a directory. Run it again: it goes on where it ended.
"""

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as fn

from membership_client_spark import ParquetSink, epochs

bootstrap_servers, directory = sys.argv[1:]
spark = SparkSession.builder.master("local[2,4]").getOrCreate()


def revenue(df):
    order = fn.from_json(fn.col("value").cast("string"), "id BIGINT, customer STRING, cents BIGINT")
    orders = df.select(order.alias("order")).select("order.*")
    return orders.groupBy("customer").agg(fn.count("*").alias("orders"), fn.sum("cents").alias("cents"))


pipeline = epochs(
    spark,
    ParquetSink(directory, transform=revenue),
    config={"bootstrap.servers": bootstrap_servers, "group.id": "revenue", "auto.offset.reset": "earliest"},
    topics=["orders"],
    name="revenue",  # Its slots are the static members revenue-0 and revenue-1, in the next run too.
    slots=2,
    max_records=1_000_000,
    available_now=True,
)
with pipeline:
    print("epochs:", pipeline.wait().epochs, flush=True)
spark.read.parquet(directory).groupBy("customer").agg(fn.sum("orders"), fn.sum("cents")).orderBy("customer").show()
