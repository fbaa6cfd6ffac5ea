"""Real Kafka brokers for tests and demonstrations, from Kafka's published jars."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Self

from tenacity import Retrying, retry_if_exception_type, stop_after_attempt

from membership_client.arguments import checked_path, optional
from membership_client.testing import guard
from membership_client.testing.arguments import (
    checked_brokers,
    checked_listeners,
    checked_options,
    checked_paths,
    checked_racks,
    checked_settings,
    checked_version,
    known,
)
from membership_client.testing.broker import Broker
from membership_client.testing.jars import KAFKA_VERSION, cached_kafka_jars
from membership_client.testing.java import find_java
from membership_client.testing.jvm import Jvm
from membership_client.testing.ports import free_ports
from membership_client.testing.settings import BrokerNode, Listener, Value, write_properties
from membership_client.testing.storage import format_storage, random_id

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# A start takes two seconds on an idle machine; the limit is for a busy one.
_READY_TIMEOUT_S = 120
_LOG_TAIL_LINES = 60


class KafkaStartError(RuntimeError):
    """A broker did not start. The message ends with the last lines of its log."""


class KafkaUnavailableError(RuntimeError):
    """Java or Kafka's jars are not on this machine."""


class _PortTakenError(KafkaStartError):
    """Another process took the port after it was chosen and before the broker listened on it."""


class KafkaCluster:
    """`brokers` real brokers on 127.0.0.1 in KRaft mode, each of them broker and controller.

    Brokers are numbered from 1. `settings` are server properties, which override those of `default_settings`. Each broker has
    the `listeners` and one for plain text; `address_of` returns their addresses. `racks` are the brokers' racks in their order.
    Java and the jars of that version are taken from where `scripts/test` puts them, unless given. Without a `directory` the
    data is in a temporary one that `stop()` removes. Brokers end with this process, even if it is killed.
    """

    def __init__(
        self,
        brokers: int = 1,
        settings: Mapping[str, Value] | None = None,
        *,
        listeners: Mapping[str, Listener] | None = None,
        racks: Sequence[str] = (),
        version: str = KAFKA_VERSION,
        jars: Sequence[Path] | None = None,
        java: Path | None = None,
        directory: Path | None = None,
        jvm_options: Sequence[str] = (),
    ) -> None:
        self._size = checked_brokers(brokers)
        self._settings = checked_settings(settings)
        self._listeners = checked_listeners(listeners)
        self._racks = checked_racks(racks)
        version, options = checked_version(version), checked_options(jvm_options)
        paths = checked_paths("jars", jars) if jars is not None else ()
        runtime = optional(checked_path, "java", java)
        self._given_directory = optional(checked_path, "directory", directory)
        self._jvm = Jvm(runtime or _require_java(), paths or tuple(_require_jars(version)), options)
        self._directory: Path | None = None
        self._brokers: dict[int, Broker] = {}

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def bootstrap_servers(self) -> str:
        """The addresses of all brokers, as the value of bootstrap.servers."""
        return ",".join(f"127.0.0.1:{broker.node.port}" for broker in self._brokers.values())

    def address_of(self, listener: str) -> str:
        """The addresses of all brokers for clients of that listener."""
        known("listener", listener, self._listeners)
        host = self._listeners[listener].host
        return ",".join(f"{host}:{broker.node.ports[listener]}" for broker in self._brokers.values())

    @property
    def brokers(self) -> list[int]:
        """The numbers of all brokers, running or not."""
        return list(self._brokers)

    def start(self) -> None:
        """Starts all brokers and returns when each of them serves and knows the others."""
        for attempt in Retrying(
            retry=retry_if_exception_type(_PortTakenError), stop=stop_after_attempt(5), reraise=True
        ):
            with attempt:
                self._start_once()

    def stop(self) -> None:
        """Kills all brokers, and removes the data unless a directory was given."""
        for broker in self._brokers.values():
            broker.kill()
        if self._directory is not None and self._given_directory is None:
            shutil.rmtree(self._directory)
            guard.forget_directory(self._directory)
        self._directory = None

    def log(self, broker: int = 1) -> str:
        """The broker's log so far, with the reasons that the group coordinator gives."""
        return self._broker(broker).log

    def kill(self, broker: int) -> None:
        """SIGKILL."""
        self._broker(broker).kill()

    def terminate(self, broker: int) -> None:
        """SIGTERM: an orderly shutdown; returns when the broker has ended."""
        self._broker(broker).terminate()

    def restart(self, broker: int) -> None:
        """Ends the broker if it runs, starts it with the same ports and data, and waits until it serves."""
        self._broker(broker).kill()
        self._broker(broker).start()
        self._await_ready()

    def start_all(self) -> None:
        """Start all brokers after all were ended. None of them is ready without the others."""
        for broker in self._brokers.values():
            if not broker.is_running:
                broker.start()
        self._await_ready()

    def pause(self, broker: int) -> None:
        """SIGSTOP: the broker's connections stay open, and it does not answer."""
        self._broker(broker).pause()

    def resume(self, broker: int) -> None:
        """SIGCONT."""
        self._broker(broker).resume()

    def _broker(self, number: int) -> Broker:
        known("broker", number, self._brokers)
        return self._brokers[number]

    def _start_once(self) -> None:
        self._directory = self._make_directory()
        self._brokers = {node.node_id: Broker(self._jvm, node) for node in self._configure()}
        try:
            for broker in self._brokers.values():
                broker.start()
            self._await_ready()
        except BaseException:
            self.stop()
            raise

    def _make_directory(self) -> Path:
        if self._given_directory is not None:
            return self._given_directory
        directory = Path(tempfile.mkdtemp(prefix="membership-client-kafka-"))
        guard.watch_directory(directory)
        return directory

    def _configure(self) -> list[BrokerNode]:
        assert self._directory is not None
        ports = iter(free_ports((2 + len(self._listeners)) * self._size))
        nodes = [
            BrokerNode(
                number,
                next(ports),
                next(ports),
                self._directory / f"broker-{number}",
                {name: next(ports) for name in self._listeners},
            )
            for number in range(1, self._size + 1)
        ]
        cluster_id = random_id()
        for node in nodes:
            write_properties(node, nodes, self._settings | self._rack_of(node), self._listeners)
            format_storage(self._jvm, node, cluster_id)
        return nodes

    def _rack_of(self, node: BrokerNode) -> dict[str, Value]:
        return {"broker.rack": self._racks[node.node_id]} if node.node_id in self._racks else {}

    def _await_ready(self) -> None:
        deadline = time.monotonic() + _READY_TIMEOUT_S
        running = {number: broker for number, broker in self._brokers.items() if broker.is_running}
        for broker in running.values():
            while not broker.sees() >= running.keys():
                _raise_if_hopeless(broker, deadline)
                time.sleep(0.02)


def _raise_if_hopeless(broker: Broker, deadline: float) -> None:
    log = broker.log
    tail = "\n".join(log.splitlines()[-_LOG_TAIL_LINES:])
    name = f"broker {broker.node.node_id}"
    if broker.has_died and "Address already in use" in log:
        raise _PortTakenError(f"{name} found its port taken; its log ends:\n{tail}")
    if broker.has_died:
        raise KafkaStartError(f"{name} ended before it served; check the settings it was given. Its log ends:\n{tail}")
    if time.monotonic() > deadline:
        raise KafkaStartError(f"{name} does not serve after {_READY_TIMEOUT_S} s; its log ends:\n{tail}")


def _require_java() -> Path:
    java = find_java()
    if java is None:
        raise KafkaUnavailableError("Java 17 or newer was not found. Run scripts/test, which installs it or says how.")
    return java


def _require_jars(version: str) -> list[Path]:
    jars = cached_kafka_jars(version)
    if jars is None:
        raise KafkaUnavailableError(
            f"The jars of Kafka {version} are not in the cache. Run .venv/bin/python scripts/provide.py kafka-{version}, which fetches them."
        )
    return jars
