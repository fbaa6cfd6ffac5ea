"""Where a ParquetSink stores its epochs: `epoch=<id>/` for published ones, `_attempts/` for all others."""

from __future__ import annotations

import errno
import re
import shutil
from pathlib import Path
from typing import Any, Protocol

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from membership_client_spark.errors import SparkSettingsError
from membership_client_spark.pipeline.manifest import ManifestError, is_attempt_of
from membership_client_spark.spark_session import (
    hadoop_configuration,
    hadoop_fs,
    is_connect,
    scheme_and_file,
    with_scheme,
)

ATTEMPTS = "_attempts"
"""The underscore keeps Spark from looking inside."""

NAME = "_manifest.json"
"""Of the file with the manifest, beside the rows. The underscore keeps Spark from taking it for data."""

_EPOCH = re.compile(r"epoch=([0-9]+)")


class Storage(Protocol):
    """One sink's directory on some file system."""

    def epochs(self) -> list[int]:
        """The published epochs, in any order."""

    def manifest(self, epoch: int) -> str | None:
        """The text of an epoch's manifest; None if the epoch is not published."""

    def place_for(self, attempt: str) -> str:
        """Where Spark is to write the rows of an attempt."""

    def publish(self, attempt: str, epoch: int, manifest: str) -> bool:
        """Makes rows and manifest visible in one step. False, and nothing is visible, if the epoch was published before."""

    def clean(self, group: str) -> None:
        """Deletes the attempts of that group, and nothing else."""


def directory_of(epoch: int) -> str:
    """Zero-padded, so that listings are in order; Spark reads it as a number."""
    return f"epoch={epoch:012d}"


def epoch_of(directory: str) -> int | None:
    found = _EPOCH.fullmatch(directory)
    return int(found[1]) if found else None


# --- a file system that the driver has mounted -----------------------------------------------------------------------


class LocalStorage:
    """Publishes by renaming a directory, which fails on every POSIX file system if the new name is a directory with files."""

    def __init__(self, root: Path) -> None:
        self._root = root
        (root / ATTEMPTS).mkdir(parents=True, exist_ok=True)

    def epochs(self) -> list[int]:
        return [epoch for entry in self._root.iterdir() if (epoch := epoch_of(entry.name)) is not None]

    def manifest(self, epoch: int) -> str | None:
        path = self._root / directory_of(epoch)
        if not path.exists():
            return None
        try:
            return (path / NAME).read_text(encoding="utf-8")
        except FileNotFoundError as error:
            raise ManifestError(f"{path} has no {NAME}.") from error
        except (OSError, UnicodeDecodeError) as error:
            raise ManifestError(f"{path / NAME} cannot be read: {error}.") from error

    def place_for(self, attempt: str) -> str:
        # Not as_uri(): Hadoop does not unescape, and would read an escaped blank as three characters.
        return f"file://{self._root / ATTEMPTS / attempt}"

    def publish(self, attempt: str, epoch: int, manifest: str) -> bool:
        written = self._root / ATTEMPTS / attempt
        if not written.exists():
            raise SparkSettingsError(
                f"Spark wrote {written}, but the driver does not find it: driver and executors must see the same file system "
                f"at {self._root}. The attempts of a driver that was replaced are deleted, too."
            )
        (written / NAME).write_text(manifest, encoding="utf-8")
        try:
            written.rename(self._root / directory_of(epoch))
        except OSError as error:
            if error.errno in {errno.ENOTEMPTY, errno.EEXIST}:
                return False
            raise
        return True

    def clean(self, group: str) -> None:
        for attempt in (self._root / ATTEMPTS).iterdir():
            if is_attempt_of(group, attempt.name):
                shutil.rmtree(attempt, ignore_errors=True)


# --- HDFS, through the driver's JVM ----------------------------------------------------------------------------------

_EXISTS = "org.apache.hadoop.fs.FileAlreadyExistsException"


class HadoopStorage:
    """Publishes by renaming a directory, which the name node refuses if the new name exists."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        self._hadoop = hadoop_fs(spark)
        self._gateway: Any = spark.sparkContext._gateway  # noqa: SLF001 - Python has no other way to Java's arrays
        configuration = hadoop_configuration(spark)
        self._root = self._hadoop.Path(root)
        self._files = self._root.getFileSystem(configuration)
        self._context = self._hadoop.FileContext.getFileContext(self._root.toUri(), configuration)
        self._files.mkdirs(self._path(ATTEMPTS))

    def epochs(self) -> list[int]:
        names = [status.getPath().getName() for status in self._files.listStatus(self._root)]
        return [epoch for name in names if (epoch := epoch_of(name)) is not None]

    def manifest(self, epoch: int) -> str | None:
        path = self._path(directory_of(epoch))
        if not self._files.exists(path):
            return None
        try:
            stream = self._files.open(self._hadoop.Path(path, NAME))
        except Py4JJavaError as error:
            said = error.java_exception.getMessage()
            raise ManifestError(f"{path.toString()} has no {NAME} to be read: {said}.") from error
        try:
            return bytes(stream.readAllBytes()).decode()
        except UnicodeDecodeError as error:
            raise ManifestError(f"{path.toString()}/{NAME} cannot be read: {error}.") from error
        finally:
            stream.close()

    def place_for(self, attempt: str) -> str:
        place: str = self._path(f"{ATTEMPTS}/{attempt}").toString()
        return place

    def publish(self, attempt: str, epoch: int, manifest: str) -> bool:
        written = self._path(f"{ATTEMPTS}/{attempt}")
        stream = self._files.create(self._hadoop.Path(written, NAME))
        stream.write(bytearray(manifest.encode()))
        stream.close()
        no_options = self._gateway.new_array(self._hadoop.Options.Rename, 0)
        try:
            self._context.rename(written, self._path(directory_of(epoch)), no_options)
        except Py4JJavaError as error:
            if error.java_exception.getClass().getName() == _EXISTS:
                return False
            raise
        return True

    def clean(self, group: str) -> None:
        for status in self._files.listStatus(self._path(ATTEMPTS)):
            if is_attempt_of(group, status.getPath().getName()):
                self._files.delete(status.getPath(), True)

    def _path(self, name: str) -> Any:
        return self._hadoop.Path(self._root, name)


# --- which of them a path needs --------------------------------------------------------------------------------------

_ATOMIC = frozenset({"hdfs", "viewfs"})
"""File systems on which a rename is one step, and fails if the new name exists."""


def open_storage(spark: SparkSession, path: str) -> Storage:
    """The storage of a path. SparkSettingsError if its file system cannot publish in one step."""
    place = with_scheme(spark, path)
    scheme, file = scheme_and_file(place)
    if scheme == "file":
        return LocalStorage(Path(file))
    if scheme not in _ATOMIC:
        raise SparkSettingsError(
            f"{path}: {scheme} has no atomic rename, so ParquetSink could show an epoch twice or in part. "
            "Write to a table format with transactions, through a Resumable sink that stores the offset ranges with the rows."
        )
    if is_connect(spark):
        raise SparkSettingsError(
            f"{path}: over Spark Connect there is no way to {scheme}. Use a path that this process and the executors "
            "have mounted, or run the driver as a classic one."
        )
    return HadoopStorage(spark, place)
