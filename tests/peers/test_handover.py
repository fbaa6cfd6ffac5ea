"""One instance id goes from one kind of client to another, as when a fleet is moved from one library to the next."""

from __future__ import annotations

import itertools

import pytest

from tests.peers.group import PeerGroup
from tests.peers.peer import Peer, PeerKind

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

# A walk that goes once from every kind to every other.
WALK: tuple[PeerKind, ...] = ("ours", "confluent", "ours", "java", "confluent", "java", "ours")


def test_every_kind_takes_over_from_every_other(group: PeerGroup) -> None:
    """A member that closes leaves its partitions to its successor, of whatever kind, without a rebalance."""
    bystanders = [group.join("ours", "bystander-1"), group.join("confluent", "bystander-2")]
    holder: Peer = group.join(WALK[0], "seat")
    group.wait_settled([*bystanders, holder])
    epoch, share = group.epoch, holder.history.owned
    for _, successor in itertools.pairwise(WALK):
        holder.leave()
        holder = group.join(successor, "seat")
        group.wait_settled([*bystanders, holder])
        assert (successor, group.epoch, holder.history.owned) == (successor, epoch, share)
    group.assert_never_shared()
