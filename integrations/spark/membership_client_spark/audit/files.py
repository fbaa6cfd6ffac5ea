"""Which files there are, and what became of their lines."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from membership_client import MembershipError


class NoTracesError(MembershipError, ValueError):
    advice = "Give files, folders or patterns such as traces/*.jsonl*, as Spark's workers see them."


_FILES = """
    WITH counts AS (
        SELECT file, max(number) AS lines, count_if(kind = 'header') AS headers, count_if(torn) AS torn,
            max(refused) AS refused, max_by(file_content, number) AS content,
            min_by(concat('line ', number, ': ', refusal), number) FILTER (WHERE refusal IS NOT NULL) AS why
        FROM {lines} GROUP BY file),
    compared AS (
        SELECT *, min(file) OVER (PARTITION BY lines, content) AS original FROM counts)
    SELECT f.file, coalesce(f.bytes, 0) AS bytes, coalesce(c.lines, 0) AS lines, coalesce(c.headers, 0) AS headers, coalesce(c.torn, 0) AS torn,
        coalesce(c.refused, 0) AS refused, CASE WHEN c.file IS NULL THEN 'it is empty, or cannot be read' ELSE c.why END AS why,
        CASE WHEN c.original <> f.file THEN c.original END AS copy_of
    FROM {listing} f LEFT JOIN compared c ON f.file = c.file"""


def listing(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """Each file once, with its size; nothing of it is read. NoTracesError if there is none."""
    try:
        found = spark.read.format("binaryFile").option("recursiveFileLookup", value=True).load(list(paths))
        names = [name.replace("file:///", "file:/", 1) for name in found.inputFiles()]
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        raise NoTracesError(f"Nothing is at {(error.getMessageParameters() or {}).get('path', paths)}.") from error
    if not names:
        raise NoTracesError(f"There is no file in {', '.join(paths) or 'an empty list of paths'}.")
    # Empty files have a name and nothing else: no scan returns a row for them.
    sizes = found.selectExpr("_metadata.file_path AS file", "_metadata.file_size AS bytes")
    return spark.createDataFrame([(name,) for name in names], "file STRING").join(sizes, "file", "left")


def files(spark: SparkSession, listing: DataFrame, lines: DataFrame) -> DataFrame:
    """A torn line is the last of a run whose process ended while it wrote; a refused one is left out, and `why`."""
    return spark.sql(_FILES, listing=listing, lines=lines)
