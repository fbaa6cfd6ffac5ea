"""A JVM of our own that runs Kafka's Java consumer, driven through the Py4J that pyspark brings along.

So no Java has to be compiled, and a runtime without a compiler is enough.
"""

from __future__ import annotations

import logging
import subprocess
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

import tests.spark  # noqa: F401 - installs pyspark, which brings py4j

# isort: split
from py4j.java_gateway import (  # type: ignore[import-untyped]
    CallbackServerParameters,
    GatewayParameters,
    JavaGateway,
)

from membership_client.testing import cached_kafka_jars, find_java, guard
from membership_client.testing.jvm import Jvm

_QUIET = "-Dorg.apache.logging.log4j.level=OFF"


class PeerJvm:
    """Runs until `stop`, or until this process ends. `java` gives access to its classes, as in `java.java.util.HashMap()`."""

    def __init__(self, options: Sequence[str] = (), jars_of_spark: Sequence[str] = ()) -> None:
        java, jars = find_java(), cached_kafka_jars()
        more = [_jar_of_spark(name) for name in ("py4j", *jars_of_spark)]
        assert java is not None, "Java 17 or newer was not found. Run scripts/test, which installs it or says how."
        assert jars is not None, "Kafka's jars are not in the cache. Run scripts/test, which fetches them."
        # A last place on the class path keeps the archive of Kafka's classes valid, and with it a quick start.
        jvm = Jvm(java, (*jars, *more), (_QUIET, *options))
        self._process = subprocess.Popen(
            jvm.command("py4j.GatewayServer", "--die-on-broken-pipe", "0"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        guard.watch_process(self._process.pid)
        self._gateway = self._connect()
        self.java: Any = self._gateway.jvm

    @property
    def pid(self) -> int:
        return self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Ends it at once; members in it should have left before."""
        self._gateway.shutdown_callback_server()
        self._gateway.close()
        self._process.kill()
        self._process.wait()
        guard.forget_process(self._process.pid)
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()

    def _connect(self) -> Any:
        # Everything it would log here is also raised; what remains is about objects of a JVM that has ended.
        logging.getLogger("py4j").setLevel(logging.CRITICAL)
        assert self._process.stdout is not None
        # A JVM may have its own word first, for example about an archive of classes that was moved.
        port = next(int(line) for line in self._process.stdout if line.strip().isdigit())
        gateway = JavaGateway(
            gateway_parameters=GatewayParameters(port=port, auto_convert=True, enable_memory_management=False),
            callback_server_parameters=CallbackServerParameters(port=0, daemonize=True, daemonize_connections=True),
        )
        server = gateway.java_gateway_server
        # The JVM was started before we knew the port on which we listen for its callbacks.
        listening = gateway.get_callback_server().get_listening_port()
        server.resetCallbackClient(server.getCallbackClient().getAddress(), listening)
        return gateway


def _jar_of_spark(name: str) -> Path:
    pyspark = find_spec("pyspark")
    jars = sorted(Path(pyspark.origin).parent.glob(f"jars/{name}-[0-9]*.jar")) if pyspark and pyspark.origin else []
    assert jars, f"pyspark, which brings {name}, is not installed. Run scripts/test, which installs it."
    return jars[0]
