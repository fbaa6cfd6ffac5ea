"""The rebalances of each group: who set each off, who took part, what moved, how long it took."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

# By each member's own clock; the rebalance took as long as whoever was busy with it for longest.
_LASTED = """
    WITH busy AS (
        SELECT life, epoch, at FROM {arrivals}
        UNION ALL SELECT life, epoch, settled_at FROM {arrivals}
        UNION ALL SELECT life, epoch, at FROM {triggers}
        UNION ALL SELECT life, epoch, at FROM {moves})
    SELECT `group`, epoch, max(lasted_s) AS lasted_s FROM (
        SELECT life.`group`, epoch, max(at) - min(at) AS lasted_s FROM busy GROUP BY life.`group`, life.member_id, epoch)
    GROUP BY `group`, epoch"""

_REBALANCES = """
    WITH why AS (
        SELECT life.`group`, epoch, min(time) AS time, bool_or(sure) AS sure, array_sort(collect_set(cause)) AS causes,
            array_sort(collect_set(text)) AS texts
        FROM {triggers} GROUP BY life.`group`, epoch),
    who AS (
        SELECT life.`group`, epoch, array_sort(collect_set(name)) AS members FROM (
            SELECT life, epoch, name FROM {triggers} UNION ALL SELECT life, epoch, name FROM {arrivals})
        GROUP BY life.`group`, epoch),
    moved AS (
        SELECT life.`group`, epoch, count(DISTINCT topic, partition) AS moved FROM {moves}
        GROUP BY life.`group`, epoch)
    SELECT CAST(least(e.began, why.time) AS TIMESTAMP) AS time, `group`, epoch,
        coalesce(array_join(why.causes, ', '), 'unknown') AS cause, coalesce(array_join(why.texts, '; '), '') AS trigger,
        CASE WHEN why.sure THEN 'certain' WHEN NOT why.sure THEN 'likely' ELSE 'unknown' END AS certainty,
        who.members, coalesce(moved.moved, 0) AS moved, l.lasted_s
    FROM {epochs} e LEFT JOIN why USING (`group`, epoch) LEFT JOIN who USING (`group`, epoch)
    LEFT JOIN moved USING (`group`, epoch) LEFT JOIN {lasted} l USING (`group`, epoch)"""


def rebalances(
    spark: SparkSession, epochs: DataFrame, arrivals: DataFrame, triggers: DataFrame, moves: DataFrame
) -> DataFrame:
    """Where no traced member set it off, `cause` is `unknown`: a member without a trace did, a topic, or an administrator."""
    lasted = spark.sql(_LASTED, arrivals=arrivals, triggers=triggers, moves=moves)
    return spark.sql(_REBALANCES, epochs=epochs, arrivals=arrivals, triggers=triggers, moves=moves, lasted=lasted)
