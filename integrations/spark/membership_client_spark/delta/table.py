"""A Delta table as the place of a sink's epochs: one commit per epoch, whose metadata has the manifest.

Two things keep an epoch from being there twice. Delta refuses a transaction of an application whose number another commit
has taken since it began; that number, the id of the epoch, is in checkpoints and outlives the log. But Delta also skips,
without a word, a transaction whose number is not greater than the last one. So after each write the history is asked
whose commit is there.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast

from pyspark.errors import ParseException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_fixed

from membership_client_spark.errors import SparkSettingsError
from membership_client_spark.pipeline.manifest import Manifest, ManifestError, find_manifest


class DeltaWriter(Protocol):
    """How rows get into a table."""

    def create(self, rows: DataFrame) -> None:
        """Makes the table, without rows, if it is not there. May fail if another driver does the same at the same time."""

    def write(self, rows: DataFrame, options: Mapping[str, str]) -> None:
        """Commits rows, with these options of the DataFrameWriter, in one commit."""


_MARK, _END = '{"membership-client": ', "}"
"""Around a manifest in the metadata of a commit, so that it is taken for nothing else."""

_APPLICATION = "membership-client"
"""The same for all groups: of two groups that begin with one table at once, Delta refuses the second."""

_PAGES = (10, 1000, None)
"""How many commits are looked at first: a great history takes Spark a while, and the newest commit is often ours."""

_ABSENT = frozenset({"DELTA_TABLE_ONLY_OPERATION", "TABLE_OR_VIEW_NOT_FOUND"})
"""What DESCRIBE HISTORY says of a path, and of a name, where no table is."""

_OCCUPIED = "DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION"
"""What creating a table says where another driver creates it and has written its first file, but not its first commit."""

_CREATION_S = 30.0
"""Longer than another driver takes to create a table."""


class DeltaTable:
    """Belongs to the pipeline's thread."""

    def __init__(self, spark: SparkSession, group: str, name: str, writer: DeltaWriter) -> None:
        self._spark = spark
        self._group = group
        self._name = name
        self._writer = writer
        self._is_created = False

    def exists(self) -> bool:
        return bool(self._history(1))

    def newest(self) -> Manifest | None:
        return next(self._manifests(), None)

    def manifest(self, epoch: int) -> Manifest | None:
        return find_manifest(self._manifests(), epoch, self._group)

    def publish(self, rows: DataFrame, manifest: Manifest, check: Callable[[], None]) -> bool:
        check()
        self._create_once(rows)
        options = {
            "txnAppId": _APPLICATION,
            "txnVersion": str(manifest.epoch),
            "userMetadata": f"{_MARK}{manifest.to_text()}{_END}",
        }
        try:
            self._writer.write(rows, options)
        except Exception:  # Delta's conflicts have no type in Python.
            # Another driver's commit, or ours after all: the answer to a commit may be lost on its way.
            found = self.manifest(manifest.epoch)
            if found is None:
                raise
        else:
            found = self.manifest(manifest.epoch)
        return found is not None and found.run == manifest.run

    def _create_once(self, rows: DataFrame) -> None:
        """Before the first epoch, because Delta leaves the metadata out of a commit that makes a table with a name."""
        if self._is_created:
            return
        again = Retrying(
            retry=retry_if_exception(_is_occupied),
            wait=wait_fixed(0.5),
            stop=stop_after_delay(_CREATION_S),
            reraise=True,
        )
        again(self._create, rows)
        self._is_created = True

    def _create(self, rows: DataFrame) -> None:
        try:
            self._writer.create(rows)
        except Exception:  # See above.
            if not self.exists():
                raise

    def clean(self, group: str) -> None:
        """Does nothing: VACUUM deletes the files of attempts that were not committed."""

    def _manifests(self) -> Iterator[Manifest]:
        """The manifests in the history, the newest first."""
        below: int | None = None
        for limit in _PAGES:
            commits = self._history(limit)
            for version, metadata in commits:
                if below is None or version < below:
                    below = version
                    if metadata is not None and metadata.startswith(_MARK):
                        yield self._read(version, metadata)
            if limit is None or len(commits) < limit:
                return

    def _history(self, limit: int | None) -> list[tuple[int, str | None]]:
        """Version and metadata of the newest commits; none if there is no table."""
        statement = f"DESCRIBE HISTORY {self._name}" + ("" if limit is None else f" LIMIT {limit}")
        try:
            rows = self._spark.sql(statement).select("version", "userMetadata").collect()
        except ParseException as error:
            raise SparkSettingsError(
                f"{self._name}: this session does not understand {statement!r}. A DeltaSink needs the jar of delta-spark, "
                "spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension and "
                "spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog."
            ) from error
        except PySparkException as error:
            if error.getCondition() in _ABSENT:
                return []
            if error.getCondition() == "DELTA_ONLY_OPERATION":
                raise SparkSettingsError(f"{self._name} is no Delta table. Give DeltaSink another name.") from error
            raise
        return [(row.version, row.userMetadata) for row in rows]

    def _read(self, version: int, metadata: str) -> Manifest:
        try:
            return Manifest.from_text(metadata.removeprefix(_MARK).removesuffix(_END))
        except ManifestError as error:
            raise ManifestError(f"{self._name}, version {version}: {error.detail}") from error


def _is_occupied(error: BaseException) -> bool:
    return isinstance(error, PySparkException) and error.getCondition() == _OCCUPIED


# --- the two ways to commit rows -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DeltaAppend:
    """Appends to the table of that name, or at that path."""

    name: str
    path: str | None
    partition_by: tuple[str, ...]

    def create(self, rows: DataFrame) -> None:
        """Makes the table, with the partitions that were asked for."""
        self._save(rows.limit(0), "ignore", {})

    def write(self, rows: DataFrame, options: Mapping[str, str]) -> None:
        self._save(rows, "append", options)

    def _save(self, rows: DataFrame, mode: str, options: Mapping[str, str]) -> None:
        writer = rows.write.format("delta").mode(mode).options(**options)
        if self.partition_by:
            writer = writer.partitionBy(*self.partition_by)
        if self.path is None:
            writer.saveAsTable(self.name)
        else:
            writer.save(self.path)


@dataclass(frozen=True, slots=True)
class DeltaStatement:
    """Runs a statement of SQL with `{rows}` in it, on a table that exists. Not for Spark Connect."""

    text: str

    def create(self, rows: DataFrame) -> None:
        """Does nothing: the table exists."""

    def write(self, rows: DataFrame, options: Mapping[str, str]) -> None:
        # A session of its own: in the user's one, the settings would also be those of what other threads write.
        own = _clone(rows.sparkSession)
        own.conf.set("spark.databricks.delta.write.txnAppId", options["txnAppId"])
        own.conf.set("spark.databricks.delta.write.txnVersion", options["txnVersion"])
        own.conf.set("spark.databricks.delta.commitInfo.userMetadata", options["userMetadata"])
        view = f"epoch_{uuid.uuid4().hex}"
        rows.createGlobalTempView(view)
        try:
            own.sql(self.text.replace("{rows}", f"global_temp.{view}")).collect()
        finally:
            own.catalog.dropGlobalTempView(view)


def _clone(spark: SparkSession) -> SparkSession:
    """A session with the same settings, database and temporary views, which one made by `newSession` would not have."""
    java = cast("Any", spark)._jsparkSession.cloneSession()  # noqa: SLF001 - Python has no other way to it
    return SparkSession(spark.sparkContext, java)
