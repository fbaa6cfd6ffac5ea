"""The callbacks of all member runs, and the table of how long they took, by member and method."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from membership_client_spark.audit.trace_schema import with_trace_names

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
