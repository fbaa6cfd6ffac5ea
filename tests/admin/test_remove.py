"""Members are removed from outside: dead ones at once, live ones only by force. The reason is in the broker's log."""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from membership_client import CauseKind, GroupMember, LeaveMode, TopicPartition
from membership_client.admin import (
    Earliest,
    GroupAdmin,
    Life,
    MemberAliveError,
    UnknownMemberError,
)
from membership_client.errors import GroupNotFoundError, MembershipError
from membership_client.testing import KafkaCluster
from tests.admin.test_kafka_tool import fill
from tests.integration.members import (
    PATIENCE_S,
    QUICK,
    Call,
    Group,
    RecordingListener,
    WatchedMember,
    eventually,
    log_about,
)
from tests.peers.classic import classic_settings, wait_shared
from tests.peers.conftest import GroupFactory
from tests.peers.group import PeerGroup
from tests.peers.ours import OurPeer
from tests.peers.peer import PeerKind

pytestmark = [pytest.mark.kafka, pytest.mark.deep]

PROTOCOLS = ("consumer", "classic")
VICTIMS: tuple[PeerKind, ...] = ("ours", "confluent", "java")
SESSION_MS = 240_000
"""Longer than any test: what moves before is moved by the removal, and not because a session ended."""


@pytest.fixture(params=[{}, {"group.protocol": "classic", "heartbeat.interval.ms": 200}], ids=PROTOCOLS)
def member(kafka: KafkaCluster, peers: PeerGroup, request: pytest.FixtureRequest) -> Iterator[GroupMember]:
    """A static member that owns all six partitions, of either protocol."""
    config = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": peers.id, "group.instance.id": "till-1"}
    with GroupMember(config | request.param) as joined:
        joined.subscribe([peers.id])
        joined.wait_until(lambda now: len(now.owned) == 6, PATIENCE_S)
        yield joined
        joined.close(LeaveMode.LEAVE)


def test_dead_static_members_of_any_client_make_room_at_once(
    kafka: KafkaCluster, admin: GroupAdmin, new_group: GroupFactory
) -> None:
    """One request removes all: their partitions move long before their sessions end, and the log has the reason."""
    group = new_group(consumer_session_timeout_ms=SESSION_MS)
    fill(kafka, group)
    admin.reset(admin.plan_reset(group.id, Earliest(), topics=[group.id]))
    survivor = group.join("ours")
    victims = [group.join_process(kind, f"static-{kind}") for kind in VICTIMS]
    group.wait_settled([survivor, *victims])
    for victim in victims:
        victim.kill()
    outcomes = admin.remove(group.id, [f"static-{kind}" for kind in VICTIMS], reason="rack 7 lost power", watch_s=1)
    assert [(outcome.name, outcome.error) for outcome in outcomes] == [(f"static-{kind}", None) for kind in VICTIMS]
    group.wait_settled([survivor])
    log = log_about(kafka, f"[GroupId {group.id}]")
    assert log().count("client reason: member was removed by an admin: rack 7 lost power") == len(VICTIMS)


def test_dead_static_members_of_a_classic_group_make_room_at_once(
    kafka: KafkaCluster, admin: GroupAdmin, peers: PeerGroup
) -> None:
    """The same request, in a group of the other protocol; without a reason the log has Kafka's own."""
    kinds: tuple[PeerKind, ...] = ("confluent", "java")
    survivor = peers.join("ours", **classic_settings("ours", "range", session_ms=SESSION_MS))
    victims = [
        peers.join_process(kind, f"static-{kind}", **classic_settings(kind, "range", session_ms=SESSION_MS))
        for kind in kinds
    ]
    wait_shared(peers, [survivor, *victims])
    for victim in victims:
        victim.kill()
    # A member id does as well as an instance id.
    dead = [admin.describe(peers.id, lag=False).find(f"static-{kind}") for kind in kinds]
    outcomes = admin.remove(peers.id, [member.member_id for member in dead if member], force=True)
    assert [outcome.error for outcome in outcomes] == [None, None]
    wait_shared(peers, [survivor])
    log = log_about(kafka, peers.id)()
    assert log.count("client reason: member was removed by an admin") == len(kinds)
    assert "removed by an admin:" not in log


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_dead_go_and_the_living_stay(
    kafka: KafkaCluster, admin: GroupAdmin, new_group: GroupFactory, protocol: str
) -> None:
    """One call without force, for members that work and members for which records wait in vain."""
    group = new_group(consumer_session_timeout_ms=SESSION_MS)
    settings = classic_settings("ours", "range", session_ms=SESSION_MS) if protocol == "classic" else {}
    fill(kafka, group)
    admin.reset(admin.plan_reset(group.id, Earliest(), topics=[group.id]))
    alive = [OurPeer(group.seat(name, **settings)) for name in ("alive-1", "alive-2")]
    group.members += alive
    for peer in alive:
        peer.join()
    dead = [group.join_process("ours", name, **settings) for name in ("dead-1", "dead-2")]
    wait_shared(group, [*alive, *dead])
    for victim in dead:
        victim.kill()
    places = [min(peer.history.owned) for peer in alive]

    def work(count: int) -> None:
        for peer, place in zip(alive, places, strict=True):
            # The removal may move the partition while this goes on.
            with contextlib.suppress(MembershipError):
                peer.member.commit({place: count % 5})

    with busily(work):
        outcomes = admin.remove_all(group.id, watch_s=5)
    assert {outcome.name: type(outcome.error) for outcome in outcomes} == {
        **dict.fromkeys(("alive-1", "alive-2"), MemberAliveError),
        **dict.fromkeys(("dead-1", "dead-2"), type(None)),
    }
    wait_shared(group, alive)


def test_an_idle_member_may_be_alive_and_stays(admin: GroupAdmin, peers: PeerGroup, member: GroupMember) -> None:
    """Nothing shows whether it is alive, and no record waits for it."""
    (outcome,) = admin.remove(peers.id, ["till-1"], watch_s=0.3)
    assert isinstance(outcome.error, MemberAliveError)
    assert re.search(
        r"till-1 may be alive: it committed nothing in \d+ s, but no records are known", str(outcome.error)
    )
    assert admin.describe(peers.id, lag=False).find("till-1") is not None


def test_a_member_that_commits_looks_alive(admin: GroupAdmin, peers: PeerGroup, member: GroupMember) -> None:
    """It is not removed, and the outcome has the sign of life."""
    with busily(lambda count: member.commit({TopicPartition(peers.id, 3): count})):
        (outcome,) = admin.remove(peers.id, ["till-1"], watch_s=PATIENCE_S)
    assert isinstance(outcome.error, MemberAliveError)
    assert f"till-1 looks alive: it committed offsets of {peers.id}[3]" in str(outcome.error)
    assert admin.describe(peers.id, lag=False).find("till-1") is not None


class busily:  # noqa: N801 - reads as a verb
    """Do something again and again on another thread."""

    def __init__(self, work: Callable[[int], object]) -> None:
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(work,))

    def _run(self, work: Callable[[int], object]) -> None:
        count = 0
        while not self._over.wait(0.05):
            work(count := count + 1)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def test_force_removes_a_live_member_which_joins_again(
    admin: GroupAdmin, peers: PeerGroup, member: GroupMember
) -> None:
    """All members are removed at once, and join again."""
    before = member.epoch
    (outcome,) = admin.remove_all(peers.id, force=True)
    assert outcome.removed
    member.wait_until(lambda now: now.epoch > before and len(now.owned) == 6, PATIENCE_S)


@pytest.mark.parametrize("settings", [{}, {"group_protocol": "classic", "heartbeat_interval_ms": 200}], ids=PROTOCOLS)
def test_force_empties_a_group_of_living_members_and_each_is_told(
    kafka: KafkaCluster, admin: GroupAdmin, settings: dict[str, Any]
) -> None:
    """The group is empty while a static and a dynamic member run their lost callbacks; then both join again."""
    over = threading.Event()

    def look_after(_: Call) -> None:
        over.wait(PATIENCE_S)

    with contextlib.closing(Group(kafka.bootstrap_servers, "remove-all")) as group:
        group.admin.set_group_config(group.id, **QUICK)
        group.create_topic(group.topic, 4)
        members = [group.join(name, RecordingListener(lost=look_after), **settings) for name in ("till-1", None)]
        shared = [member.wait(lambda now: len(now.owned) == 2) for member in members]
        outcomes = admin.remove_all(group.id, reason="maintenance", force=True)
        assert {outcome.name: outcome.error for outcome in outcomes} == {"till-1": None, "127.0.0.1": None}
        told = [loss_of(member) for member in members]
        view = admin.describe(group.id, lag=False)
        assert (view.state, view.members) == ("Empty", ())
        assert [(call.partitions, call.context.cause.kind) for call in told] == [
            (now.owned, CauseKind.FENCED) for now in shared
        ]
        over.set()
        for member in members:
            member.wait(lambda now: len(now.owned) == 2)
        log = log_about(kafka, group.id)()
        assert log.count("client reason: member was removed by an admin: maintenance") == len(members)


def loss_of(member: WatchedMember) -> Call:
    return eventually(lambda: member.listener.of("lost"), "lost partitions")[0]


def test_a_member_that_is_watched_for_longer_than_a_session_is_proven_alive(
    kafka: KafkaCluster, admin: GroupAdmin, new_group: GroupFactory
) -> None:
    """This is the only sign of life of an idle member in a stable group."""
    group = new_group(consumer_session_timeout_ms=7000)
    config = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": group.id}
    with GroupMember(config) as idle:
        idle.subscribe([group.id])
        idle.wait_until(lambda now: len(now.owned) == 6, PATIENCE_S)
        told: list[float] = []
        signs = admin.signs_of_life(group.id, watch_s=PATIENCE_S, progress=told.append)
    # Whatever else happens to it on a busy machine is a sign of life as well.
    assert [sign.life for sign in signs.values()] == [Life.ALIVE]
    assert told == sorted(told, reverse=True)
    assert told[-1] < told[0] < PATIENCE_S


def test_a_static_member_that_said_goodbye_is_removed_without_watching(
    kafka: KafkaCluster, admin: GroupAdmin, peers: PeerGroup
) -> None:
    """It left temporarily, so it is known to be away."""
    member = peers.join("ours", "till-1")
    peers.wait_settled([member])
    member.leave()
    began = time.monotonic()
    (outcome,) = admin.remove(peers.id, ["till-1"], watch_s=PATIENCE_S)
    assert outcome.removed
    assert time.monotonic() - began < PATIENCE_S
    eventually(lambda: admin.describe(peers.id, lag=False).state == "Empty", "an empty group")


def test_each_member_has_an_outcome_of_its_own(admin: GroupAdmin, peers: PeerGroup, member: GroupMember) -> None:
    """An unknown member does not keep others from being removed, and a member named by both of its ids is removed once."""
    ours, again, unknown = admin.remove(peers.id, ["till-1", member.snapshot.member_id, "nobody"], force=True)
    assert (ours.error, again.error) == (None, None)
    assert isinstance(unknown.error, UnknownMemberError)
    assert "nobody" in str(unknown.error)


def test_a_group_that_is_not_there_is_said_not_to_be(admin: GroupAdmin) -> None:
    """The error comes before any watching."""
    with pytest.raises(GroupNotFoundError, match="no-such-group"):
        admin.remove("no-such-group", ["till-1"])
