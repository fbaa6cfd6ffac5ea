"""Networks that fail under TLS: the member reports it, and goes on afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from membership_client import ConnectionProblem, GroupMember, MemberState, NotKafkaError, WaitTimeoutError
from membership_client.testing import ClusterAdmin, KafkaCluster, Listener
from membership_client.testing.wire import parse_addresses
from tests.integration.members import eventually
from tests.integration.proxy import ANYTHING, Proxy
from tests.security.certificates import Certificates
from tests.security.secure_kafka import PATIENCE_S

pytestmark = [pytest.mark.kafka, pytest.mark.deep]

TOPIC = "sealed"
Break = Callable[[Proxy], None]
FAULTS: dict[str, Break] = {
    "reset": Proxy.reset,
    "half-open": Proxy.forget,
    "loss": Proxy.stall,
    "cut": Proxy.cut,
    "truncated": lambda proxy: proxy.truncate_answers(ANYTHING, 8),
    "garbage": lambda proxy: proxy.garble_answers(ANYTHING, 8),
}


@pytest.fixture(scope="module")
def proxy_and_config(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Proxy, dict[str, Any]]]:
    """A proxy in front of the broker's TLS listener, and the configuration to reach it."""
    certificates = Certificates(Path(tmp_path_factory.mktemp("certificates")))
    server = certificates.server("localhost", "127.0.0.1")
    settings: dict[str, str | int] = {f"listener.name.tls.{key}": value for key, value in server.items()}
    quick = {"group.consumer.heartbeat.interval.ms": 200, "group.consumer.assignment.interval.ms": 0}
    with Proxy(sealed=True) as proxy:
        listeners = {"TLS": Listener("SSL", advertised=proxy.address)}
        with KafkaCluster(settings=settings | quick, listeners=listeners) as cluster:
            (proxy.target,) = parse_addresses(cluster.address_of("TLS"))
            ClusterAdmin(cluster.bootstrap_servers).create_topic(TOPIC, 2)
            trust = {"security.protocol": "ssl", "ssl.ca.location": str(certificates.authority)}
            times = {"request.timeout.ms": 1000, "socket.connection.setup.timeout.ms": 1000}
            yield proxy, {"bootstrap.servers": proxy.address, **trust, **times}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("protocol", ["consumer", "classic"])
def test_no_fault_under_tls_leaves_a_member_silent(
    proxy_and_config: tuple[Proxy, dict[str, Any]], fault: str, protocol: str
) -> None:
    """A torn record or handshake is a network error, and not a problem of trust."""
    proxy, config = proxy_and_config
    quick = {"heartbeat.interval.ms": 200} if protocol == "classic" else {}
    more = {"group.id": f"{fault}-{protocol}", "group.protocol": protocol, **quick}
    with GroupMember({**config, **more}) as member:
        member.subscribe([TOPIC])
        member.wait_until(lambda now: len(now.owned) == 2 and now.state is MemberState.STABLE, PATIENCE_S)
        try:
            # A reset is noticed only by a request under way: an answer in 2 ms, once per 200 ms, was missed 400 times of 400.
            proxy.slow_down(latency_s=0.05)
            eventually(lambda: broken(proxy, FAULTS[fault], member), "it is noticed")
        finally:
            proxy.mend()
        after = member.wait_until(lambda now: now.error is None and len(now.owned) == 2, PATIENCE_S)
        assert after.state is MemberState.STABLE


def broken(proxy: Proxy, fault: Break, member: GroupMember) -> bool:
    """Again and again, to whatever connection there is by now. Has the member noticed?

    It waits for the moment instead of looking at it afterwards: after a reset the member has a new connection in milliseconds.
    """
    fault(proxy)
    try:
        error = member.wait_until(lambda now: now.error is not None, 0.1).error
    except WaitTimeoutError:
        return False
    assert isinstance(error, ConnectionProblem | NotKafkaError)
    return True
