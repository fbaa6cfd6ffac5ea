"""Who owned which partition from when to when, and how that ended."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

_OWNED = """
    SELECT l.life, l.instance_id, l.name, CASE WHEN l.instance_id IS NULL THEN l.name ELSE l.life.member_id END AS member_id,
        h.topic, h.partition, h.began.epoch, h.began.time AS began,
        coalesce(h.ended.time, greatest(l.until, h.began.time)) AS ended,
        CASE WHEN h.ended IS NOT NULL THEN coalesce(c.kind, 'missing')
            WHEN l.vanished THEN 'vanished' WHEN l.stopped IS NOT NULL THEN 'closed' ELSE 'open' END AS ending,
        l.group_until
    FROM {holdings} h JOIN {lives} l ON h.life = l.life
    LEFT JOIN {calls} c ON h.life = c.life AND h.ended.call_id = c.call_id"""

_OWNERSHIP = """
    SELECT life.`group`, topic, partition, instance_id, member_id, life.host, life.pid, epoch,
        CAST(began AS TIMESTAMP) AS began, CAST(ended AS TIMESTAMP) AS ended, ended - began AS lasted_s, ending
    FROM {owned}"""


def owned(spark: SparkSession, holdings: DataFrame, lives: DataFrame, calls: DataFrame) -> DataFrame:
    """`ending`: the callback that took it away (`revoked`, `lost`), or why there was none.

    `closed`: the member ended without giving it back. `vanished`: its trace just ends. `open`: it may well go on, and
    `ended` is when the traces end. `missing`: so the next file says, and the one in which it happened is not here.
    """
    return spark.sql(_OWNED, holdings=holdings, lives=lives, calls=calls)


def ownership(spark: SparkSession, owned: DataFrame) -> DataFrame:
    return spark.sql(_OWNERSHIP, owned=owned)
