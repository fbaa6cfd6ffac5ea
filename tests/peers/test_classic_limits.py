"""Classic groups of all clients that have no room for one more, or no strategy in common with it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from membership_client import GroupFullError, NoCommonStrategyError, TopicPartition
from membership_client.testing import KafkaCluster
from tests.peers.classic import SHARED, classic_settings, wait_shared
from tests.peers.group import Member, PeerGroup, eventually
from tests.peers.jvm import PeerJvm
from tests.peers.ours import OurPeer
from tests.peers.peer import KINDS, PeerKind

pytestmark = pytest.mark.kafka

LIMIT = "group.max.size"
_PATIENCE_S = 120
_CALM_S = 2.0


@pytest.fixture(scope="module")
def small_kafka() -> Iterator[KafkaCluster]:
    """Its groups have room for one member of each kind."""
    with KafkaCluster(settings={LIMIT: len(KINDS)}) as cluster:
        yield cluster


@pytest.fixture
def small_group(small_kafka: KafkaCluster, peer_jvm: PeerJvm) -> Iterator[PeerGroup]:
    group = PeerGroup(small_kafka.bootstrap_servers, peer_jvm, "small")
    yield group
    group.close()


def ours_in(group: PeerGroup, strategy: str = "range") -> OurPeer:
    """One of ours that joins; nothing is awaited."""
    peer = group.join("ours", **classic_settings("ours", strategy))
    assert isinstance(peer, OurPeer)
    return peer


@pytest.mark.parametrize("leaves", KINDS)
@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_no_room_among_others(small_group: PeerGroup, strategy: str, leaves: PeerKind) -> None:
    """One of ours too many ends, typed, and nobody inside notices; when one of them has left, it is let in."""
    inside: dict[PeerKind, Member] = {
        kind: small_group.join(kind, **classic_settings(kind, strategy)) for kind in SHARED[strategy]
    }
    wait_calm(small_group, inside.values())
    noticed = [len(member.history.changes) for member in inside.values()]
    outside = ours_in(small_group, strategy)
    eventually(lambda: isinstance(outside.member.error, GroupFullError), lambda: f"no room: {outside.member.snapshot}")
    assert LIMIT in str(outside.error)
    wait_shared(small_group, inside.values())
    assert [len(member.history.changes) for member in inside.values()] == noticed
    inside.pop(leaves).leave()
    outside.join()
    wait_shared(small_group, [*inside.values(), outside])
    small_group.assert_never_shared()


@pytest.mark.parametrize("holder", ["confluent", "java"])
@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_a_member_without_their_assignor(group: PeerGroup, strategy: str, holder: PeerKind) -> None:
    """It ends with an error that names the strategies of both sides, also if the group rebalances when it comes."""
    theirs = [group.join(holder, **classic_settings(holder, strategy))]
    wait_shared(group, theirs)
    theirs.append(group.join(holder, **classic_settings(holder, strategy)))
    ours = ours_in(group, "roundrobin")
    eventually(lambda: ours.error is not None, lambda: f"the end of our member: {ours.member.snapshot}")
    assert isinstance(ours.member.error, NoCommonStrategyError)
    assert "offers roundrobin" in str(ours.error)
    assert f"assigns by {strategy}" in str(ours.error)
    wait_shared(group, theirs)


@pytest.mark.parametrize("stranger", ["confluent", "java"])
def test_a_stranger_without_our_assignor(group: PeerGroup, stranger: PeerKind) -> None:
    """It is kept out, and ours, of which one leads, go on as if it had not come."""
    ours = [ours_in(group), ours_in(group)]
    wait_calm(group, ours)
    noticed = [len(peer.history.changes) for peer in ours]
    theirs = group.join(stranger, **classic_settings(stranger, "roundrobin"))
    eventually(lambda: theirs.error is not None, lambda: "the end of the stranger")
    wait_shared(group, ours)
    assert [len(peer.history.changes) for peer in ours] == noticed
    assert not theirs.history.owned


@pytest.mark.timeout(400)
def test_a_limit_that_is_lowered_under_a_group_of_all_clients(tmp_path: Path, peer_jvm: PeerJvm) -> None:
    """Whoever comes last to the rebalance that follows is out, and says why if it is ours; the others have everything."""
    with (
        KafkaCluster(directory=tmp_path) as kafka,
        closing(PeerGroup(kafka.bootstrap_servers, peer_jvm, "lowered")) as group,
    ):
        members: list[Member] = [group.join(kind, **patient(kind)) for kind in ("ours", *KINDS)]
        wait_shared(group, members)
        kafka.terminate(1)
        with (tmp_path / "broker-1" / "server.properties").open("a") as properties:
            properties.write(f"\n{LIMIT}={len(KINDS)}\n")
        kafka.restart(1)
        eventually(lambda: any(m.error for m in members), lambda: f"one too many of {told(members)}", _PATIENCE_S)
        inside = [member for member in members if member.error is None]
        assert all(isinstance(m.member.error, GroupFullError) for m in members if isinstance(m, OurPeer) and m.error)
        eventually(lambda: shared_by(group, inside), lambda: f"all shared: {[m.error for m in members]}", _PATIENCE_S)
        group.assert_never_shared()


def wait_calm(group: PeerGroup, members: Iterable[Member]) -> None:
    """Until they share everything and no callback came for a while: the last one of a cooperative rebalance assigns nothing."""
    present = list(members)
    wait_shared(group, present)

    def calm_for() -> float:
        return time.monotonic() - max(member.history.changes[-1].at for member in present)

    eventually(lambda: calm_for() > _CALM_S, lambda: f"no callback for {_CALM_S:g} s")


def patient(kind: PeerKind) -> dict[str, Any]:
    """Outlasts the restart of a broker, which then waits as long for those that it has turned away."""
    key, told_ms = ("max_poll_interval_ms", 20_000) if kind == "ours" else ("max.poll.interval.ms", "20000")
    return classic_settings(kind, "range") | {key: told_ms}


def told(members: list[Member]) -> list[tuple[str, list[TopicPartition]]]:
    """What each says that it owns, in the order of their joins."""
    return [(type(member).__name__, sorted(member.history.owned)) for member in members]


def shared_by(group: PeerGroup, members: list[Member]) -> bool:
    """Each partition once. By their own account: confluent-kafka's admin client is slow to come back to a new broker."""
    owned = [partition for member in members for partition in member.history.owned]
    return sorted(owned) == sorted(group.partitions)
