"""`Consumer.last_rebalance` and `Consumer.explain()`, beside a handler that does not poll while its group waits."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator

import pytest

from membership_client import CallbackKind, CauseKind, Consumer, MemberState, RebalanceTrigger
from membership_client.testing import EmbeddedKafka

PATIENCE_S = 40.0
SETTINGS: dict[str, str | int] = {
    "group.consumer.heartbeat.interval.ms": 100,
    "group.consumer.assignment.interval.ms": 0,
}


@pytest.fixture
def embedded() -> Iterator[EmbeddedKafka]:
    with EmbeddedKafka(topics={"orders": 2}, settings=SETTINGS) as cluster:
        yield cluster


@pytest.mark.parametrize("protocol", ["consumer", "classic"])
def test_a_consumer_tells_what_it_waits_for_and_afterwards_what_it_was(embedded: EmbeddedKafka, protocol: str) -> None:
    """A revoke waits for the next poll: `explain` names the thread's function, the report how long it waited."""
    config: dict[str, object] = {
        "bootstrap.servers": embedded.bootstrap_servers,
        "group.id": "shop",
        "group.protocol": protocol,
    }
    config |= {"partition.assignment.strategy": "cooperative-sticky"} if protocol == "classic" else {}
    config |= {"heartbeat.interval.ms": 100} if protocol == "classic" else {}
    at_work, done = threading.Event(), threading.Event()
    with Consumer(config) as first, Consumer(config) as second:
        assert first.last_rebalance is None
        assert "Do: call subscribe()." in first.explain()
        first.subscribe(["orders"], on_revoke=lambda *_: None)
        embedded.wait_for(lambda: first.poll(0.05) is None and len(first.assignment()) == 2, PATIENCE_S)
        embedded.wait_for(lambda: first.last_rebalance is not None, PATIENCE_S)
        assert first.last_rebalance is not None
        assert first.last_rebalance.cause.kind is CauseKind.JOINED
        thread = threading.Thread(target=_poll_once_and_work, args=(first, at_work, done), name="handler")
        thread.start()
        assert at_work.wait(PATIENCE_S)
        second.subscribe(["orders"])
        embedded.wait_for(
            lambda: second.poll(0.05) is None and "It waits for a call of poll()" in first.explain(), PATIENCE_S
        )
        text = first.explain()
        done.set()
        thread.join()
        embedded.wait_for(lambda: first.poll(0.05) is second.poll(0.05) and len(second.assignment()) == 1, PATIENCE_S)
        embedded.wait_for(lambda: first.snapshot.state is MemberState.STABLE, PATIENCE_S)
        report = first.last_rebalance
    assert "It waits for a call of poll()" in text
    assert "thread handler is at" in text
    assert "charge_the_customer" in text
    assert (report.triggered_by, len(report.lost), report.owned) == (RebalanceTrigger.GROUP, 1, 1)
    revoked = next(call for call in report.callbacks if call.kind is CallbackKind.REVOKED)
    assert revoked.waited_s > 0
    assert revoked.partitions == report.lost


def test_a_consumer_that_has_just_subscribed_is_not_told_to_subscribe(embedded: EmbeddedKafka) -> None:
    """Until the membership thread had taken the subscription in, the advice was to call subscribe()."""
    with Consumer({"bootstrap.servers": embedded.bootstrap_servers, "group.id": "shop"}) as consumer:
        for _ in range(20):
            consumer.subscribe(["orders"])
            assert "subscribe()" not in consumer.explain()
            consumer.unsubscribe()
            embedded.wait_for(lambda: consumer.snapshot.state is MemberState.UNSUBSCRIBED, PATIENCE_S)


def _poll_once_and_work(consumer: Consumer, at_work: threading.Event, done: threading.Event) -> None:
    consumer.poll(0.05)
    charge_the_customer(at_work, done)


def charge_the_customer(at_work: threading.Event, done: threading.Event) -> None:
    """A name that the text can be expected to show."""
    at_work.set()
    done.wait(PATIENCE_S)


def test_a_callback_that_has_just_begun_does_not_count_its_wait_for_a_poll(embedded: EmbeddedKafka) -> None:
    """Inside the callback the text said that it had not returned for as long as it had waited for a poll before."""
    config = {"bootstrap.servers": embedded.bootstrap_servers, "group.id": "shop"}
    inside: list[str] = []
    with Consumer(config) as first, Consumer(config) as second:
        first.subscribe(["orders"], on_revoke=lambda consumer, _: inside.append(consumer.explain()))
        embedded.wait_for(lambda: first.poll(0.05) is None and len(first.assignment()) == 2, PATIENCE_S)
        second.subscribe(["orders"])
        waited = r"a call of poll\(\), for [1-9][\d.]* s"
        embedded.wait_for(lambda: second.poll(0.05) is None and re.search(waited, first.explain()), PATIENCE_S)
        embedded.wait_for(lambda: first.poll(0.05) is None and inside, PATIENCE_S)
    assert re.search(r"the revoked callback of orders\[\d\] to return, for 0\.\d s", inside[0])
