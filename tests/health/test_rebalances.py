"""Events that are no reason for a restart: rebalances, rolling restarts, fences, coordinators that move, brokers that are away."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest

from membership_client import Consumer, GroupMember, MemberClosedError, MemberState, health
from membership_client.testing import EmbeddedKafka
from tests.health.probing import FAST, config, probed
from tests.integration.members import PATIENCE_S, eventually

pytestmark = pytest.mark.deep

ROUNDS = 100


@pytest.fixture
def kafka() -> Iterator[EmbeddedKafka]:
    with EmbeddedKafka(3, topics={"orders": 12}, settings=FAST | {"group.min.session.timeout.ms": 1000}) as kafka:
        yield kafka


@pytest.mark.parametrize("protocol", ["consumer", "classic"])
def test_a_hundred_rebalances(kafka: EmbeddedKafka, protocol: str) -> None:
    """A member joins and leaves again and again: the others stay live and ready all the time."""
    keys = {"group_protocol": protocol} | ({"heartbeat_interval_ms": 100} if protocol == "classic" else {})
    with ExitStack() as stack:
        members = [stack.enter_context(GroupMember(config(kafka, **keys))) for _ in range(3)]
        ports = [stack.enter_context(health.serve(member, port=0)).port for member in members]
        for member in members:
            member.subscribe(["orders"])
        for member in members:
            member.wait_until(MemberState.STABLE, PATIENCE_S)
        with probed(*ports) as counts:
            for _ in range(ROUNDS // 2):
                with GroupMember(config(kafka, **keys)) as guest:
                    guest.subscribe(["orders"])
                    guest.wait_until(lambda seen: len(seen.owned) == 3, PATIENCE_S)
                members[0].wait_until(lambda seen: len(seen.owned) == 4, PATIENCE_S)
        assert sum(counts.values()) > ROUNDS
        assert {code for _, code in counts} == {200}, counts


def test_fences_and_coordinators_that_move(kafka: EmbeddedKafka) -> None:
    """Each costs a join, for which the member is out of the group: it stays live and ready."""
    with GroupMember(config(kafka)) as member, health.serve(member, port=0) as server:
        member.subscribe(["orders"])
        member.wait_until(MemberState.STABLE, PATIENCE_S)
        eventually(lambda: health.report(member).ready, "the member is ready")
        with probed(server.port) as counts:
            for number in range(ROUNDS):
                before = member.epoch
                if number % 3:
                    (kafka.fence if number % 2 else kafka.expire_session)(member.snapshot.member_id)
                    eventually(lambda: member.epoch != before, "the fence is noticed")  # noqa: B023
                else:
                    kafka.move_coordinator(loading_s=0.1)
                member.wait_until(lambda seen: seen.state is MemberState.STABLE and len(seen.owned) == 12, PATIENCE_S)
        assert {code for _, code in counts} == {200}, counts


def test_a_rolling_restart_of_static_members(kafka: EmbeddedKafka) -> None:
    """Each of three members closes and comes back under its instance id, ten times: the others stay live and ready."""

    def one(name: str) -> Consumer:
        consumer = Consumer(config(kafka, group_instance_id=name))
        consumer.subscribe(["orders"])
        eventually(lambda: (consumer.poll(0.01), consumer.snapshot.state is MemberState.STABLE)[1], "it is stable")
        return consumer

    with ExitStack() as stack:
        consumers = {name: one(name) for name in ("a", "b", "c")}
        ports = []
        stopped = threading.Event()

        def keep_polling() -> None:
            while not stopped.is_set():
                for consumer in tuple(consumers.values()):
                    with suppress(MemberClosedError):
                        consumer.poll(0.01)

        polling = threading.Thread(target=keep_polling)
        polling.start()
        try:
            stay = stack.enter_context(health.serve(consumers["a"], consumers["b"], port=0))
            ports.append(stay.port)
            eventually(lambda: health.report(consumers["a"], consumers["b"]).ready, "two are ready")
            with probed(*ports) as counts:
                for _ in range(10):
                    old = consumers.pop("c")
                    old.close()
                    consumers["c"] = one("c")
            assert {code for _, code in counts} == {200}, counts
        finally:
            stopped.set()
            polling.join()
            for consumer in consumers.values():
                consumer.close()


def test_brokers_that_are_away(kafka: EmbeddedKafka) -> None:
    """No restart mends them. The member is not ready after a minute, and ready again when they are back."""
    with GroupMember(config(kafka)) as member, health.serve(member, port=0) as server:
        member.subscribe(["orders"])
        member.wait_until(MemberState.STABLE, PATIENCE_S)
        with probed(server.port) as counts:
            kafka.pause()
            eventually(lambda: not member.health().ready, "the member has heard nothing for three intervals")
            kafka.resume()
            eventually(lambda: member.health().ready, "the member is back")
        assert {code for _, code in counts} == {200}, counts
