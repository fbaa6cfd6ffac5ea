"""Jars that pip's pyspark lacks, from the cache to which scripts/provide.py brings them."""

from __future__ import annotations

from membership_client.testing.jars import cache_directory


def extra_jars() -> str:
    """For `from_avro` and for Spark's own Kafka source, as `spark.jars`."""
    found = [jar for kind in ("avro", "sql-kafka") for jar in cache_directory().glob(f"spark-{kind}-*/*.jar")]
    return ",".join(map(str, found))
