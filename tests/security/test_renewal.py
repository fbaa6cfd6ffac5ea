"""Sessions that brokers end after a while (KIP-368): the member authenticates again, and nothing else happens."""

from __future__ import annotations

import itertools
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from confluent_kafka import Producer

from membership_client import ConnectionProblem, Consumer, GroupMember, MemberState
from membership_client.core.events import Answered, Failed, HeartbeatAccepted
from membership_client.core.machine import Step
from tests.integration.members import eventually
from tests.security.secure_kafka import PATIENCE_S, RENEWED_EVERY_MS, SecureKafka, make_token
from tests.security.token_endpoint import TokenEndpoint

pytestmark = [pytest.mark.kafka, pytest.mark.deep]

SESSION_S = RENEWED_EVERY_MS / 1000
SESSIONS_S = 2.5 * SESSION_S
MECHANISMS = ("plain", "scram-256", "scram-512", "token", "oidc")


def short_lived(secured: SecureKafka, endpoint: TokenEndpoint, way: str) -> dict[str, Any]:
    """A listener whose sessions end, under TLS; tokens do not live longer."""
    proof = {key: value for key, value in secured.ways_in(endpoint.url)[way].items() if key.startswith("sasl.")}
    callback = {"oauth_cb": lambda _: (make_token(SESSION_S), time.time() + SESSION_S)} if way == "token" else {}
    return secured.at("SHORT") | proof | callback


def descriptors(member: GroupMember) -> set[int]:
    links = member._transport._links.values()
    return {link.connection.fileno() for link in links if link.connection is not None}


def live_through(config: dict[str, Any], topic: str) -> None:
    """Over more than two sessions, with commits in between: the same connections, no failure, no loss.

    Classic members join again and again, for which they have a second connection: such a request may wait for others.
    """
    steps: list[Step] = []
    classic = config.get("group.protocol") == "classic"
    with GroupMember({**config, "group.id": topic}, observers=[steps.append]) as member:
        member.subscribe([topic])
        owned = member.wait_until(lambda s: s.state is MemberState.STABLE and len(s.owned) == 2, PATIENCE_S).owned
        used, ends = set[int](), time.monotonic() + SESSIONS_S
        while time.monotonic() < ends:
            if classic:
                join_again(member)
            member.commit(dict.fromkeys(owned, int(time.monotonic())))
            used |= descriptors(member)
            time.sleep(0.1)
        assert len(used) == 1 + classic, config["sasl.mechanism"]
        assert member.snapshot.state is MemberState.STABLE
    assert not [step for step in steps if isinstance(step.event, Failed)], config["sasl.mechanism"]


def join_again(member: GroupMember) -> None:
    before = member.epoch
    member.enforce_rebalance()
    member.wait_until(lambda s: s.state is MemberState.STABLE and s.epoch > before and len(s.owned) == 2, PATIENCE_S)


def read_through(config: dict[str, Any], topic: str, producer: Producer) -> None:
    """For more than two sessions a Consumer reads what is written, in order, and commits it."""
    consumer = Consumer({**config, "group.id": topic, "auto.offset.reset": "earliest", "log_level": 0})
    consumer.subscribe([topic])
    try:
        ends = time.monotonic() + SESSIONS_S
        for number in itertools.takewhile(lambda _: time.monotonic() < ends, itertools.count()):
            producer.produce(topic, str(number).encode(), partition=0)
            producer.flush()
            record = consumer.poll(PATIENCE_S)
            assert record is not None
            assert record.value() == str(number).encode()
            consumer.commit(record, asynchronous=False)
            time.sleep(0.1)
    finally:
        consumer.close()


def beat_late(config: dict[str, Any], topic: str) -> None:
    """Heartbeats come less often than sessions end: brokers let a session be renewed that is over already."""
    steps: list[Step] = []
    with GroupMember({**config, "group.id": topic}, observers=[steps.append]) as member:
        member.subscribe([topic])
        member.wait_until(lambda s: s.state is MemberState.STABLE and len(s.owned) == 2, PATIENCE_S)
        before, beats = descriptors(member), len(heartbeats(steps))
        eventually(lambda: len(heartbeats(steps)) > beats, "a heartbeat")
        assert descriptors(member) == before
    assert not [step for step in steps if isinstance(step.event, Failed)]


def heartbeats(steps: list[Step]) -> list[Step]:
    return [s for s in list(steps) if isinstance(s.event, Answered) and isinstance(s.event.response, HeartbeatAccepted)]


def test_sessions_are_renewed_whichever_way_in(
    secured: SecureKafka, endpoint: TokenEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All mechanisms, members and consumers, busy ones and idle ones, under TLS; at once, because a session takes its time.

    SCRAM has three exchanges, between which requests wait. A session lasts no longer than its token, so each has a new one.
    """
    monkeypatch.setattr(endpoint, "life_s", SESSION_S)
    given = len(endpoint.given)
    slow = secured.new_topic(heartbeat_interval_ms=RENEWED_EVERY_MS + 1000)
    producer = Producer({"bootstrap.servers": secured.cluster.bootstrap_servers})
    with ThreadPoolExecutor(len(MECHANISMS) + 3) as pool:
        lives = [
            pool.submit(live_through, short_lived(secured, endpoint, way), secured.new_topic()) for way in MECHANISMS
        ]
        classic = short_lived(secured, endpoint, "scram-256") | {"group.protocol": "classic"}
        lives.append(pool.submit(live_through, classic, secured.new_topic()))
        lives.append(pool.submit(beat_late, short_lived(secured, endpoint, "plain"), slow))
        reader = short_lived(secured, endpoint, "scram-512")
        lives.append(pool.submit(read_through, reader, secured.new_topic(), producer))
    for life in lives:
        life.result()
    assert len(endpoint.given) - given >= 3


def test_an_identity_provider_that_is_away(
    secured: SecureKafka, endpoint: TokenEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A passing problem: the last token is shown while it is good, and then nothing is, until there is one.

    It ended members: each session was shorter than the one before, and renewed sooner than brokers allow.
    """
    topic, states = secured.new_topic(), set[MemberState]()
    monkeypatch.setattr(endpoint, "life_s", SESSION_S)
    config = short_lived(secured, endpoint, "oidc") | {"group.id": topic}
    with GroupMember(config, observers=[lambda step: states.add(step.after.state)]) as member:
        member.subscribe([topic])
        member.wait_until(lambda s: s.state is MemberState.STABLE and len(s.owned) == 2, PATIENCE_S)
        with monkeypatch.context() as outage:
            outage.setattr(endpoint, "_answer", lambda *_: (503, {}))
            found = member.wait_until(lambda s: s.error is not None, PATIENCE_S)
            assert isinstance(found.error, ConnectionProblem)
            assert "gave no token: HTTP status 503" in str(found.error)
            time.sleep(SESSION_S)
        member.wait_until(lambda s: s.error is None and s.state is MemberState.STABLE, PATIENCE_S)
    assert MemberState.FATAL not in states
