"""How long callbacks took, and how many failed: by member and method."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

_CALLBACKS = """
    SELECT life.`group`, name AS member, concat('on_', kind) AS method, count(*) AS count,
        count_if(error IS NOT NULL) AS failures, count_if(returned_at IS NULL) AS unreturned,
        percentile_approx(returned_at - wanted_at, 0.5D) AS p50_s,
        percentile_approx(returned_at - wanted_at, 0.95D) AS p95_s,
        percentile_approx(returned_at - wanted_at, 0.99D) AS p99_s,
        max(returned_at - wanted_at) AS max_s,
        max(greatest(0D, coalesce(began_at - wanted_at, 0D))) AS max_waited_s
    FROM {calls} GROUP BY life.`group`, name, kind"""


def callbacks(spark: SparkSession, calls: DataFrame) -> DataFrame:
    """Times are from when a callback was wanted to its return: so long the group waited.

    `max_waited_s` is the part in which it was wanted and had not begun, because the application did not poll.
    """
    return spark.sql(_CALLBACKS, calls=calls)
