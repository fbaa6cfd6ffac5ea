"""Where a sink stores its epochs: `epoch=<id>/` for published ones, `_attempts/` for all others; and their manifests."""

from __future__ import annotations

import errno
import hashlib
import json
import re
import shutil
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from membership_client import MembershipError, TopicPartition
from membership_client_spark.errors import SparkSettingsError
from membership_client_spark.pipeline.ranges import OffsetRange
from membership_client_spark.spark_session import (
    hadoop_configuration,
    hadoop_fs,
    is_connect,
    scheme_and_file,
    with_scheme,
)

ATTEMPTS = "_attempts"
"""The underscore keeps Spark from looking inside."""

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


def new_attempt(epoch: int, group: str) -> str:
    """A name that no other attempt has."""
    return f"{epoch}-{_mark_of(group)}-{uuid.uuid4().hex}"


def is_attempt_of(group: str, name: str) -> bool:
    """Whether `new_attempt` made that name for that group."""
    return re.fullmatch(rf"\d+-{_mark_of(group)}-[0-9a-f]{{32}}", name) is not None


def _mark_of(group: str) -> str:
    """A hash of the group's name, which may have characters that file systems refuse."""
    return hashlib.sha256(group.encode()).hexdigest()[:16]


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


# --- the manifest of an epoch: a file beside its rows, with its offset ranges ----------------------------------------

NAME = "_manifest.json"
"""The underscore keeps Spark from taking it for data."""

_VERSION = 1
_INT = 2**31 - 1
_LONG = 2**63 - 1
"""The greatest partition and the greatest offset that Kafka can write."""


class ManifestError(MembershipError):
    """A manifest cannot be read, so it is not known which records the sink has."""

    advice = "Restore it, or start with a new path; guessing would lose or repeat records."


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The manifest of one epoch. `ends` has all partitions of all epochs so far, so only the newest manifest is needed."""

    epoch: int
    group: str
    run: str
    ranges: tuple[OffsetRange, ...]
    ends: Mapping[TopicPartition, int]

    def to_text(self) -> str:
        ends = [[*place, end] for place, end in sorted(self.ends.items())]
        about = {"version": _VERSION, "epoch": self.epoch, "group": self.group, "run": self.run}
        return json.dumps({**about, "ranges": [list(piece) for piece in self.ranges], "ends": ends})

    @classmethod
    def from_text(cls, text: str, epoch: int) -> Manifest:
        """ManifestError if it is not the manifest of this epoch, or of another version."""
        try:
            content = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ManifestError(f"This is not a manifest: {text[:200]!r}.") from error
        _check(isinstance(content, dict), "it is no JSON object", text)
        version = content.get("version")
        _check(_is_number(version, 1, _LONG), f"it has the version {version!r}", text)
        if version != _VERSION:
            raise ManifestError(f"The manifest has version {version}; this release reads {_VERSION}.")
        _check(_is_number(content.get("epoch"), 1, _LONG), f"its epoch is {content.get('epoch')!r}", text)
        if content["epoch"] != epoch:
            raise ManifestError(
                f"The manifest is of epoch {content['epoch']}, but is in the directory of epoch {epoch}."
            )
        for key in ("group", "run"):
            _check(_is_name(content.get(key)), f"its {key} is {content.get(key)!r}", text)
        ranges, ends = _ranges(content.get("ranges"), text), _ends(content.get("ends"), text)
        _check(with_ranges(ends, ranges) == ends, "its ends are not where its ranges end", text)
        return cls(epoch=epoch, group=content["group"], run=content["run"], ranges=ranges, ends=ends)


def _ranges(content: Any, text: str) -> tuple[OffsetRange, ...]:
    _check(isinstance(content, list), "it has no list of ranges", text)
    for piece in content:
        is_range = isinstance(piece, list) and len(piece) == 4 and _is_place(piece) and _is_number(piece[3], 0, _LONG)
        _check(is_range and _is_number(piece[2], 0, piece[3]), f"{piece!r} is no range of offsets", text)
    return tuple(OffsetRange(*piece) for piece in content)


def _ends(content: Any, text: str) -> dict[TopicPartition, int]:
    _check(isinstance(content, list), "it has no list of ends", text)
    for end in content:
        is_end = isinstance(end, list) and len(end) == 3 and _is_place(end) and _is_number(end[2], 0, _LONG)
        _check(is_end, f"{end!r} is no end of a partition", text)
    ends = {TopicPartition(topic, partition): end for topic, partition, end in content}
    _check(len(ends) == len(content), "it has two ends of one partition", text)
    return ends


def _is_place(content: list[Any]) -> bool:
    return _is_name(content[0]) and _is_number(content[1], 0, _INT)


def _is_name(content: Any) -> bool:
    return isinstance(content, str) and content != ""


def _is_number(content: Any, least: int, most: int) -> bool:
    """Exactly an int: in Python True is an int too, and 3.0 equals 3."""
    return type(content) is int and least <= content <= most


def _check(holds: bool, complaint: str, text: str) -> None:
    if not holds:
        raise ManifestError(f"This is not a manifest, {complaint[:200]}: {text[:200]!r}.")


def with_ranges(ends: Mapping[TopicPartition, int], ranges: Iterable[OffsetRange]) -> dict[TopicPartition, int]:
    """The ends after an epoch with these ranges."""
    return {**ends, **{TopicPartition(piece.topic, piece.partition): piece.end for piece in ranges}}
