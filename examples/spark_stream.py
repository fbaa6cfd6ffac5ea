"""A streaming word count over a topic, with a consumer group that Kafka's tools see.

Run it with the address of a broker, and a directory. It makes the topic `lines` and writes two lines to it; run it again, and
it counts on.
"""

import sys

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession
from pyspark.sql import functions as fn

from membership_client.admin import GroupAdmin
from membership_client_spark import KafkaGroupSource

bootstrap_servers, directory = sys.argv[1:]
admin = AdminClient({"bootstrap.servers": bootstrap_servers})
if "lines" not in admin.list_topics(timeout=30).topics:
    admin.create_topics([NewTopic("lines", 4)])["lines"].result()
producer = Producer({"bootstrap.servers": bootstrap_servers})
for line in ("the quick fox", "the lazy dog"):
    producer.produce("lines", line)
producer.flush()

spark = SparkSession.builder.master("local[2,4]").config("spark.sql.shuffle.partitions", 2).getOrCreate()
spark.dataSource.register(KafkaGroupSource)
options = {
    "kafka.bootstrap.servers": bootstrap_servers,
    "subscribe": "lines",
    "group.id": "words",
    "name": "words",  # Its member is the static member words-0, in the next run too.
    "startingOffsets": "earliest",
}
lines = spark.readStream.format("kafka-group").options(**options).load()
words = lines.select(fn.explode(fn.split(fn.col("value").cast("string"), " ")).alias("word"))
query = (
    words.groupBy("word")
    .count()
    .writeStream.outputMode("complete")
    .foreachBatch(lambda counts, _: counts.orderBy(fn.desc("count"), "word").show(1))
    .option("checkpointLocation", directory)
    .trigger(availableNow=True)
    .start()
)
query.awaitTermination()
with GroupAdmin(bootstrap_servers) as groups:
    print("lag:", sum(groups.describe("words").lag.values()), flush=True)
