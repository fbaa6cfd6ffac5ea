"""Jars that pip's pyspark lacks, from the cache to which scripts/provide.py brings them."""

from __future__ import annotations

from membership_client.testing.jars import cache_directory


def extra_jars() -> str:
    """For `from_avro`, for Spark's own Kafka source and for PostgreSQL, as `spark.jars`."""
    kinds = ("spark-avro", "spark-sql-kafka", "postgresql-jdbc")
    found = [jar for kind in kinds for jar in cache_directory().glob(f"{kind}-*/*.jar")]
    return ",".join(map(str, found))
