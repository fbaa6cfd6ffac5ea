"""When a partition had two owners or more, and whether that is sure."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

_SAME_CLOCK_S = 0.01
"""How exactly two processes of one machine know the time of day."""

# Few holdings meet another one; only those are compared with each other.
_CONTESTED = """
    SELECT * FROM (
        SELECT *, coalesce(max(ended) OVER earlier > began, false) OR coalesce(lead(began) OVER later < ended, false)
            AS meets
        FROM {owned}
        WINDOW earlier AS (PARTITION BY life.`group`, topic, partition ORDER BY began, ended, life
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING),
            later AS (PARTITION BY life.`group`, topic, partition ORDER BY began, ended, life))
    WHERE meets"""

_OVERLAPS = """
    WITH edges AS (
        SELECT life.`group`, topic, partition, began AS edge FROM {contested}
        UNION SELECT life.`group`, topic, partition, ended FROM {contested}),
    spans AS (
        SELECT *, lead(edge) OVER (PARTITION BY `group`, topic, partition ORDER BY edge) AS until FROM edges)
    SELECT s.`group`, s.topic, s.partition, CAST(edge AS TIMESTAMP) AS began, CAST(until AS TIMESTAMP) AS ended,
        until - edge AS lasted_s,
        array_sort(collect_list(struct(o.instance_id, o.member_id, o.life.host, o.life.pid))) AS owners,
        until - edge > CASE WHEN count(DISTINCT o.life.host) > 1 THEN :skew ELSE :same_clock END AS sure
    FROM spans s JOIN {contested} o
        ON s.`group` = o.life.`group` AND s.topic = o.topic AND s.partition = o.partition
            AND o.began <= s.edge AND o.ended > s.edge
    GROUP BY s.`group`, s.topic, s.partition, edge, until HAVING count(*) > 1"""


def overlaps(spark: SparkSession, owned: DataFrame, skew_s: float) -> DataFrame:
    """`sure` is false where the clocks of two machines may differ by as much."""
    contested = spark.sql(_CONTESTED, owned=owned)
    return spark.sql(_OVERLAPS, args={"skew": skew_s, "same_clock": _SAME_CLOCK_S}, contested=contested)
