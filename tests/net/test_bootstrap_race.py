"""Several bootstrap entries, of which some are dead in one way or another."""

from __future__ import annotations

import contextlib
import socket
import threading

import pytest

from membership_client.core.events import FailureKind
from membership_client.net.channel import OpenFailed, failure_of_host, failure_of_servers
from membership_client.net.connecting import Opener, open_first
from membership_client.net.connection import Connection
from membership_client.net.opening import open_connection
from membership_client.types import Node
from tests.net.patience import LIMIT_S, open_descriptors, until
from tests.net.scripted_broker import Peer, ScriptedBroker, black_hole, stay

PATIENCE_S = 0.2


def opener(node: Node) -> Opener:
    return lambda: open_connection(node, client_id="tester", timeout_s=LIMIT_S)


def refusing() -> Node:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return Node("127.0.0.1", listener.getsockname()[1])


def hang(peer: Peer) -> None:
    peer.wait_for_close()


def refuse_with(*kinds: FailureKind) -> list[Opener]:
    """Entries that fail at once, each in its way."""

    def failing(kind: FailureKind) -> Opener:
        def fail() -> Connection:
            raise OpenFailed(kind, f"it is {kind.name}")

        return fail

    return [failing(kind) for kind in kinds]


def strange(peer: Peer) -> None:
    peer.request()
    peer.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def test_dead_entries_delay_no_request() -> None:
    """One refuses, one drops packets, one accepts and hangs: the fourth is connected to long before any time is up."""
    with ScriptedBroker(hang) as hanging, black_hole() as hole, ScriptedBroker(stay) as broker:
        nodes = [refusing(), hole, hanging.node, broker.node]
        with contextlib.closing(open_first([opener(node) for node in nodes], PATIENCE_S)) as connection:
            assert connection.address == broker.node


def test_who_comes_too_late_is_closed() -> None:
    """A second connection that is not needed must not stay open."""
    goes, before = threading.Event(), open_descriptors()

    with ScriptedBroker(stay) as broker, ScriptedBroker(stay) as slow:

        def late() -> Connection:
            opened = opener(slow.node)()
            goes.wait(LIMIT_S)
            return opened

        with contextlib.closing(open_first([late, opener(broker.node)], PATIENCE_S)) as connection:
            assert connection.address == broker.node
        # One that is stuck must not keep the process alive.
        assert all(thread.daemon for thread in threading.enumerate() if thread.name == "membership-connect")
        goes.set()
        assert slow.client_gone.wait(LIMIT_S)
    until(lambda: open_descriptors() <= before)


def test_all_are_dead() -> None:
    """The error names all of them, and has the kind of the most serious one."""
    dead = refusing()
    with ScriptedBroker(strange) as stranger:
        with pytest.raises(OpenFailed) as caught:
            open_first([opener(stranger.node), opener(dead)], PATIENCE_S)
        assert str(stranger.node) in caught.value.detail
    assert caught.value.kind is FailureKind.NOT_KAFKA
    assert str(dead) in caught.value.detail


def test_the_slowest_of_the_dead_is_waited_for() -> None:
    """It was tried first, and might have been the only one that lives."""
    others_failed = threading.Event()

    def slow() -> Connection:
        others_failed.wait(LIMIT_S)
        raise OpenFailed(FailureKind.UNREACHABLE, "slow")

    def fast() -> Connection:
        others_failed.set()
        raise OpenFailed(FailureKind.UNREACHABLE, "fast")

    with pytest.raises(OpenFailed) as caught:
        open_first([slow, fast], PATIENCE_S)
    assert set(caught.value.detail.split("; ")) == {"fast", "slow"}


@pytest.mark.parametrize(("ours", "told"), [((True, True), True), ((True, False), False), ((False, False), False)])
def test_a_failure_is_ours_if_each_is(ours: tuple[bool, ...], told: bool) -> None:
    """An entry that failed for a reason of its own may be the one to look at."""
    failures = [OpenFailed(FailureKind.UNREACHABLE, "no", ours=each) for each in ours]
    assert failure_of_servers(failures).ours is told
    assert failure_of_host(failures).ours is told


@pytest.mark.parametrize(
    ("kinds", "told"),
    [
        (("UNTRUSTED", "UNREACHABLE", "UNREACHABLE"), "UNREACHABLE"),
        (("UNREACHABLE", "AUTHENTICATION"), "UNREACHABLE"),
        (("AUTHENTICATION", "NOT_KAFKA", "UNREACHABLE"), "NOT_KAFKA"),
        (("UNTRUSTED", "AUTHENTICATION"), "AUTHENTICATION"),
        (("UNTRUSTED", "UNTRUSTED"), "UNTRUSTED"),
    ],
)
def test_a_refusal_counts_only_if_all_refuse(kinds: tuple[str, ...], told: str) -> None:
    """A refusal ends a member: one entry that was given to strangers did so while the others were being restarted."""
    with pytest.raises(OpenFailed) as caught:
        open_first(refuse_with(*(FailureKind[kind] for kind in kinds)), PATIENCE_S)
    assert caught.value.kind is FailureKind[told]
    assert caught.value.detail == "; ".join(f"it is {kind}" for kind in kinds)
