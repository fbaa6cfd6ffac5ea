"""Every fault of a network, in every state of a member, in both protocols: it recovers, or says why not, within a bound."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from membership_client.testing import ClusterAdmin, KafkaCluster
from membership_client.testing.wire import parse_addresses
from tests.integration.conftest import ProxiedKafka
from tests.integration.proxy import Proxy
from tests.integration.scenes import PARTITIONS, Stage

pytestmark = [pytest.mark.kafka, pytest.mark.deep]

TOPIC = "faults"
SESSION_S = 6.0
ALL_APIS = (3, 8, 9, 10, 11, 12, 13, 14, 18, 68)


@dataclass(frozen=True, slots=True)
class Fault:
    name: str
    begin: Callable[[Proxy], object]
    lasts_s: float = 1.5
    notices: bool = True
    """Does it make requests fail?"""

    def play(self, proxy: Proxy, act: Callable[[], None]) -> None:
        """It goes on happening all the time, to what is under way and to what is new."""
        over = threading.Event()

        def go_on() -> None:
            while not over.wait(0.1):
                self.begin(proxy)

        self.begin(proxy)
        with ThreadPoolExecutor(1) as pool:
            going_on = pool.submit(go_on)
            try:
                act()
                time.sleep(self.lasts_s)
            finally:
                over.set()
            going_on.result()
        proxy.mend()


def spoil(how: Callable[[Proxy, int, int], None]) -> Callable[[Proxy], None]:
    """The answers of every kind."""

    def begin(proxy: Proxy) -> None:
        for api_key in ALL_APIS:
            how(proxy, api_key, 8)

    return begin


FAULTS = (
    Fault("latency", lambda proxy: proxy.slow_down(latency_s=0.15), notices=False),
    Fault("jitter beyond the request timeout", lambda proxy: proxy.slow_down(jitter_s=0.5), notices=False),
    Fault("little bandwidth", lambda proxy: proxy.slow_down(bytes_per_s=1500), notices=False),
    Fault("loss", lambda proxy: proxy.stall()),
    Fault("requests get lost", lambda proxy: proxy.stall(answers=False)),
    Fault("answers get lost", lambda proxy: proxy.stall(requests=False)),
    Fault("reset", lambda proxy: proxy.reset(), 0.5, notices=False),
    Fault("half-open", lambda proxy: proxy.forget(), 0.5),
    Fault("cut", lambda proxy: proxy.cut()),
    Fault("cut beyond the session", lambda proxy: proxy.cut(), SESSION_S * 1.3),
    Fault("swallowed answers", spoil(Proxy.swallow_answers)),
    Fault("truncated answers", spoil(Proxy.truncate_answers)),
    Fault("garbage", spoil(Proxy.garble_answers)),
)


@pytest.fixture(scope="module")
def kafka_of_module() -> Iterator[ProxiedKafka]:
    """With a topic for all, and groups that are quick without being told."""
    settings: dict[str, str | int] = {
        "group.consumer.heartbeat.interval.ms": 200,
        "group.consumer.assignment.interval.ms": 0,
        "group.consumer.session.timeout.ms": int(SESSION_S * 1000),
    }
    with Proxy() as proxy:
        settings["advertised.listeners"] = f"PLAINTEXT://{proxy.address}"
        with KafkaCluster(settings=settings) as cluster:
            (proxy.target,) = parse_addresses(cluster.bootstrap_servers)
            ClusterAdmin(cluster.bootstrap_servers).create_topic(TOPIC, PARTITIONS)
            yield ProxiedKafka(cluster, proxy)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_no_fault_leaves_a_member_silent(kafka_of_module: ProxiedKafka, fault: Fault) -> None:
    """Joining, in each callback, acknowledging, stable, committing, leaving: all of them at once, each in a group of its own."""
    proxy = kafka_of_module.proxy
    session = {"classic": {"session_timeout_ms": int(SESSION_S * 1000)}}
    with Stage(proxy.address, TOPIC, session, notices=fault.notices) as stage:
        try:
            stage.prepare()
            fault.play(proxy, stage.act)
            stage.finish()
        finally:
            proxy.mend()
