"""Bootstrap servers that are none."""

from __future__ import annotations

import contextlib
import re
import socket
import socketserver
import threading
from typing import TYPE_CHECKING

import pytest

from membership_client import ConnectionProblem, GroupMember, MemberState, NotKafkaError
from membership_client.testing.ports import free_ports
from tests.integration.members import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.integration.members import Group


@pytest.fixture
def member_of() -> Iterator[Callable[..., GroupMember]]:
    """A subscribed member with these bootstrap servers, closed at the end."""
    with contextlib.ExitStack() as members:

        def start(bootstrap_servers: str, **config: int) -> GroupMember:
            settings = {"bootstrap_servers": bootstrap_servers, "group_id": "nowhere", **config}
            member = members.enter_context(GroupMember(settings))
            member.subscribe(["anything"])
            return member

        yield start


class _WebServer(socketserver.BaseRequestHandler):
    """Answers what it does not understand at once, as most of them do."""

    def handle(self) -> None:
        self.request.recv(1024)
        self.request.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


@pytest.fixture
def http_port() -> Iterator[int]:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _WebServer) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def dead_address() -> str:
    """Where nothing listens."""
    return f"127.0.0.1:{free_ports(1)[0]}"


def test_an_http_server_is_called_one(member_of: Callable[..., GroupMember], http_port: int) -> None:
    """The member keeps trying, and its error names the address and what is there instead of a broker."""
    member = member_of(f"127.0.0.1:{http_port}")
    snapshot = member.wait_until(lambda snapshot: snapshot.error is not None, PATIENCE_S)
    assert snapshot.state is MemberState.JOINING
    assert isinstance(snapshot.error, NotKafkaError)
    assert f"127.0.0.1:{http_port}" in str(snapshot.error)
    assert "HTTP server" in str(snapshot.error)
    assert "Check the port in bootstrap.servers" in str(snapshot.error)
    assert member.close().clean


def test_a_broker_that_accepts_and_never_answers(member_of: Callable[..., GroupMember]) -> None:
    """Each attempt is bounded, the error says how long was waited, and so is close()."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        member = member_of(f"127.0.0.1:{port}", socket_connection_setup_timeout_ms=300)
        snapshot = member.wait_until(lambda snapshot: snapshot.error is not None, PATIENCE_S)
        assert snapshot.state is MemberState.JOINING
        # Less than the 0.3 s, by what connecting took.
        assert re.search(rf"127.0.0.1:{port} did not answer within 0\.[0-3]\d* s", str(snapshot.error))
        assert member.close().clean


def test_a_silent_server_with_the_default_timeouts(member_of: Callable[..., GroupMember]) -> None:
    """Where the request timeout comes first, the text still says who was asked: the bug was that it did not."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        member = member_of(address, request_timeout_ms=200)
        snapshot = member.wait_until(lambda snapshot: snapshot.error is not None, PATIENCE_S)
        assert f"None of the bootstrap servers ({address}) answered within 0.2 s" in str(snapshot.error)


def test_nothing_listens(member_of: Callable[..., GroupMember]) -> None:
    """The member is live, not ready, and says why; there is no coordinator to tell that it leaves."""
    address = dead_address()
    member = member_of(address)
    snapshot = member.wait_until(lambda snapshot: snapshot.error is not None, PATIENCE_S)
    assert (snapshot.state, type(snapshot.error)) == (MemberState.JOINING, ConnectionProblem)
    assert address in member.health().why
    assert (member.health().live, member.health().ready) == (True, False)
    report = member.close()
    assert (report.clean, report.steps[-1].outcome) == (True, "nothing to tell: not in the group")


def test_a_name_that_does_not_resolve(member_of: Callable[..., GroupMember]) -> None:
    """As above, with the name."""
    member = member_of("no-such-host.invalid:9092")
    snapshot = member.wait_until(lambda snapshot: snapshot.error is not None, PATIENCE_S)
    assert isinstance(snapshot.error, ConnectionProblem)
    assert "no-such-host.invalid:9092" in str(snapshot.error)


@pytest.mark.kafka
def test_a_dead_first_entry(group: Group, http_port: int) -> None:
    """Every entry of the list is tried in turn."""
    entries = [dead_address(), f"127.0.0.1:{http_port}", group.bootstrap_servers]
    member = group.join(bootstrap_servers=",".join(entries))
    group.wait_for_shares([member], group.partitions(6))
    assert member.error is None
