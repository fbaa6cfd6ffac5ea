"""Epochs on HDFS, through the driver's JVM."""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from membership_client_spark.hadoop import hadoop_configuration, hadoop_fs
from membership_client_spark.parquet import manifest as manifests
from membership_client_spark.parquet.storage import ATTEMPTS, directory_of, epoch_of, is_attempt_of

_EXISTS = "org.apache.hadoop.fs.FileAlreadyExistsException"


class HadoopStorage:
    """The name node renames a directory only if there is nothing of the new name: that decides who publishes."""

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
            stream = self._files.open(self._hadoop.Path(path, manifests.NAME))
        except Py4JJavaError as error:
            said = error.java_exception.getMessage()
            raise manifests.ManifestError(f"{path.toString()} has no {manifests.NAME} to be read: {said}.") from error
        try:
            return bytes(stream.readAllBytes()).decode()
        except UnicodeDecodeError as error:
            raise manifests.ManifestError(f"{path.toString()}/{manifests.NAME} cannot be read: {error}.") from error
        finally:
            stream.close()

    def place_for(self, attempt: str) -> str:
        place: str = self._path(f"{ATTEMPTS}/{attempt}").toString()
        return place

    def publish(self, attempt: str, epoch: int, manifest: str) -> bool:
        written = self._path(f"{ATTEMPTS}/{attempt}")
        stream = self._files.create(self._hadoop.Path(written, manifests.NAME))
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
