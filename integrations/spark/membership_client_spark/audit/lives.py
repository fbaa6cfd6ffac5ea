"""One row for each run of a member: who, where, from when to when, and whether it just ends."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from membership_client_spark.audit.trace_names import with_trace_names

_LIVES = with_trace_names("""
    SELECT life, min_by(instance_id, moment) AS instance_id, min_by(name, moment) AS name,
        min_by(pod, moment) AS pod, min_by(spark, moment) AS spark,
        min_by(time, moment) AS began, max_by(time, moment) AS ended, max_by(state, moment) AS state,
        max_by(is_saved, moment) AS is_saved, max_by(is_torn, moment) AS is_torn,
        min(CASE WHEN array_contains(effects.is, :Stop) THEN time END) AS stopped,
        coalesce(count(given_id) > 0 OR min_by(coalesce(start.settled, start.config.group_protocol), moment)
            IN (:CLASSIC, 'classic'), false) AS is_classic,
        coalesce(CASE WHEN is_classic
                THEN coalesce(min_by(start.config.heartbeat_interval_ms, moment), :MemberConfig.heartbeat_interval_ms)
                    / 1000 END,
            max(CASE WHEN beat.interval_s > 0 THEN beat.interval_s END),
            min_by(start.interval_s, moment), :Member.interval_s)
            + coalesce(min_by(start.config.request_timeout_ms, moment), :MemberConfig.request_timeout_ms) / 1000
            AS silent_s,
        flatten(collect_list(topics)) AS topics,
        count(wish) = 0 OR count(wish.regex) > 0 AS any_topic
    FROM (
        SELECT *, wish.topics FROM (
            SELECT *, CASE WHEN event.is = :Subscribe THEN struct(event.topics, event.regex)
                WHEN moment = 1 THEN start.subscription END AS wish
            FROM {moments}))
    GROUP BY life""")

# Something shows that it should have gone on: half a line, a successor, an heir, or the others, who go on without it.
_WITNESSED = with_trace_names("""
    WITH inherited AS (
        SELECT life, max(latest) AS latest FROM (
            SELECT life, ended, max(began.time) OVER (PARTITION BY life.`group`, topic, partition) AS latest
            FROM {holdings})
        WHERE ended IS NULL GROUP BY life),
    succeeded AS (
        SELECT *, max(ended) OVER () AS group_until,
            CASE WHEN instance_id IS NOT NULL THEN max(ended) OVER (PARTITION BY life.`group`, instance_id
                ORDER BY began RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) END AS successor_ended
        FROM {lives})
    SELECT l.*, NOT is_saved AND stopped IS NULL AND state NOT IN (:UNSUBSCRIBED, :FATAL) AND (is_torn
        OR greatest(successor_ended, latest, group_until - silent_s) - ended > :skew) AS vanished
    FROM succeeded l LEFT JOIN inherited i ON l.life = i.life""")

_PRESENT = """
    SELECT *,
        -- What was saved out of memory says nothing of what came after; any other may well have lived on.
        CASE WHEN stopped IS NOT NULL THEN stopped WHEN vanished OR is_saved THEN ended ELSE group_until END AS until
    FROM {witnessed}"""


def lives(spark: SparkSession, moments: DataFrame, holdings: DataFrame, skew_s: float) -> DataFrame:
    """`until` is when it was there last, as far as anybody can tell; `group_until`, when the last trace ends."""
    alone = spark.sql(_LIVES, moments=moments)
    witnessed = spark.sql(_WITNESSED, args={"skew": skew_s}, lives=alone, holdings=holdings)
    return spark.sql(_PRESENT, witnessed=witnessed)
