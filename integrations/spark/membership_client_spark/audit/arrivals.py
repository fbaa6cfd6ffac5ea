"""Who reached which epoch when: the coordinator's own count of rebalances, which no clock can put out of order."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from membership_client_spark.audit.trace_names import with_trace_names

_ARRIVALS = with_trace_names("""
    WITH reached AS (
        SELECT life, stay, epoch, min(moment) AS moment, min_by(at, moment) AS at, min_by(time, moment) AS time,
            -- When it was stable with it, or else the last moment before the next.
            coalesce(min(at) FILTER (WHERE state = :STABLE), max(last_at)) AS settled_at
        FROM {stretches} WHERE is_step AND epoch > 0 GROUP BY life, stay, epoch)
    SELECT r.*, s.name, s.again, r.moment <> s.first.moment OR s.joined AS witnessed,
        s.joined AND r.epoch = s.first_epoch AND NOT s.returns AS joins,
        CASE WHEN row_number() OVER places = 1 THEN nth_value(r.time, 2) OVER everybody
            ELSE first(r.time) OVER everybody END AS others_time,
        min(CASE WHEN s.joined AND r.epoch = s.first_epoch THEN r.time END) OVER everybody AS first_join_time
    FROM reached r JOIN {stays} s ON r.life = s.life AND r.stay = s.stay
    WINDOW places AS (PARTITION BY r.life.`group`, r.epoch ORDER BY r.time, r.life, r.stay),
        everybody AS (PARTITION BY r.life.`group`, r.epoch ORDER BY r.time, r.life, r.stay
            ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)""")

# The two earliest runs: for each run in the group, one of them is the first of the others.
_EPOCHS = """
    WITH firsts AS (
        SELECT life.`group`, epoch, life, min(time) AS time, bool_or(witnessed) AS witnessed
        FROM {arrivals} GROUP BY life.`group`, epoch, life),
    ranked AS (
        SELECT *, row_number() OVER (PARTITION BY `group`, epoch ORDER BY time, life) AS place FROM firsts)
    SELECT *, lead(epoch) OVER (PARTITION BY `group` ORDER BY epoch) AS next_epoch FROM (
        SELECT `group`, epoch, min(time) AS began, min_by(life, place) AS first_life,
            max(CASE WHEN place = 2 THEN time END) AS second_time
        FROM ranked GROUP BY `group`, epoch HAVING bool_or(witnessed))"""


def arrivals(spark: SparkSession, stretches: DataFrame, stays: DataFrame) -> DataFrame:
    """Of each stay, the first moment with each epoch.

    `witnessed` if it was not so from the beginning; `others_time` is when the first of the others reached it, and
    `first_join_time` when the first member that joined with this epoch did.
    """
    return spark.sql(_ARRIVALS, stretches=stretches, stays=stays)


def epochs(spark: SparkSession, arrivals: DataFrame) -> DataFrame:
    """Those that somebody was seen to reach."""
    return spark.sql(_EPOCHS, arrivals=arrivals)
