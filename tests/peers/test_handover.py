"""One instance id goes from one kind of client to another, as when a fleet is moved from one library to the next."""

from __future__ import annotations

import itertools

import pytest

from tests.peers.classic import EITHER_PROTOCOL, kinds_with, settings_with
from tests.peers.group import PeerGroup
from tests.peers.peer import Peer, PeerKind

pytestmark = pytest.mark.kafka

# A walk that goes once from every kind to every other.
WALK: tuple[PeerKind, ...] = ("ours", "confluent", "ours", "java", "confluent", "java", "ours")


@pytest.mark.parametrize("strategy", EITHER_PROTOCOL)
def test_every_kind_takes_over_from_every_other(group: PeerGroup, strategy: str | None) -> None:
    """A member that closes leaves its partitions to its successor, of whatever kind, and nobody else notices."""

    def join(kind: PeerKind, name: str) -> Peer:
        return group.join(kind, name, **settings_with(kind, strategy))

    kinds = kinds_with(strategy)
    bystanders = [join(kind, f"bystander-{kind}") for kind in kinds[:2]]
    holder = join("ours", "seat")
    group.wait_settled([*bystanders, holder])
    before, share = rebalances(group, strategy, bystanders), holder.history.owned
    for _, successor in itertools.pairwise(kind for kind in WALK if kind in kinds):
        holder.leave()
        holder = join(successor, "seat")
        group.wait_settled([*bystanders, holder])
        assert (successor, holder.history.owned) == (successor, share)
    assert rebalances(group, strategy, bystanders) == before
    group.assert_never_shared()


def rebalances(group: PeerGroup, strategy: str | None, bystanders: list[Peer]) -> tuple[int | None, list[int]]:
    """The epoch, if the group has one to tell, and how often each bystander was called."""
    epoch = group.epoch if strategy is None else None
    return epoch, [len(bystander.history.changes) for bystander in bystanders]
