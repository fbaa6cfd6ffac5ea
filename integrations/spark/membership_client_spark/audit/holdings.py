"""Which partitions each run owned: from the return of one callback to the return of the one that took it away."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

# What is owned is told where a section begins, and whenever it changes.
_TOLD = """
    SELECT life, moment, true AS found, at, time, epoch, CAST(NULL AS BIGINT) AS call_id,
        transform(
            filter(map_entries(start.owned), e -> try_element_at(start.names, e.key) IS NOT NULL),
            e -> struct(try_element_at(start.names, e.key) AS topic, e.value AS ranges)) AS shares
    FROM {moments} WHERE opens
    UNION ALL
    SELECT life, moment, false, at, time, epoch, event.call_id,
        transform(map_entries(owned), e -> struct(e.key AS topic, e.value AS ranges))
    FROM {moments} WHERE owned IS NOT NULL"""

_NUMBERED = """
    SELECT *, row_number() OVER life AS telling, lead(struct(at, time, epoch, call_id)) OVER life AS following
    FROM {told}
    WINDOW life AS (PARTITION BY life ORDER BY moment, found DESC)"""

_EACH = """
    SELECT life, found, at, time, epoch, telling, following, share.topic, partition
    FROM {numbered}
    LATERAL VIEW explode(shares) AS share
    LATERAL VIEW explode(flatten(transform(split(share.ranges, ','),
        r -> sequence(CAST(split(r, '-')[0] AS INT), CAST(element_at(split(r, '-'), -1) AS INT))))) AS partition"""

_HOLDINGS = """
    WITH marked AS (
        SELECT *, coalesce(lag(telling) OVER own, -1) < telling - 1 AS begins FROM {each}
        WINDOW own AS (PARTITION BY life, topic, partition ORDER BY telling)),
    counted AS (
        SELECT *, count_if(begins) OVER own AS holding FROM marked
        WINDOW own AS (PARTITION BY life, topic, partition ORDER BY telling))
    SELECT life, topic, partition,
        min_by(struct(at, time, epoch, found), telling) AS began, max_by(following, telling) AS ended
    FROM counted GROUP BY life, topic, partition, holding"""


def holdings(spark: SparkSession, moments: DataFrame) -> DataFrame:
    """`ended` is null where nothing says that it ended; `began.found` where it was owned when the trace began."""
    numbered = spark.sql(_NUMBERED, told=spark.sql(_TOLD, moments=moments))
    return spark.sql(_HOLDINGS, each=spark.sql(_EACH, numbered=numbered))
