"""Where an audit is written: a directory that is empty, or that an earlier audit has marked as its own."""

from __future__ import annotations

from typing import Any, Protocol

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyarrow.fs import FileSelector, FileSystem, FileType, LocalFileSystem
from pyspark.sql import SparkSession

from membership_client import MembershipError
from membership_client_spark.spark_session import (
    hadoop_configuration,
    hadoop_fs,
    is_connect,
    scheme_and_file,
    with_scheme,
)

MARK = "_membership_client_audit"
"""The underscore keeps Spark from taking it for data."""

_TEXT = b"The folders beside this file, and index.html, are replaced by the next audit that is written here.\n"


class AuditTargetError(MembershipError, ValueError):
    """The path of an audit has something in it that no audit wrote, or cannot be written to. Nothing was changed there."""

    advice = "Give a path that does not exist yet, an empty directory, or one that an earlier audit was written to."


class AuditTarget(Protocol):
    """A directory on the file system to which Spark writes the tables."""

    path: str
    """With its scheme, for Spark."""

    def files(self) -> dict[str, bool]:
        """Each entry, and whether it is a file. Empty if there is no such directory; NotADirectoryError if it is a file."""

    def read(self, name: str, size: int) -> bytes:
        """The first `size` bytes of a file, or fewer if it is shorter."""

    def write(self, name: str, content: bytes) -> None:
        """Makes or replaces a file; makes the directory if it is missing."""


def open_target(spark: SparkSession, path: str) -> AuditTarget:
    """Makes the directory and marks it as an audit's. AuditTargetError, and nothing is changed, if it has other files."""
    try:
        target = _target(spark, with_scheme(spark, path))
        _refuse_foreign(target)
        target.write(MARK, _TEXT)
    except AuditTargetError:
        raise
    except Py4JJavaError as error:
        raise AuditTargetError(f"{path} cannot be written to: {error.java_exception.toString()}.") from error
    except (OSError, ValueError, NotImplementedError) as error:
        raise AuditTargetError(f"{path} cannot be written to: {error}.") from error
    return target


def _refuse_foreign(target: AuditTarget) -> None:
    inside = target.files()
    is_marked = inside.get(MARK, False) and target.read(MARK, len(_TEXT) + 1) == _TEXT
    if inside and not is_marked:
        names = ", ".join(sorted(inside)[:3])
        raise AuditTargetError(f"{target.path} is not empty ({names}), and no audit was written there before.")


def _target(spark: SparkSession, place: str) -> AuditTarget:
    """Local files go through pyarrow: Hadoop writes a checksum beside each, and refuses a page that was edited since."""
    scheme, file = scheme_and_file(place)
    if scheme == "file":
        return _ArrowTarget(place, LocalFileSystem(), file)
    if is_connect(spark):
        return _ArrowTarget(place, *FileSystem.from_uri(place))
    return _HadoopTarget(spark, place)


class _ArrowTarget:
    """Through pyarrow: local files, and all files of a client of Spark Connect, which has no JVM."""

    def __init__(self, path: str, storage: FileSystem, folder: str) -> None:
        self.path = path
        self._storage = storage
        self._folder = folder

    def files(self) -> dict[str, bool]:
        found = self._storage.get_file_info(self._folder)
        if found.type == FileType.File:
            raise NotADirectoryError(f"{self._folder} is a file")
        inside = self._storage.get_file_info(FileSelector(self._folder, allow_not_found=True))
        return {one.base_name: one.type == FileType.File for one in inside}

    def read(self, name: str, size: int) -> bytes:
        with self._storage.open_input_stream(f"{self._folder}/{name}") as file:
            return bytes(file.read(size))

    def write(self, name: str, content: bytes) -> None:
        self._storage.create_dir(self._folder, recursive=True)
        with self._storage.open_output_stream(f"{self._folder}/{name}") as file:
            file.write(content)


class _HadoopTarget:
    """Through the driver's JVM: any file system to which the session can write its tables."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self.path = path
        self._hadoop = hadoop_fs(spark)
        self._folder = self._hadoop.Path(path)
        self._storage = self._folder.getFileSystem(hadoop_configuration(spark))

    def files(self) -> dict[str, bool]:
        if not self._storage.exists(self._folder):
            return {}
        if self._storage.getFileStatus(self._folder).isFile():
            raise NotADirectoryError(f"{self.path} is a file")
        return {status.getPath().getName(): bool(status.isFile()) for status in self._storage.listStatus(self._folder)}

    def read(self, name: str, size: int) -> bytes:
        stream = self._storage.open(self._path(name))
        try:
            return bytes(stream.readNBytes(size))
        finally:
            stream.close()

    def write(self, name: str, content: bytes) -> None:
        stream = self._storage.create(self._path(name), True)
        try:
            stream.write(bytearray(content))
        finally:
            stream.close()

    def _path(self, name: str) -> Any:
        return self._hadoop.Path(self._folder, name)
