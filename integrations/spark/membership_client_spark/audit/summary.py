"""An audit in numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSummary:
    began: float | None
    """Seconds since 1970, when a partition was first seen with an owner; None if none ever was."""
    ended: float | None
    files: int
    copies: int
    """Files that say what another one says."""
    lines: int
    torn: int
    """Last lines that are not whole: the process, or its machine, ended while they were written."""
    refused: int
    """Lines that are not of a trace, or of another version."""
    groups: int
    members: int
    """By instance id, or else by member id; who ran a callback."""
    partitions: int
    rebalances: int
    double_owners: int
    """Times that a partition had two owners for certain."""
    gaps: int
    longest_gap_s: float
    restarts: int
    callbacks: int
    failed_callbacks: int


_SUMMARY = """
    SELECT * FROM (
        SELECT count(*) AS files, count(copy_of) AS copies, coalesce(sum(lines), 0) AS lines,
            coalesce(sum(torn), 0) AS torn, coalesce(sum(refused), 0) AS refused FROM {files})
    CROSS JOIN (
        SELECT CAST(min(began) AS DOUBLE) AS began, CAST(max(ended) AS DOUBLE) AS ended,
            count(DISTINCT `group`, topic, partition) AS partitions FROM {ownership})
    CROSS JOIN (
        SELECT count(DISTINCT `group`) AS groups, count(DISTINCT `group`, member) AS members,
            coalesce(sum(count), 0) AS callbacks, coalesce(sum(failures), 0) AS failed_callbacks FROM {callbacks})
    CROSS JOIN (SELECT count(*) AS rebalances FROM {rebalances})
    CROSS JOIN (SELECT count_if(sure) AS double_owners FROM {overlaps})
    CROSS JOIN (SELECT count(*) AS gaps, coalesce(max(lasted_s), 0D) AS longest_gap_s FROM {gaps})
    CROSS JOIN (SELECT coalesce(sum(restarts), 0) AS restarts FROM {slots})"""


def summarise(spark: SparkSession, tables: Mapping[str, DataFrame]) -> AuditSummary:
    (row,) = spark.sql(_SUMMARY, None, **tables).collect()
    return AuditSummary(**row.asDict())
