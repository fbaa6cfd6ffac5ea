"""What a member did, or what was done to it, that made the coordinator raise the group epoch."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from membership_client_spark.audit.trace_names import with_trace_names

# A join raises the epoch with which the member is let in, unless another member reached that epoch before: then targets
# are computed in batches, the newcomer was let in at the old epoch, and its join raised the next one.
_JOINS = """
    SELECT * FROM (
        SELECT a.life, a.name, CASE
                WHEN l.is_classic THEN a.epoch
                WHEN a.first_join_time < a.time OR a.time - a.others_time > :skew THEN e.next_epoch
                ELSE a.epoch END AS epoch,
            a.at, a.time, 'joined' AS cause,
            concat(a.name, ' joined', CASE WHEN a.again THEN ' again' ELSE '' END) AS text, a.others_time IS NULL AS sure
        FROM {arrivals} a JOIN {epochs} e ON a.life.`group` = e.`group` AND a.epoch = e.epoch
        JOIN {lives} l ON a.life = l.life
        WHERE a.joins)
    WHERE epoch IS NOT NULL"""

_CHANGES = with_trace_names("""
    WITH sent AS (
        SELECT life, name, moment, at, time, e.request_id, e.request
        FROM {moments} LATERAL VIEW explode(
            filter(effects, e -> e.request.is = :Heartbeat AND e.request.regex IS NOT NULL)) AS e),
    answered AS (
        SELECT life, answer.request_id, min_by(answer.epoch, moment) AS epoch
        FROM {moments} WHERE answer IS NOT NULL GROUP BY life, answer.request_id),
    stated AS (
        SELECT s.*, a.epoch, struct(s.request.topics, s.request.regex) AS wish,
            lag(struct(s.request.topics, s.request.regex)) OVER (PARTITION BY s.life ORDER BY s.moment) AS wish_before
        FROM sent s JOIN answered a ON s.life = a.life AND s.request_id = a.request_id)
    SELECT life, name, epoch, at, time, 'subscription' AS cause,
        concat(name, ' changed its subscription to ',
            CASE WHEN wish.regex <> '' THEN wish.regex ELSE array_join(wish.topics, ', ') END) AS text, true AS sure
    FROM stated WHERE wish <> wish_before AND epoch > request.epoch AND request.epoch > 0""")

# In a classic group whoever wants a rebalance joins again, and says why. Those who follow say that they do.
_REJOINS = with_trace_names("""
    WITH sent AS (
        SELECT life, name, moment, at, time, e.request.reason, e.request.topics
        FROM {moments} LATERAL VIEW explode(filter(effects, e -> e.request.is = :JoinGroup
            AND e.request.reason NOT IN ('group is rebalancing', 'no answer from the coordinator')
            AND NOT startswith(e.request.reason, 'coordinator error'))) AS e),
    brought AS (
        SELECT s.life, s.moment, min(a.epoch) AS epoch
        FROM sent s JOIN {stays} st ON s.life = st.life AND s.moment > st.first.moment AND s.at <= st.last.at
            JOIN {arrivals} a ON a.life = st.life AND a.stay = st.stay AND a.at > s.at
        GROUP BY s.life, s.moment)
    SELECT s.life, s.name, b.epoch, s.at, s.time,
        CASE s.reason WHEN 'subscription changed' THEN 'subscription' ELSE 'asked for' END AS cause,
        CASE s.reason WHEN 'subscription changed'
            THEN concat(s.name, ' changed its subscription to ', array_join(array_sort(s.topics), ', '))
            ELSE concat(s.name, ' joined again (', s.reason, ')') END AS text, true AS sure
    FROM sent s JOIN brought b ON s.life = b.life AND s.moment = b.moment""")

# The next epoch that anybody else reached after it had gone, as far as the clocks can tell.
_ENDS = """
    WITH gone AS (
        SELECT s.* FROM {stays} s JOIN {lives} l ON s.life = l.life
        WHERE (s.ending <> 'open' OR l.vanished) AND NOT s.comes_back),
    followed AS (
        SELECT g.life, g.stay, min(e.epoch) AS epoch FROM gone g JOIN {epochs} e
        ON g.life.`group` = e.`group` AND e.epoch > g.last_epoch
            AND CASE WHEN e.first_life = g.life THEN e.second_time ELSE e.began END >= g.confirmed - :skew
        GROUP BY g.life, g.stay)
    SELECT g.life, g.name, f.epoch, g.last.at, g.last.time,
        CASE g.ending WHEN 'open' THEN 'vanished' ELSE g.ending END AS cause,
        concat(g.name, ' ', CASE g.ending WHEN 'left' THEN 'left' WHEN 'thrown out' THEN 'was fenced'
            WHEN 'did not poll' THEN 'left, because it did not poll' WHEN 'ended' THEN 'ended'
            WHEN 'open' THEN 'ended without leaving' ELSE 'left for a while and did not come back' END,
            CASE WHEN g.reason <> '' THEN concat(' (', g.reason, ')') ELSE '' END) AS text, false AS sure
    FROM gone g JOIN followed f ON g.life = f.life AND g.stay = f.stay"""


def triggers(
    spark: SparkSession,
    *,
    moments: DataFrame,
    lives: DataFrame,
    stays: DataFrame,
    arrivals: DataFrame,
    epochs: DataFrame,
    skew_s: float,
) -> DataFrame:
    """`sure` where the answer to that very request brought the new epoch."""
    skew = {"skew": skew_s}
    joins = spark.sql(_JOINS, args=skew, arrivals=arrivals, epochs=epochs, lives=lives)
    ends = spark.sql(_ENDS, args=skew, stays=stays, lives=lives, epochs=epochs)
    changes = spark.sql(_CHANGES, moments=moments)
    rejoins = spark.sql(_REJOINS, moments=moments, stays=stays, arrivals=arrivals)
    return joins.unionByName(changes).unionByName(rejoins).unionByName(ends)
