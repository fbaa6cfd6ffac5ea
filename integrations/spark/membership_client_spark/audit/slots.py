"""Who held each instance id, one run after the other."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

_SLOTS = """
    SELECT `group`, instance_id, count(*) - 1 AS restarts, transform(
        array_sort(collect_list(struct(began, ended, member_id, host, pid, pod, spark))),
        h -> struct(h.host, h.pid, h.pod, h.spark, h.member_id,
            CAST(h.began AS TIMESTAMP) AS began, CAST(h.ended AS TIMESTAMP) AS ended)) AS holders
    FROM (SELECT life.*, instance_id, pod, spark, began, ended FROM {lives} WHERE instance_id IS NOT NULL)
    GROUP BY `group`, instance_id"""


def slots(spark: SparkSession, lives: DataFrame) -> DataFrame:
    """`holders` by when they began; a restart is every run after the first."""
    return spark.sql(_SLOTS, lives=lives)
