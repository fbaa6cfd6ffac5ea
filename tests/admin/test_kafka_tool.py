"""The same group seen by Kafka's own tool and by this library, compared field by field."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from membership_client.admin import Earliest, GroupAdmin, write_csv
from membership_client.cli.program import main
from membership_client.testing import KafkaCluster
from tests.admin.kafka_tool import KafkaTool, Row
from tests.integration.members import eventually
from tests.peers.classic import classic_settings, wait_shared
from tests.peers.group import PeerGroup
from tests.peers.ours import OurPeer
from tests.peers.peer import KINDS
from tests.records import produce

pytestmark = [pytest.mark.kafka, pytest.mark.deep]


Json = dict[str, Any]
Told = Callable[..., Any]


@pytest.fixture
def told(kafka: KafkaCluster, capsys: pytest.CaptureFixture[str]) -> Told:
    """The JSON output of our command."""

    def command(*arguments: str) -> Any:
        assert main(["groups", *arguments, "--bootstrap-server", kafka.bootstrap_servers, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return command


@pytest.fixture
def tool(kafka: KafkaCluster) -> KafkaTool:
    return KafkaTool(kafka.bootstrap_servers)


def consumer_group(group: PeerGroup) -> str:
    """A KIP-848 group with a member of each client; returns the state that it reaches."""
    group.wait_settled([group.join(kind, f"static-{kind}") for kind in KINDS])
    return "Stable"


def classic_group(group: PeerGroup) -> str:
    members = [group.join(kind, f"static-{kind}", **classic_settings(kind, "range")) for kind in KINDS]
    wait_shared(group, members)
    return "Stable"


def waiting_group(group: PeerGroup) -> str:
    """A group that waits for a static member that is away."""
    members = [group.join(kind, f"static-{kind}") for kind in KINDS]
    group.wait_settled(members)
    members[-1].leave()
    return "Reconciling"


@pytest.mark.parametrize("form", [consumer_group, classic_group, waiting_group])
def test_a_group_of_three_clients_looks_the_same(
    kafka: KafkaCluster, tool: KafkaTool, peers: PeerGroup, form: Callable[[PeerGroup], str], told: Told
) -> None:
    """State, members with their current and target partitions, and offsets, lag and owner of every partition are the same."""
    state = form(peers)
    fill(kafka, peers)
    ours = next(member for member in peers.members if isinstance(member, OurPeer))
    ours.member.commit(dict.fromkeys(ours.history.owned, 2))
    eventually(lambda: told("describe", peers.id)["state"] == state, f"a group that is {state}")
    group = told("describe", peers.id)
    assert tool.table("--describe", "--group", peers.id, "--state", "--verbose") == [state_row(group)]
    theirs = tool.table("--describe", "--group", peers.id, "--members", "--verbose")
    assert by("CONSUMER-ID", theirs) == by("CONSUMER-ID", [member_row(group, member) for member in group["members"]])
    theirs = tool.table("--describe", "--group", peers.id, "--offsets")
    rows = [offset_row(group, place) for place in told("offsets", "show", peers.id)]
    assert by("PARTITION", theirs) == by("PARTITION", rows)
    # What Kafka's tool does not tell: both protocols of all three clients say what they subscribe to.
    assert [(member["topics"], member["regex"]) for member in group["members"]] == [([peers.id], None)] * 3
    (listed,) = told("list", "--prefix", peers.id, "--protocol", group["protocol"].upper(), "--state", state)
    theirs = tool.table("--list", "--state", "--type")
    assert by("GROUP", theirs)[peers.id] == list_row(listed)
    (other,) = {"consumer", "classic"} - {group["protocol"]}
    assert told("list", "--prefix", peers.id, "--protocol", other) == []


def test_the_list_and_a_plan_to_reset_are_the_same(
    kafka: KafkaCluster, admin: GroupAdmin, tool: KafkaTool, peers: PeerGroup, told: Told
) -> None:
    """Groups have the same types and states, and each tool can read the CSV of the other."""
    fill(kafka, peers)
    plan = admin.plan_reset(peers.id, Earliest(), topics=[peers.id])
    admin.reset(plan)
    theirs = by("GROUP", tool.table("--list", "--state", "--type"))
    # Other tests' groups live and die meanwhile.
    (ours,) = told("list", "--prefix", peers.id)
    assert theirs[peers.id] == list_row(ours)
    csv = tool.run(
        "--reset-offsets", "--group", peers.id, "--topic", peers.id, "--to-earliest", "--dry-run", "--export"
    )
    assert sorted(filter(None, csv.split())) == sorted(write_csv({c.partition: c.after for c in plan.changes}).split())


def fill(kafka: KafkaCluster, group: PeerGroup) -> None:
    """Produce five records in each partition."""
    produce(kafka.bootstrap_servers, group.id, partitions=6, records=30)


def by(key: str, rows: list[Row]) -> dict[str, Row]:
    return {row[key]: row for row in rows}


def cell(value: object) -> str:
    return "-" if value is None else str(value)


def list_row(group: Json) -> Row:
    return {"GROUP": group["group"], "TYPE": group["protocol"].capitalize(), "STATE": group["state"]}


def state_row(group: Json) -> Row:
    return {
        "GROUP": group["group"],
        "COORDINATOR(ID)": f"{group['coordinator']}({group['coordinator_id']})",
        "ASSIGNMENT-STRATEGY": group["assignor"],
        "STATE": group["state"],
        "GROUP-EPOCH": cell(group["epoch"]),
        "TARGET-ASSIGNMENT-EPOCH": cell(group["assignment_epoch"]),
        "#MEMBERS": str(len(group["members"])),
    }


def member_row(group: Json, member: Json) -> Row:
    is_classic = group["protocol"] == "classic"
    return {
        "GROUP": group["group"],
        "CONSUMER-ID": member["member"],
        "GROUP-INSTANCE-ID": cell(member["instance"]),
        "HOST": member["host"],
        "CLIENT-ID": member["client"],
        "#PARTITIONS": str(len(member["current"])),
        "CURRENT-EPOCH": cell(member["epoch"]),
        "CURRENT-ASSIGNMENT": written(member["current"]),
        "TARGET-EPOCH": cell(group["assignment_epoch"]),
        "TARGET-ASSIGNMENT": "-" if is_classic else written(member["target"]),
    }


def written(partitions: list[str]) -> str:
    """The end offsets of one topic."""
    split = [partition.rpartition("-") for partition in partitions]
    (topic,) = {topic for topic, _, _ in split}
    return f"{topic}:{','.join(str(number) for number in sorted(int(number) for _, _, number in split))}"


def offset_row(group: Json, place: Json) -> Row:
    owner = next(member for member in group["members"] if member["member"] == place["owner"])
    return {
        "GROUP": group["group"],
        "TOPIC": place["topic"],
        "PARTITION": str(place["partition"]),
        "CURRENT-OFFSET": cell(place["committed"]),
        "LOG-END-OFFSET": cell(place["end"]),
        "LAG": cell(place["lag"]),
        "CONSUMER-ID": owner["member"],
        "HOST": owner["host"],
        "CLIENT-ID": owner["client"],
    }
