"""The callbacks of all runs: when each was wanted, when it returned, and how."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from membership_client_spark.audit.trace_names import with_trace_names

_CALLS = with_trace_names("""
    WITH wanted AS (
        SELECT life, name, at, explode(filter(effects, e -> e.is = :RunCallback)) AS run FROM {moments}),
    returned AS (
        SELECT life, at, event FROM {moments} WHERE event.is = :CallbackReturned),
    both AS (
        SELECT life, run.call_id, name, lower(run.kind) AS kind, at AS wanted_at,
            CAST(NULL AS DOUBLE) AS returned_at, CAST(NULL AS DOUBLE) AS began_at, CAST(NULL AS STRING) AS error
        FROM wanted
        UNION ALL
        SELECT life, event.call_id, NULL, NULL, NULL, at, event.began_at, event.error FROM returned)
    SELECT life, call_id, max(name) AS name, max(kind) AS kind, min(wanted_at) AS wanted_at,
        min(returned_at) AS returned_at, min(began_at) AS began_at, max(error) AS error
    FROM both GROUP BY life, call_id
    -- One that began before its trace did is left out.
    HAVING max(kind) IS NOT NULL""")


def calls(spark: SparkSession, moments: DataFrame) -> DataFrame:
    return spark.sql(_CALLS, moments=moments)
