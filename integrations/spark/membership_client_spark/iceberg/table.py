"""An Iceberg table as the place of a sink's epochs: a snapshot's summary has the manifest.

Two appends do not conflict in Iceberg: of two drivers that commit one epoch, both would succeed. So an epoch is written to a
branch that begins at the newest snapshot, and published by moving `main` forward to it. The catalog compares and sets it in
one step, and refuses if `main` has moved since.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Protocol, cast

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from membership_client import ConfigError, MembershipError
from membership_client_spark.errors import SparkSettingsError
from membership_client_spark.pipeline.manifest import (
    Manifest,
    ManifestError,
    find_manifest,
    is_attempt_of,
    new_attempt,
)

_KEY = "membership-client"
"""Of the manifest in a snapshot's summary."""

_MAIN = "main"

_WRITES = 10
"""How often an epoch is written, if other programs commit to the table meanwhile."""

_CHANGES, _PAUSE_S = 50, 0.05
"""How often a change of a branch is tried. It fails whenever anything of the table changes at the same time."""

logger = logging.getLogger("membership_client_spark")


class IcebergWriter(Protocol):
    """How rows get into a table, or into a branch of one."""

    def write(self, rows: DataFrame, table: str, properties: dict[str, str], /) -> None:
        """Commits rows in at most one snapshot, which may have the properties in its summary."""


class IcebergTable:
    """Belongs to the pipeline's thread. ConfigError if there is no such table."""

    def __init__(self, spark: SparkSession, group: str, name: str, writer: IcebergWriter) -> None:
        self._spark = spark
        self._group = group
        self._writer = writer
        self._name, self._java = _found(spark, name)
        if self._java.currentSnapshot() is None:
            self._append_nothing(self._name, {})  # A branch begins at a snapshot.

    def newest(self) -> Manifest | None:
        self._java.refresh()
        return next(self._manifests(self._java.currentSnapshot()), None)

    def manifest(self, epoch: int) -> Manifest | None:
        self._java.refresh()
        return find_manifest(self._manifests(self._java.currentSnapshot()), epoch, self._group)

    def publish(self, rows: DataFrame, manifest: Manifest, check: Callable[[], None]) -> bool:
        for _ in range(_WRITES):
            self._java.refresh()
            start = self._java.currentSnapshot()
            newest = next(self._manifests(start), None)
            if newest is not None and (newest.epoch >= manifest.epoch or newest.group != self._group):
                return False
            with self._branch(start, manifest.epoch) as branch:
                self._write(rows, branch, manifest)
                check()
                if self._forward(branch, start, manifest):
                    return True
            logger.info("%s has changed while epoch %s was written; writing it again", self._name, manifest.epoch)
        raise MembershipError(
            f"{self._name} has changed {_WRITES} times while epoch {manifest.epoch} was written. Have other programs commit to it "
            "less often, or make epochs smaller (max_records)."
        )

    def clean(self, group: str) -> None:
        """Removes the branches of attempts; their files are for Iceberg's own maintenance."""
        self._java.refresh()
        for name in list(self._java.refs()):
            if is_attempt_of(group, name):
                self._remove(name)

    # --- the attempt ---------------------------------------------------------------------------------------------------

    @contextmanager
    def _branch(self, start: Any, epoch: int) -> Iterator[str]:
        name = new_attempt(epoch, self._group)
        self._change(lambda change: change.createBranch(name, start.snapshotId()), lambda: name in self._java.refs())
        try:
            yield name
        finally:
            self._remove(name)

    def _remove(self, name: str) -> None:
        """Removes a branch. If that fails, the next start tries again."""
        try:
            self._change(lambda change: change.removeBranch(name), lambda: name not in self._java.refs())
        except Exception as error:  # noqa: BLE001 - catalogs fail in many ways, and the epoch's own error says more
            logger.warning("%s: cannot remove the branch %s of an attempt now: %s", self._name, name, error)

    def _write(self, rows: DataFrame, branch: str, manifest: Manifest) -> None:
        """Leaves the branch at a snapshot that has the manifest; a statement's snapshot is followed by one without rows."""
        place, properties = f"{self._name}.`branch_{branch}`", {_KEY: manifest.to_text()}
        self._writer.write(rows, place, properties)
        self._java.refresh()
        written = self._manifest_of(self._java.snapshot(branch))
        if written is None or written.run != manifest.run:
            self._append_nothing(place, properties)

    def _append_nothing(self, place: str, properties: dict[str, str]) -> None:
        IcebergAppend().write(self._spark.table(self._name).limit(0), place, properties)

    # --- its publication -----------------------------------------------------------------------------------------------

    def _forward(self, branch: str, start: Any, manifest: Manifest) -> bool:
        """False if `main` is not at the start of the branch any more."""
        try:
            self._change(
                lambda change: change.fastForwardBranch(_MAIN, branch),
                lambda: self._java.currentSnapshot().snapshotId() != start.snapshotId(),
            )
        except Exception:  # The answer to a commit may be lost on its way.
            if not self._is_published(manifest):
                raise
        return self._is_published(manifest)

    def _change(self, change: Callable[[Any], Any], is_done: Callable[[], bool]) -> None:
        """Changes branches. Tries again while that fails, until it is done, by this or by another driver."""
        for left in reversed(range(_CHANGES)):
            try:
                self._java.refresh()
                change(self._java.manageSnapshots()).commit()
            except Exception:  # Errors of Iceberg have no types in Python.
                self._java.refresh()
                if is_done():
                    return
                if not left:
                    raise
                time.sleep(_PAUSE_S)
            else:
                return

    def _is_published(self, manifest: Manifest) -> bool:
        found = self.manifest(manifest.epoch)
        return found is not None and found.run == manifest.run

    # --- published epochs ----------------------------------------------------------------------------------------------

    def _manifests(self, snapshot: Any) -> Iterator[Manifest]:
        """The manifests in the history of a snapshot, the newest first."""
        while snapshot is not None:
            found = self._manifest_of(snapshot)
            if found is not None:
                yield found
            parent = snapshot.parentId()
            snapshot = None if parent is None else self._java.snapshot(parent)

    def _manifest_of(self, snapshot: Any) -> Manifest | None:
        text = snapshot.summary().get(_KEY)
        try:
            return None if text is None else Manifest.from_text(text)
        except ManifestError as error:
            raise ManifestError(f"{self._name}, snapshot {snapshot.snapshotId()}: {error.detail}") from error


def _found(spark: SparkSession, name: str) -> tuple[str, Any]:
    """The table's name with its catalog, and its object of Iceberg's Java interface.

    Spark resolves the name. Iceberg's own look-up would take the settings of the session that is active on the thread of the
    JVM; on a pipeline's thread there may be none, and then it finds no catalog.
    """
    try:
        plan = cast("Any", spark.table(name))._jdf.queryExecution().analyzed()  # noqa: SLF001 - Python has no other way
    except AnalysisException as error:
        raise ConfigError(
            f"There is no table {name}. Create it, with its schema, before. Spark says: {error}"
        ) from error
    relation = plan.collectLeaves().apply(0)
    if relation.getClass().getSimpleName() != "DataSourceV2Relation" or not _is_iceberg(relation.table()):
        raise SparkSettingsError(
            f"{name} is no Iceberg table. An IcebergSink needs the jar iceberg-spark-runtime of this Spark's version, and a "
            "table in a catalog of Iceberg."
        )
    identifier = relation.identifier().get()
    parts = [relation.catalog().get().name(), *identifier.namespace(), identifier.name()]
    return ".".join(f"`{part.replace('`', '``')}`" for part in parts), relation.table().table()


def _is_iceberg(table: Any) -> bool:
    return str(table.getClass().getName()).startswith("org.apache.iceberg.")


# --- the two ways to commit rows -------------------------------------------------------------------------------------


class IcebergAppend:
    """Appends the rows."""

    def write(self, rows: DataFrame, table: str, properties: dict[str, str]) -> None:
        options = {f"snapshot-property.{name}": value for name, value in properties.items()}
        rows.writeTo(table).options(**options).append()


@dataclass(frozen=True, slots=True)
class IcebergStatement:
    """Runs a statement of SQL with `{table}` and `{rows}` in it."""

    text: str

    def write(self, rows: DataFrame, table: str, _properties: dict[str, str]) -> None:
        view = f"epoch_{uuid.uuid4().hex}"
        rows.createTempView(view)
        try:
            rows.sparkSession.sql(self.text.replace("{table}", table).replace("{rows}", view)).collect()
        finally:
            with suppress(Exception):  # The application may have ended meanwhile, which the error in hand says better.
                rows.sparkSession.catalog.dropTempView(view)
