"""An audit: tables of what a fleet did, out of one pass over its traces."""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.storagelevel import StorageLevel

from membership_client_spark.arguments import checked_path
from membership_client_spark.audit import arrivals as arriving
from membership_client_spark.audit import stays as staying
from membership_client_spark.audit.callbacks import callbacks
from membership_client_spark.audit.calls import calls
from membership_client_spark.audit.files import files
from membership_client_spark.audit.gaps import gaps
from membership_client_spark.audit.holdings import holdings
from membership_client_spark.audit.lines import lines_that_matter
from membership_client_spark.audit.lives import lives
from membership_client_spark.audit.moments import moments
from membership_client_spark.audit.moves import moves
from membership_client_spark.audit.overlaps import overlaps
from membership_client_spark.audit.ownership import owned, ownership
from membership_client_spark.audit.rebalances import rebalances
from membership_client_spark.audit.slots import slots
from membership_client_spark.audit.summary import AuditSummary
from membership_client_spark.audit.triggers import triggers
from membership_client_spark.audit.writing import write_all


# Without slots, for what is made once.
@dataclass(frozen=True, eq=False)
class Audit:
    """Tables are made when somebody asks for them; the traces are read once, by whoever asks first.

    What lies between the traces and the tables stays on the executors' disks for as long as this object lives, and the
    tables are good for no longer. If an executor is lost, so is the audit: make another.
    """

    spark: SparkSession
    paths: Sequence[str]
    listing: DataFrame
    skew_s: float

    @functools.cached_property
    def ownership(self) -> DataFrame:
        return ownership(self.spark, self._owned)

    @functools.cached_property
    def overlaps(self) -> DataFrame:
        return overlaps(self.spark, self._owned, self.skew_s)

    @functools.cached_property
    def gaps(self) -> DataFrame:
        return gaps(self.spark, self._owned, self._lives, self._moments)

    @functools.cached_property
    def rebalances(self) -> DataFrame:
        moved = moves(self.spark, self._holdings, self._stays, self._arrivals)
        return rebalances(self.spark, self._epochs, self._arrivals, self._triggers, moved)

    @functools.cached_property
    def callbacks(self) -> DataFrame:
        return callbacks(self.spark, self._calls)

    @functools.cached_property
    def slots(self) -> DataFrame:
        return slots(self.spark, self._lives)

    @functools.cached_property
    def files(self) -> DataFrame:
        return files(self.spark, self.listing, self._lines)

    def write(self, path: str | os.PathLike[str]) -> AuditSummary:
        """Each table as Parquet in a folder of its name, and `index.html`, a page that sums them up.

        What an earlier audit wrote there is replaced; AuditTargetError, before anything is computed or changed, if there is
        anything else. A path without a scheme is on the session's `fs.defaultFS`; over Spark Connect it is one of local
        files. The page is written by this process and the tables by the executors: both must reach the path.
        """
        return write_all(self.spark, lambda name: getattr(self, name), checked_path("path", path))

    # --- on the way --------------------------------------------------------------------------------------------------

    @functools.cached_property
    def _lines(self) -> DataFrame:
        return _kept(lines_that_matter(self.spark, self.paths))

    @functools.cached_property
    def _moments(self) -> DataFrame:
        return _kept(moments(self.spark, self._lines))

    @functools.cached_property
    def _calls(self) -> DataFrame:
        return _kept(calls(self.spark, self._moments))

    @functools.cached_property
    def _holdings(self) -> DataFrame:
        return _kept(holdings(self.spark, self._moments))

    @functools.cached_property
    def _lives(self) -> DataFrame:
        return _kept(lives(self.spark, self._moments, self._holdings, self.skew_s))

    @functools.cached_property
    def _owned(self) -> DataFrame:
        return _kept(owned(self.spark, self._holdings, self._lives, self._calls))

    @functools.cached_property
    def _stretches(self) -> DataFrame:
        return staying.stretches(self.spark, self._moments)

    @functools.cached_property
    def _stays(self) -> DataFrame:
        return _kept(staying.stays(self.spark, self._stretches))

    @functools.cached_property
    def _arrivals(self) -> DataFrame:
        return _kept(arriving.arrivals(self.spark, self._stretches, self._stays))

    @functools.cached_property
    def _epochs(self) -> DataFrame:
        return _kept(arriving.epochs(self.spark, self._arrivals))

    @functools.cached_property
    def _triggers(self) -> DataFrame:
        happened = {"moments": self._moments, "lives": self._lives, "stays": self._stays}
        reached = {"arrivals": self._arrivals, "epochs": self._epochs}
        return _kept(triggers(self.spark, **happened, **reached, skew_s=self.skew_s))


def _kept(frame: DataFrame) -> DataFrame:
    """Computed now, and once: a plan that holds another one several times would compute it as often."""
    return frame.localCheckpoint(storageLevel=StorageLevel.DISK_ONLY)
