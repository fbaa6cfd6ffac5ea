"""An administrator of the shared broker, and groups whose members are of any client."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from membership_client.admin import GroupAdmin
from membership_client.testing import KafkaCluster
from tests.peers.conftest import GroupFactory, new_group, peer_jvm
from tests.peers.group import PeerGroup

__all__ = ["new_group", "peer_jvm"]


@pytest.fixture
def admin(kafka: KafkaCluster) -> Iterator[GroupAdmin]:
    with GroupAdmin(kafka.bootstrap_servers) as made:
        yield made


@pytest.fixture
def peers(new_group: GroupFactory) -> PeerGroup:
    """A group of six partitions, for members of any client."""
    return new_group()
