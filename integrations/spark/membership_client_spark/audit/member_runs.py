"""Member runs (ids, host, time, and whether the process vanished), their callbacks, and the tables `slots` and `callbacks`."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from membership_client_spark.audit.trace_schema import with_trace_names

# `max_silence_s`: the longest time for which a live member writes nothing, an interval and the wait for an answer.
_RUNS = with_trace_names("""
    SELECT run, min_by(instance_id, entry) AS instance_id, min_by(name, entry) AS name,
        min_by(pod, entry) AS pod, min_by(spark, entry) AS spark,
        min_by(time, entry) AS began, max_by(time, entry) AS ended, max_by(state, entry) AS state,
        max_by(is_saved, entry) AS is_saved, max_by(is_torn, entry) AS is_torn,
        min(CASE WHEN array_contains(effects.is, :Stop) THEN time END) AS stopped,
        coalesce(count(given_id) > 0 OR min_by(coalesce(start.settled, start.config.group_protocol), entry)
            IN (:CLASSIC, 'classic'), false) AS is_classic,
        coalesce(CASE WHEN is_classic
                THEN coalesce(min_by(start.config.heartbeat_interval_ms, entry), :MemberConfig.heartbeat_interval_ms)
                    / 1000 END,
            max(CASE WHEN heartbeat.interval_s > 0 THEN heartbeat.interval_s END),
            min_by(start.interval_s, entry), :Member.interval_s)
            + coalesce(min_by(start.config.request_timeout_ms, entry), :MemberConfig.request_timeout_ms) / 1000
            AS max_silence_s,
        flatten(collect_list(topics)) AS topics,
        count(subscription) = 0 OR count(subscription.regex) > 0 AS any_topic
    FROM (
        SELECT *, subscription.topics FROM (
            SELECT *, CASE WHEN event.is = :Subscribe THEN struct(event.topics, event.regex)
                WHEN entry = 1 THEN start.subscription END AS subscription
            FROM {entries}))
    GROUP BY run""")

# A run vanished if it has no end and something shows that it should have gone on: half a line, a later run of its instance
# id, a later owner of its partitions, or other members that went on for longer than it may be silent.
_VANISHED = with_trace_names("""
    WITH reassigned AS (
        SELECT run, max(latest) AS latest FROM (
            SELECT run, ended, max(began.time) OVER (PARTITION BY run.`group`, topic, partition) AS latest
            FROM {owned_periods})
        WHERE ended IS NULL GROUP BY run),
    succeeded AS (
        SELECT *, max(ended) OVER () AS traces_until,
            CASE WHEN instance_id IS NOT NULL THEN max(ended) OVER (PARTITION BY run.`group`, instance_id
                ORDER BY began RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) END AS successor_ended
        FROM {runs})
    SELECT s.*, NOT is_saved AND stopped IS NULL AND state NOT IN (:UNSUBSCRIBED, :FATAL) AND (is_torn
        OR greatest(successor_ended, latest, traces_until - max_silence_s) - ended > :skew) AS vanished
    FROM succeeded s LEFT JOIN reassigned r ON s.run = r.run""")

# A trace that was saved from memory says nothing of what came after; any other run may have gone on until the traces end.
_LASTING = """
    SELECT *, CASE WHEN stopped IS NOT NULL THEN stopped WHEN vanished OR is_saved THEN ended ELSE traces_until END AS until
    FROM {vanished}"""

_SLOTS = """
    SELECT `group`, instance_id, count(*) - 1 AS restarts, transform(
        array_sort(collect_list(struct(began, ended, member_id, host, pid, pod, spark))),
        h -> struct(h.host, h.pid, h.pod, h.spark, h.member_id,
            CAST(h.began AS TIMESTAMP) AS began, CAST(h.ended AS TIMESTAMP) AS ended)) AS holders
    FROM (SELECT run.*, instance_id, pod, spark, began, ended FROM {runs} WHERE instance_id IS NOT NULL)
    GROUP BY `group`, instance_id"""


def member_runs(spark: SparkSession, entries: DataFrame, owned_periods: DataFrame, skew_s: float) -> DataFrame:
    """`until` is when the run was last there, as far as the traces tell; `traces_until`, when the last trace of all ends."""
    alone = spark.sql(_RUNS, entries=entries)
    vanished = spark.sql(_VANISHED, args={"skew": skew_s}, runs=alone, owned_periods=owned_periods)
    return spark.sql(_LASTING, vanished=vanished)


def slots(spark: SparkSession, runs: DataFrame) -> DataFrame:
    """The table `slots`: the runs of each instance id, by when they began. Every run after the first is a restart."""
    return spark.sql(_SLOTS, runs=runs)


# --- callbacks of all member runs, and the table \callbacks` -------------------------------------------------------

_CALLS = with_trace_names("""
    WITH wanted AS (
        SELECT run, name, at, explode(filter(effects, e -> e.is = :RunCallback)) AS effect FROM {entries}),
    returned AS (
        SELECT run, at, event FROM {entries} WHERE event.is = :CallbackReturned),
    both AS (
        SELECT run, effect.call_id, name, lower(effect.kind) AS kind, at AS wanted_at,
            CAST(NULL AS DOUBLE) AS returned_at, CAST(NULL AS DOUBLE) AS began_at, CAST(NULL AS STRING) AS error
        FROM wanted
        UNION ALL
        SELECT run, event.call_id, NULL, NULL, NULL, at, event.began_at, event.error FROM returned)
    SELECT run, call_id, max(name) AS name, max(kind) AS kind, min(wanted_at) AS wanted_at,
        min(returned_at) AS returned_at, min(began_at) AS began_at, max(error) AS error
    FROM both GROUP BY run, call_id
    -- A callback that began before its trace is left out: nothing says which kind it is.
    HAVING max(kind) IS NOT NULL""")

_CALLBACKS = """
    SELECT run.`group`, name AS member, concat('on_', kind) AS method, count(*) AS count,
        count_if(error IS NOT NULL) AS failures, count_if(returned_at IS NULL) AS unreturned,
        percentile_approx(returned_at - wanted_at, 0.5D) AS p50_s,
        percentile_approx(returned_at - wanted_at, 0.95D) AS p95_s,
        percentile_approx(returned_at - wanted_at, 0.99D) AS p99_s,
        max(returned_at - wanted_at) AS max_s,
        max(greatest(0D, coalesce(began_at - wanted_at, 0D))) AS max_waited_s
    FROM {calls} GROUP BY run.`group`, name, kind"""


def calls(spark: SparkSession, entries: DataFrame) -> DataFrame:
    """One row for each callback: when it was wanted, when it began and returned, and its error."""
    return spark.sql(_CALLS, entries=entries)


def callbacks(spark: SparkSession, calls: DataFrame) -> DataFrame:
    """The table `callbacks`. A callback lasts from when it was wanted to its return, because the group waits that long.

    `max_waited_s` is the part before it began, because the application did not poll.
    """
    return spark.sql(_CALLBACKS, calls=calls)
