"""One broker with a way in of its own for each process, so that one can be cut off and the others not."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from membership_client.testing import KafkaCluster
from membership_client.testing.settings import Listener
from membership_client.testing.wire import parse_addresses
from tests.integration.proxy import Proxy


@dataclass(frozen=True, slots=True)
class SeatedKafka:
    """`ways_in[n].address` is where process n connects; `servers` is for all others."""

    servers: str
    ways_in: tuple[Proxy, ...]


@contextlib.contextmanager
def seated_kafka(seats: int = 2) -> Iterator[SeatedKafka]:
    with contextlib.ExitStack() as stack:
        ways_in = tuple(stack.enter_context(Proxy()) for _ in range(seats))
        listeners = {f"SEAT{n}": Listener("PLAINTEXT", advertised=proxy.address) for n, proxy in enumerate(ways_in)}
        cluster = stack.enter_context(KafkaCluster(listeners=listeners))
        for number, proxy in enumerate(ways_in):
            (proxy.target,) = parse_addresses(cluster.address_of(f"SEAT{number}"))
        yield SeatedKafka(cluster.bootstrap_servers, ways_in)
