"""`audit()` and what it returns: tables of what a fleet did, from one pass over its traces."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.storagelevel import StorageLevel

from membership_client import ConfigError
from membership_client.arguments import shown
from membership_client_spark.arguments import checked_path, checked_seconds, checked_session
from membership_client_spark.audit import member_runs, memberships, ownership, rebalances, trace_files
from membership_client_spark.audit.summary import AuditSummary, bar_charts, render, summarise, tops
from membership_client_spark.audit.target import open_target

SKEW_S = 2.0
"""By how much the clocks of two machines are assumed to differ, unless the caller says otherwise."""

TABLES = ("files", "ownership", "overlaps", "gaps", "rebalances", "callbacks", "slots")


def audit(
    spark: SparkSession, paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], *, skew_s: float = SKEW_S
) -> Audit:
    """An audit of the traces at these paths: files, folders with all that is below them, or patterns.

    Files may be compressed, rotated or copies of each other. Only their names are read now.
    `skew_s` is by how much the clocks of two machines may differ.
    NoTracesError if a path matches nothing; ConfigError for arguments of a wrong type.
    """
    checked_session(spark)
    skew_s = checked_seconds("skew_s", skew_s)
    if isinstance(paths, str | os.PathLike):
        paths = [paths]
    if isinstance(paths, bytes | Mapping | type) or not isinstance(paths, Iterable):
        raise ConfigError(f"paths must be a path or a list of paths, not {shown(paths)}.")
    found = tuple(checked_path("paths: each of them", path) for path in paths)
    return Audit(spark, found, trace_files.listing(spark, found), skew_s)


# Without slots, for what is computed once.
@dataclass(frozen=True, eq=False)
class Audit:
    """Seven tables, each computed when it is first asked for; the traces are read once, by the first of them.

    Intermediate results stay on the executors' disks for as long as this object lives, and the tables are valid for no
    longer. If an executor is lost, the audit is lost too: make another.
    """

    spark: SparkSession
    paths: Sequence[str]
    listing: DataFrame
    skew_s: float

    @functools.cached_property
    def ownership(self) -> DataFrame:
        """Each time that a member owned a partition."""
        return ownership.ownership(self.spark, self._owned)

    @functools.cached_property
    def overlaps(self) -> DataFrame:
        """Each time that a partition had several owners."""
        return ownership.overlaps(self.spark, self._owned, self.skew_s)

    @functools.cached_property
    def gaps(self) -> DataFrame:
        """Each time that a partition had no owner although a member was present to own it."""
        return ownership.gaps(self.spark, self._owned, self._runs, self._entries)

    @functools.cached_property
    def rebalances(self) -> DataFrame:
        """Each epoch that a traced member was seen to reach."""
        moves = rebalances.moves(self.spark, self._owned_periods, self._memberships, self._arrivals)
        return rebalances.rebalances(self.spark, self._epochs, self._arrivals, self._triggers, moves)

    @functools.cached_property
    def callbacks(self) -> DataFrame:
        """How long callbacks took, by member and method."""
        return member_runs.callbacks(self.spark, self._calls)

    @functools.cached_property
    def slots(self) -> DataFrame:
        """The processes that held each instance id."""
        return member_runs.slots(self.spark, self._runs)

    @functools.cached_property
    def files(self) -> DataFrame:
        """Each file, and how many of its lines could be read."""
        return trace_files.files(self.spark, self.listing, self._lines)

    def write(self, path: str | os.PathLike[str]) -> AuditSummary:
        """Writes each table as Parquet in a folder of its name, and `index.html`, a page that sums them up.

        What an earlier audit wrote there is replaced; AuditTargetError, before anything is computed or changed, if there is
        anything else. A path without a scheme is on the session's `fs.defaultFS`; over Spark Connect it is one of local
        files. The page is written by this process and the tables by the executors: both must reach the path.
        """
        target = open_target(self.spark, checked_path("path", path))  # First: computing the tables may take an hour.
        for name in TABLES:
            getattr(self, name).write.mode("overwrite").parquet(f"{target.path}/{name}")
        written = {name: self.spark.read.parquet(f"{target.path}/{name}") for name in TABLES}
        summary = summarise(self.spark, written)
        target.write("index.html", _page(self.spark, written, summary).encode())
        return summary

    # --- intermediate results ----------------------------------------------------------------------------------------

    @functools.cached_property
    def _lines(self) -> DataFrame:
        return _checkpoint(trace_files.changing_lines(self.spark, self.paths))

    @functools.cached_property
    def _entries(self) -> DataFrame:
        return _checkpoint(trace_files.trace_entries(self.spark, self._lines))

    @functools.cached_property
    def _calls(self) -> DataFrame:
        return _checkpoint(member_runs.calls(self.spark, self._entries))

    @functools.cached_property
    def _owned_periods(self) -> DataFrame:
        return _checkpoint(ownership.owned_periods(self.spark, self._entries))

    @functools.cached_property
    def _runs(self) -> DataFrame:
        return _checkpoint(member_runs.member_runs(self.spark, self._entries, self._owned_periods, self.skew_s))

    @functools.cached_property
    def _owned(self) -> DataFrame:
        return _checkpoint(ownership.owned(self.spark, self._owned_periods, self._runs, self._calls))

    @functools.cached_property
    def _in_group(self) -> DataFrame:
        return memberships.entries_in_group(self.spark, self._entries)

    @functools.cached_property
    def _memberships(self) -> DataFrame:
        return _checkpoint(memberships.memberships(self.spark, self._in_group))

    @functools.cached_property
    def _arrivals(self) -> DataFrame:
        return _checkpoint(rebalances.arrivals(self.spark, self._in_group, self._memberships))

    @functools.cached_property
    def _epochs(self) -> DataFrame:
        return _checkpoint(rebalances.epochs(self.spark, self._arrivals))

    @functools.cached_property
    def _triggers(self) -> DataFrame:
        return _checkpoint(
            rebalances.triggers(
                self.spark,
                entries=self._entries,
                runs=self._runs,
                memberships=self._memberships,
                arrivals=self._arrivals,
                epochs=self._epochs,
                owned_periods=self._owned_periods,
                skew_s=self.skew_s,
            )
        )


def _checkpoint(frame: DataFrame) -> DataFrame:
    """Computes the frame now, once. A plan that contains another plan several times would compute it as often."""
    return frame.localCheckpoint(storageLevel=StorageLevel.DISK_ONLY)


def _page(spark: SparkSession, tables: Mapping[str, DataFrame], summary: AuditSummary) -> str:
    began, ended = summary.began or 0.0, summary.ended or 0.0
    return render(summary, bar_charts(spark, tables, began, ended), list(tops(spark, tables)))
