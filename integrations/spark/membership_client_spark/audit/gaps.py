"""When a partition had no owner although somebody was there to own it."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from membership_client_spark.audit.trace_names import with_trace_names

# Before the first owner nobody knows whether the partition existed; after one that may go on, whether it was owned.
_BETWEEN = """
    WITH lasting AS (
        SELECT *, max(struct(ended, ending, name)) OVER earlier AS before
        FROM {owned}
        WINDOW earlier AS (PARTITION BY life.`group`, topic, partition ORDER BY began, ended
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING))
    SELECT life.`group`, topic, partition, before, began AS until, name AS next_owner FROM lasting
    WHERE before.ended < began AND before.ending <> 'open'
    UNION ALL
    SELECT life.`group`, topic, partition, max(struct(ended, ending, name)) AS before, max(group_until), NULL
    FROM {owned} GROUP BY life.`group`, topic, partition HAVING before.ending <> 'open'"""

_PRESENT = with_trace_names("""
    SELECT l.life, l.topics, l.any_topic, m.time AS began,
        least(l.until, coalesce(lead(m.time) OVER (PARTITION BY l.life ORDER BY m.moment), l.until)) AS ended,
        m.state NOT IN (:UNSUBSCRIBED, :LEAVING, :FATAL) AS is_there
    FROM {lives} l JOIN (
        SELECT life, moment, time, state FROM {moments} WHERE state <> state_before
        UNION ALL SELECT life, 0, time, state_before FROM {moments} WHERE moment = 1) m ON l.life = m.life""")

# Times in which anybody was there that wants the topic, joined where they touch.
_WANTED = """
    WITH topics AS (SELECT DISTINCT life.`group`, topic FROM {owned}),
    there AS (
        SELECT t.`group`, t.topic, p.began, p.ended FROM {present} p JOIN topics t ON p.life.`group` = t.`group`
        WHERE is_there AND p.ended > p.began AND (any_topic OR array_contains(topics, t.topic))),
    marked AS (
        SELECT *, coalesce(began > max(ended) OVER (PARTITION BY `group`, topic ORDER BY began
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), true) AS begins
        FROM there),
    counted AS (
        SELECT *, count_if(begins) OVER (PARTITION BY `group`, topic ORDER BY began
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS stretch
        FROM marked)
    SELECT `group`, topic, min(began) AS began, max(ended) AS ended FROM counted GROUP BY `group`, topic, stretch"""

_GAPS = """
    SELECT g.`group`, g.topic, g.partition, CAST(greatest(w.began, g.before.ended) AS TIMESTAMP) AS began,
        CAST(least(w.ended, g.until) AS TIMESTAMP) AS ended,
        least(w.ended, g.until) - greatest(w.began, g.before.ended) AS lasted_s,
        g.before.name AS last_owner, g.before.ending, g.next_owner
    FROM {between} g JOIN {wanted} w ON g.`group` = w.`group` AND g.topic = w.topic
        AND greatest(w.began, g.before.ended) < least(w.ended, g.until)"""


def gaps(spark: SparkSession, owned: DataFrame, lives: DataFrame, moments: DataFrame) -> DataFrame:
    """`ending` is how it was lost by its last owner; `next_owner` is null if nobody took it before the traces end."""
    present = spark.sql(_PRESENT, lives=lives, moments=moments)
    wanted = spark.sql(_WANTED, owned=owned, present=present)
    return spark.sql(_GAPS, between=spark.sql(_BETWEEN, owned=owned), wanted=wanted)
