"""The configuration of the brokers of a test cluster."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

Value = str | int


@dataclass(frozen=True, slots=True)
class Listener:
    """A listener in addition to the one for plain text that every broker has."""

    protocol: str
    """PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL. Their configuration is in settings named `listener.name.…`."""
    host: str = "127.0.0.1"
    advertised: str | None = None
    """The `host:port` that clients are told; None for the address of the listener itself."""


@dataclass(frozen=True, slots=True)
class BrokerNode:
    """One broker's number, ports and directory. Every node is both broker and controller."""

    node_id: int
    port: int
    controller_port: int
    directory: Path
    ports: Mapping[str, int] = field(default_factory=dict)
    """Ports of further listeners, by name."""

    @property
    def data(self) -> Path:
        """The directory of the broker's logs and the cluster's metadata."""
        return self.directory / "data"

    @property
    def properties(self) -> Path:
        """The broker's configuration file."""
        return self.directory / "server.properties"


def default_settings(brokers: int) -> dict[str, Value]:
    """Settings that differ from Kafka's defaults, because the cluster is small and tests cannot wait long."""
    replicas = min(brokers, 3)
    partitions = 1 if brokers == 1 else 3
    return {
        "auto.create.topics.enable": "false",
        "offsets.topic.num.partitions": partitions,
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.num.partitions": partitions,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": 1,
        "share.coordinator.state.topic.num.partitions": partitions,
        "share.coordinator.state.topic.replication.factor": replicas,
        "share.coordinator.state.topic.min.isr": 1,
        # A killed broker may register again only when its old session has ended, so this bounds restarts and failovers.
        # Three brokers on a busy machine get more time than one.
        "broker.session.timeout.ms": 3000 if brokers == 1 else 5000,
        "broker.heartbeat.interval.ms": 500,
        "group.initial.rebalance.delay.ms": 0,
        # Only the bounds are changed, so that a test can choose short or endless sessions. Defaults of groups stay Kafka's.
        "group.min.session.timeout.ms": 1000,
        "group.consumer.min.session.timeout.ms": 1000,
        "group.consumer.max.session.timeout.ms": 3_600_000,
        "group.consumer.min.heartbeat.interval.ms": 100,
        "group.consumer.max.heartbeat.interval.ms": 60_000,
        # The log cleaner allocates its buffer at the start. The default of 128 MiB is half of a test broker's heap.
        "log.cleaner.dedupe.buffer.size": 4 * 1024 * 1024,
    }


def listener_settings(node: BrokerNode, listeners: Mapping[str, Listener]) -> dict[str, Value]:
    """The settings for the addresses on which the node listens."""
    client = f"PLAINTEXT://127.0.0.1:{node.port}"
    own = {name: f"{listener.host}:{node.ports[name]}" for name, listener in listeners.items()}
    more = "".join(f",{name}://{address}" for name, address in own.items())
    advertised = "".join(f",{name}://{listeners[name].advertised or address}" for name, address in own.items())
    protocols = "".join(f",{name}:{listener.protocol}" for name, listener in listeners.items())
    return {
        "listeners": f"{client},CONTROLLER://127.0.0.1:{node.controller_port}{more}",
        "advertised.listeners": f"{client}{advertised}",
        "listener.security.protocol.map": f"PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT{protocols}",
        "controller.listener.names": "CONTROLLER",
    }


def write_properties(
    node: BrokerNode, nodes: Sequence[BrokerNode], settings: Mapping[str, Value], listeners: Mapping[str, Listener]
) -> None:
    """Write the node's configuration. `settings` override everything but the node's identity."""
    identity: dict[str, Value] = {
        "process.roles": "broker,controller",
        "node.id": node.node_id,
        "controller.quorum.voters": ",".join(f"{n.node_id}@127.0.0.1:{n.controller_port}" for n in nodes),
        "log.dirs": str(node.data),
    }
    merged = default_settings(len(nodes)) | listener_settings(node, listeners) | dict(settings) | identity
    node.directory.mkdir(parents=True, exist_ok=True)
    node.properties.write_text("".join(f"{name}={value}\n" for name, value in merged.items()))
