"""The same group seen by Kafka's own tool and by ours, field by field."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from membership_client import TopicPartition
from membership_client.admin import Earliest, GroupAdmin, GroupView, MemberView, write_csv
from membership_client.testing import KafkaCluster
from tests.admin.kafka_tool import KafkaTool, Row
from tests.integration.members import eventually
from tests.peers.classic import classic_settings
from tests.peers.group import PeerGroup
from tests.peers.ours import OurPeer
from tests.peers.peer import KINDS
from tests.peers.test_classic_orders import wait_shared
from tests.records import produce

pytestmark = pytest.mark.kafka


@pytest.fixture
def tool(kafka: KafkaCluster) -> KafkaTool:
    return KafkaTool(kafka.bootstrap_servers)


def consumer_group(group: PeerGroup) -> None:
    """Of KIP-848, with a member of each client."""
    group.wait_settled([group.join(kind, f"static-{kind}") for kind in KINDS])


def classic_group(group: PeerGroup) -> None:
    members = [group.join(kind, f"static-{kind}", **classic_settings(kind, "range")) for kind in KINDS]
    wait_shared(group, members)


@pytest.mark.parametrize("form", [consumer_group, classic_group])
def test_a_group_of_three_clients_looks_the_same(
    kafka: KafkaCluster, admin: GroupAdmin, tool: KafkaTool, peers: PeerGroup, form: Callable[[PeerGroup], None]
) -> None:
    """Its state, its members with what they have and should have, and every partition with offsets, lag and owner."""
    form(peers)
    fill(kafka, peers)
    ours = next(member for member in peers.members if isinstance(member, OurPeer))
    ours.member.commit(dict.fromkeys(ours.history.owned, 2))
    view = eventually(lambda: stable(admin, peers.id), "a stable group")
    assert view is not None
    assert tool.table("--describe", "--group", peers.id, "--state", "--verbose") == [state_row(view)]
    theirs = tool.table("--describe", "--group", peers.id, "--members", "--verbose")
    assert by("CONSUMER-ID", theirs) == by("CONSUMER-ID", [member_row(view, member) for member in view.members])
    theirs = tool.table("--describe", "--group", peers.id, "--offsets")
    places = sorted(view.committed.keys() | view.owners.keys())
    assert by("PARTITION", theirs) == by("PARTITION", [offset_row(view, place) for place in places])


def test_the_list_and_a_plan_to_reset_are_the_same(
    kafka: KafkaCluster, admin: GroupAdmin, tool: KafkaTool, peers: PeerGroup
) -> None:
    """Groups with types and states; and CSV that each of both could read of the other."""
    fill(kafka, peers)
    plan = admin.plan_reset(peers.id, Earliest(), topics=[peers.id])
    admin.reset(plan)
    theirs = {row["GROUP"]: row for row in tool.table("--list", "--state", "--type")}
    ours = {
        group.group_id: {"GROUP": group.group_id, "TYPE": group.protocol.capitalize(), "STATE": group.state}
        for group in admin.list()
    }
    # Other tests' groups live and die meanwhile.
    assert theirs[peers.id] == ours[peers.id]
    csv = tool.run(
        "--reset-offsets", "--group", peers.id, "--topic", peers.id, "--to-earliest", "--dry-run", "--export"
    )
    assert sorted(filter(None, csv.split())) == sorted(write_csv({c.partition: c.after for c in plan.changes}).split())


def fill(kafka: KafkaCluster, group: PeerGroup) -> None:
    """Five records in each partition."""
    produce(kafka.bootstrap_servers, group.id, partitions=6, records=30)


def stable(admin: GroupAdmin, group_id: str) -> GroupView | None:
    view = admin.describe(group_id)
    return view if view.state == "Stable" and not view.waits() else None


def by(key: str, rows: list[Row]) -> dict[str, Row]:
    return {row[key]: row for row in rows}


def told(value: object) -> str:
    return "-" if value is None else str(value)


def state_row(view: GroupView) -> Row:
    assert view.coordinator is not None
    return {
        "GROUP": view.group_id,
        "COORDINATOR(ID)": f"{view.coordinator}({view.coordinator.node_id})",
        "ASSIGNMENT-STRATEGY": view.assignor,
        "STATE": view.state,
        "GROUP-EPOCH": told(view.epoch),
        "TARGET-ASSIGNMENT-EPOCH": told(view.assignment_epoch),
        "#MEMBERS": str(len(view.members)),
    }


def member_row(view: GroupView, member: MemberView) -> Row:
    is_classic = view.protocol == "classic"
    return {
        "GROUP": view.group_id,
        "CONSUMER-ID": member.member_id,
        "GROUP-INSTANCE-ID": told(member.instance_id),
        "HOST": member.host,
        "CLIENT-ID": member.client_id,
        "#PARTITIONS": str(len(member.current)),
        "CURRENT-EPOCH": told(member.epoch),
        "CURRENT-ASSIGNMENT": written(member.current),
        "TARGET-EPOCH": told(view.assignment_epoch),
        "TARGET-ASSIGNMENT": "-" if is_classic else written(member.target),
    }


def written(partitions: frozenset[TopicPartition]) -> str:
    """Of one topic."""
    (topic,) = {partition.topic for partition in partitions}
    return f"{topic}:{','.join(str(partition.partition) for partition in sorted(partitions))}"


def offset_row(view: GroupView, place: TopicPartition) -> Row:
    owner, offset = view.owners[place], view.committed.get(place)
    return {
        "GROUP": view.group_id,
        "TOPIC": place.topic,
        "PARTITION": str(place.partition),
        "CURRENT-OFFSET": told(offset.offset if offset else None),
        "LOG-END-OFFSET": told(view.ends[place]),
        "LAG": told(view.lag.get(place)),
        "CONSUMER-ID": owner.member_id,
        "HOST": owner.host,
        "CLIENT-ID": owner.client_id,
    }
