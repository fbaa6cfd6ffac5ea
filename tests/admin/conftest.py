"""An administrator of the shared broker, and groups whose members are of any client."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from membership_client.admin import GroupAdmin, Latest
from membership_client.cli.program import main
from membership_client.testing import KafkaCluster
from tests.admin.command_line import Run
from tests.peers.conftest import GroupFactory, new_group, peer_jvm
from tests.peers.group import PeerGroup
from tests.records import filled_topic

__all__ = ["new_group", "peer_jvm"]


@pytest.fixture
def admin(kafka: KafkaCluster) -> Iterator[GroupAdmin]:
    with GroupAdmin(kafka.bootstrap_servers) as made:
        yield made


@pytest.fixture
def peers(new_group: GroupFactory) -> PeerGroup:
    """A group of six partitions, for members of any client."""
    return new_group()


@pytest.fixture
def run(kafka: KafkaCluster) -> Run:
    """`membership-client groups` with these arguments, on the shared broker."""

    def command(*arguments: str) -> int:
        return main(["groups", *arguments, "--bootstrap-server", kafka.bootstrap_servers])

    return command


@pytest.fixture
def group(kafka: KafkaCluster, admin: GroupAdmin) -> str:
    """A group without members that has read its topic of two partitions with ten records each."""
    name = filled_topic(kafka.bootstrap_servers, "commands", partitions=2, records=20)
    admin.reset(admin.plan_reset(name, Latest(), topics=[name]))
    return name
