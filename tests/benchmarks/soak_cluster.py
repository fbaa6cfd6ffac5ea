"""Three brokers whose clients all come through proxies; the brokers among themselves, and who watches, do not."""

from __future__ import annotations

import contextlib
from typing import Self

from membership_client.testing import KafkaCluster
from membership_client.testing.ports import free_ports
from membership_client.testing.settings import BrokerNode
from tests.integration.proxy import Proxy

BROKERS = 3

_MORE = """
listeners=PLAINTEXT://127.0.0.1:{node.port},INTERNAL://127.0.0.1:{internal},CONTROLLER://127.0.0.1:{node.controller_port}
advertised.listeners=PLAINTEXT://{advertised},INTERNAL://127.0.0.1:{internal}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=INTERNAL
"""


class SoakCluster(KafkaCluster):
    """`proxied_servers` lead through the proxies, `internal_servers` past them."""

    def __init__(self) -> None:
        super().__init__(BROKERS, {"group.coordinator.rebalance.protocols": "classic,consumer"})
        self.proxies = {number: Proxy() for number in range(1, BROKERS + 1)}
        self._internal = dict(zip(self.proxies, free_ports(BROKERS), strict=True))
        self._running = contextlib.ExitStack()

    def __enter__(self) -> Self:
        for proxy in self.proxies.values():
            self._running.enter_context(proxy)
        return super().__enter__()

    def __exit__(self, *raised: object) -> None:
        super().__exit__(*raised)
        self._running.close()

    @property
    def proxied_servers(self) -> str:
        return ",".join(proxy.address for proxy in self.proxies.values())

    @property
    def internal_servers(self) -> str:
        return ",".join(f"127.0.0.1:{port}" for port in self._internal.values())

    def _configure(self) -> list[BrokerNode]:
        nodes = super()._configure()
        for node in nodes:
            number = node.node_id
            self.proxies[number].target = ("127.0.0.1", node.port)
            more = _MORE.format(node=node, internal=self._internal[number], advertised=self.proxies[number].address)
            with node.properties.open("a") as properties:
                properties.write(more)
        return nodes
