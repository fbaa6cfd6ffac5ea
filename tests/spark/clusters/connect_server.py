"""A Spark Connect server whose driver runs on a standalone cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Self

from tests.spark.clusters.daemon import Daemon
from tests.spark.clusters.environment import environment

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession

    from tests.spark.clusters.sessions import SessionSettings

_MAIN_CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"
_BINDING = {
    "spark.connect.grpc.binding.address": "127.0.0.1",
    # Any free one; the server logs which.
    "spark.connect.grpc.binding.port": "0",
}


class ConnectServer:
    """Its application runs as long as the server, and keeps its executors all that time."""

    def __init__(self, settings: SessionSettings, directory: Path) -> None:
        self._settings = settings
        self._directory = directory
        self._daemon: Daemon | None = None
        self.url = ""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def daemon(self) -> Daemon:
        """The server's process, to be signalled."""
        assert self._daemon is not None, "the server was not started"
        return self._daemon

    def start(self) -> None:
        """Returns when it serves."""
        surroundings = environment(self._directory)
        self._daemon = Daemon(self._command(surroundings["SPARK_HOME"]), surroundings, self._directory / "connect.log")
        try:
            port = self._daemon.wait_to_log(r"Spark Connect server started at: \S*:(\d+)")[1]
        except BaseException:
            self.stop()
            raise
        self.url = f"sc://127.0.0.1:{port}"

    def stop(self) -> None:
        """Ends it without ceremony."""
        self.daemon.stop()

    def logs(self) -> list[Path]:
        """Its own; its executors' are with the cluster's."""
        return [self.daemon.log_file]

    def session(self) -> SparkSession:
        """A new session of this Python process; the caller stops it."""
        from pyspark.sql.connect.session import SparkSession

        return SparkSession.builder.remote(self.url).create()

    def _command(self, spark_home: str) -> list[str]:
        properties = {**self._settings.properties, **_BINDING}
        options = [word for name, value in properties.items() for word in ("--conf", f"{name}={value}")]
        submit = str(Path(spark_home, "bin", "spark-submit"))
        return [submit, "--class", _MAIN_CLASS, "--master", self._settings.master, *options]
