"""Epochs on a file system that the driver has mounted."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

from membership_client_spark.errors import SparkSettingsError
from membership_client_spark.parquet import manifest as manifests
from membership_client_spark.parquet.storage import ATTEMPTS, directory_of, epoch_of, is_attempt_of


class LocalStorage:
    """Renaming a directory onto one that is not empty fails, on every POSIX file system: that decides who publishes."""

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
            return (path / manifests.NAME).read_text(encoding="utf-8")
        except FileNotFoundError as error:
            raise manifests.ManifestError(f"{path} has no {manifests.NAME}.") from error
        except (OSError, UnicodeDecodeError) as error:
            raise manifests.ManifestError(f"{path / manifests.NAME} cannot be read: {error}.") from error

    def place_for(self, attempt: str) -> str:
        # Not as_uri(): Hadoop would take an escaped blank for three characters.
        return f"file://{self._root / ATTEMPTS / attempt}"

    def publish(self, attempt: str, epoch: int, manifest: str) -> bool:
        written = self._root / ATTEMPTS / attempt
        if not written.exists():
            raise SparkSettingsError(
                f"Spark wrote {written}, but it is not there: driver and executors must see the same file system at "
                f"{self._root}. A driver that was replaced finds its attempts deleted as well."
            )
        (written / manifests.NAME).write_text(manifest, encoding="utf-8")
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
