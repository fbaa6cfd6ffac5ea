"""The port for probes, with real members, and with other clients."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import threading
import time
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from membership_client import ConfigError, Consumer, GroupMember, MemberState, aio, health
from membership_client.health import probe_rules
from membership_client.runtime import forked
from membership_client.testing import EmbeddedKafka
from tests.health.probing import FAST, asked, config, status, verbose
from tests.integration.members import PATIENCE_S, eventually


@pytest.fixture(scope="module")
def kafka() -> Iterator[EmbeddedKafka]:
    with EmbeddedKafka(topics={"orders": 4}, settings=FAST) as kafka:
        yield kafka


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hides open members of other tests from this process."""
    monkeypatch.setattr(forked, "_members", weakref.WeakSet())


def statuses(port: int) -> list[int | None]:
    return [status(port, path) for path in ("/livez", "/readyz", "/startupz")]


def test_a_member_from_its_making_to_its_end(kafka: EmbeddedKafka) -> None:
    """It is live from the start, started when it has subscribed, ready when it has joined, and none of these when it is closed."""
    member = GroupMember(config(kafka))
    with health.serve(member, port=0) as server:
        assert statuses(server.port) == [200, 503, 503]
        member.subscribe(["orders"])
        member.wait_until(MemberState.STABLE, PATIENCE_S)
        assert statuses(server.port) == [200, 200, 200]
        told = verbose(server.port)["members"][0]
        assert (told["group_id"], told["state"], told["partitions"]) == ("shop", "stable", 4)
        member.close()
        assert statuses(server.port) == [503, 503, 200]


def test_a_consumer(kafka: EmbeddedKafka) -> None:
    """One line in the program is enough."""
    with Consumer(config(kafka)) as consumer, health.serve(consumer, port=0) as server:
        consumer.subscribe(["orders"])
        eventually(lambda: (consumer.poll(0.05), status(server.port, "/readyz") == 200)[1], "the consumer is ready")
        assert status(server.port, "/livez") == 200


@pytest.mark.parametrize("kind", [aio.GroupMember, aio.Consumer])
def test_asyncio(kafka: EmbeddedKafka, kind: Any) -> None:
    """The port has its own thread, so it answers while the loop is blocked; a route of a framework can call `report()`."""

    async def story() -> None:
        async with kind(config(kafka)) as member:
            with health.serve(member, port=0) as server:
                done = member.subscribe(["orders"])
                if isinstance(member, aio.Consumer):
                    with contextlib.suppress(TimeoutError):
                        await done
                give_up_at = time.monotonic() + PATIENCE_S
                while not health.report(member).ready and time.monotonic() < give_up_at:
                    if isinstance(member, aio.Consumer):
                        await member.getmany(timeout_s=0.05)
                    await asyncio.sleep(0.02)
                assert statuses(server.port) == [200, 200, 200]  # Which blocks the loop.
                assert health.report().ready

    asyncio.run(story())


def test_all_members_of_the_process(kafka: EmbeddedKafka) -> None:
    """Without arguments the report is about all open members, whenever they were made; replaced ones do not count."""
    with health.serve(port=0) as server:
        first = GroupMember(config(kafka))
        first.subscribe(["orders"])
        first.wait_until(MemberState.STABLE, PATIENCE_S)
        eventually(lambda: status(server.port, "/readyz") == 200, "the first is ready")
        with GroupMember(config(kafka)) as second:
            assert statuses(server.port) == [200, 503, 503]
            first.close()
            second.subscribe(["orders"])
            second.wait_until(MemberState.STABLE, PATIENCE_S)
            assert statuses(server.port) == [200, 200, 200]
            assert len(verbose(server.port)["members"]) == 1


def test_fatal(kafka: EmbeddedKafka) -> None:
    """Another process has taken the instance id over: this process must be restarted, or ended."""
    keys = {"group_instance_id": "till-1"}
    with GroupMember(config(kafka, **keys)) as old, health.serve(old, port=0) as server:
        old.subscribe(["orders"])
        old.wait_until(MemberState.STABLE, PATIENCE_S)
        with GroupMember(config(kafka, **keys, group_instance_id_conflict="takeover")) as new:
            new.subscribe(["orders"])
            eventually(lambda: status(server.port, "/livez") == 503, "the probe notices the fatal error")
            assert "was fenced by member" in verbose(server.port)["why"]
            assert status(server.port, "/readyz") == 503


def test_an_application_that_does_not_poll(kafka: EmbeddedKafka) -> None:
    """It has left the group, and is not live. With a poll it is live again."""
    with Consumer(config(kafka, max_poll_interval_ms=500)) as consumer, health.serve(consumer, port=0) as server:
        consumer.subscribe(["orders"])
        eventually(lambda: (consumer.poll(0.05), status(server.port, "/readyz") == 200)[1], "the consumer is ready")
        eventually(lambda: status(server.port, "/livez") == 503, "the probe notices that it does not poll")
        assert "does not poll (poll interval exceeded" in verbose(server.port)["why"]
        eventually(lambda: (consumer.poll(0.05), status(server.port, "/readyz") == 200)[1], "the consumer is back")


def test_a_membership_thread_that_is_stuck(kafka: EmbeddedKafka, monkeypatch: pytest.MonkeyPatch) -> None:
    """An observer never returns, so heartbeats have stopped."""
    monkeypatch.setattr(probe_rules, "LATE_S", 0.5)
    stuck, go_on = threading.Event(), threading.Event()

    def observer(_step: object) -> None:
        if stuck.is_set():
            go_on.wait()

    with GroupMember(config(kafka), observers=[observer]) as member, health.serve(member, port=0) as server:
        member.subscribe(["orders"])
        member.wait_until(MemberState.STABLE, PATIENCE_S)
        stuck.set()
        eventually(lambda: status(server.port, "/livez") == 503, "the probe notices the stuck thread")
        assert "the membership thread has been stuck for" in verbose(server.port)["why"]
        go_on.set()
        eventually(lambda: status(server.port, "/livez") == 200, "the thread goes on")


def test_strangers_cannot_keep_probes_out(kafka: EmbeddedKafka) -> None:
    """Hundreds of connections that send nothing, or a byte now and then, are closed after two seconds, the oldest first."""
    with GroupMember(config(kafka)) as member, health.serve(member, port=0) as server:
        threads = threading.active_count()
        crowd = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(200)]
        for number, stranger in enumerate(crowd):
            with contextlib.suppress(OSError):
                stranger.send([b"", b"G", b"\0" * 5000, b"GET /livez HTTP/1.1\r\nX: " + b"y" * 9000][number % 4])
        for _ in range(20):
            assert status(server.port, "/livez") == 200
        assert threading.active_count() == threads
        for stranger in crowd:
            stranger.settimeout(PATIENCE_S)
            with contextlib.suppress(ConnectionError):
                while received := stranger.recv(4096):
                    assert b"Traceback" not in received
            stranger.close()
        assert status(server.port, "/livez") == 200


def test_a_port_that_is_taken(kafka: EmbeddedKafka) -> None:
    """The error is raised by `serve`."""
    with GroupMember(config(kafka)) as member, health.serve(member, port=0) as server:
        with pytest.raises(ConfigError, match=f"Probes cannot be served on port {server.port}: Address already in use"):
            health.serve(member, port=server.port)
        with pytest.raises(ConfigError, match="of members and consumers of membership_client, not of a str"):
            health.serve("consumer", port=0)


def test_a_port_is_free_when_its_server_is_closed(kafka: EmbeddedKafka) -> None:
    """It is free even while a forked child lives, which had a copy of the socket."""
    with GroupMember(config(kafka)) as member:
        server = health.serve(member, port=0)
        runs, started = os.pipe()
        go_on, order = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(order)
            os.write(started, b"x")
            os.read(go_on, 1)
            os._exit(0 if health.report().members == () else 1)
        os.read(runs, 1)
        assert asked(server.port, "/livez") == (200, "ok\n")
        server.close()
        health.serve(member, port=server.port).close()
        server.close()
        os.close(order)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        for end in (runs, started, go_on):
            os.close(end)
