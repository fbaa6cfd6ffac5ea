"""Which partitions a rebalance moved: who got them, and who gave them up."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

# Without what a static member finds again where it left it.
_GAINED = """
    SELECT h.life, h.topic, h.partition, h.began.epoch, h.began.at FROM {holdings} h
    LEFT ANTI JOIN {stays} s ON h.life = s.life AND h.began.at BETWEEN s.first.at AND s.last.at
        AND s.last_epoch = h.began.epoch AND s.returns
    WHERE NOT h.began.found"""

# A member reaches the new epoch only after it has given up what it must.
_LOST = """
    SELECT h.life, h.topic, h.partition, min(a.epoch) AS epoch, h.ended.at
    FROM {holdings} h JOIN {stays} s ON h.life = s.life AND h.ended.at BETWEEN s.first.at AND s.last.at
    JOIN {arrivals} a ON a.life = s.life AND a.stay = s.stay AND a.epoch > h.ended.epoch
    WHERE h.ended.epoch > 0 GROUP BY h.life, h.topic, h.partition, h.ended.at"""


def moves(spark: SparkSession, holdings: DataFrame, stays: DataFrame, arrivals: DataFrame) -> DataFrame:
    gained = spark.sql(_GAINED, holdings=holdings, stays=stays)
    return gained.unionByName(spark.sql(_LOST, holdings=holdings, stays=stays, arrivals=arrivals))
