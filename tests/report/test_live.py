"""The report of a real group."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from membership_client import GroupMember, LeaveMode, MemberState
from membership_client.cli.program import main
from membership_client.testing import ClusterAdmin, KafkaCluster
from tests.integration.members import QUICK, eventually
from tests.report.tab import Tab

pytestmark = pytest.mark.deep

S = MemberState


def owns(member: GroupMember, count: int) -> bool:
    return member.snapshot.state is S.STABLE and len(member.snapshot.owned) == count


@pytest.mark.kafka
def test_a_handover_between_two_members_is_drawn(
    kafka: KafkaCluster, new_tab: Callable[..., Tab], tmp_path: Path
) -> None:
    """Two real members share a topic, one leaves, the other has it all: so do the lanes."""
    group = f"report-{uuid.uuid4().hex[:8]}"
    admin = ClusterAdmin(kafka.bootstrap_servers)
    admin.set_group_config(group, **QUICK)
    admin.create_topic(group, 4)
    config = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": group}

    def member(name: str) -> GroupMember:
        trace = str(tmp_path / f"{name}.jsonl")
        return GroupMember({**config, "group.instance.id": name, "trace.file": trace})

    with member("stays") as stays, member("goes") as goes:
        for one in (stays, goes):
            one.subscribe([group])
        eventually(lambda: owns(stays, 2) and owns(goes, 2), "both own their share")
        goes.unsubscribe(LeaveMode.LEAVE, reason="scaled down")
        eventually(lambda: owns(stays, 4), "one owns all")

    files = [str(tmp_path / f"{name}.jsonl") for name in ("stays", "goes")]
    assert main(["report", *files, "-o", str(tmp_path / "report.html")]) == 0
    tab = new_tab()
    tab.open(tmp_path / "report.html")
    last = "report.model.partitions.map((lane) => lane.owned.at(-1).owner.name)"
    assert tab.ask(last) == ["stays"] * 4
    assert tab.ask("report.model.partitions.some((lane) => lane.overlaps.some((both) => both.sure))") is False
    leaves = "report.model.members.find((one) => one.name === 'goes').marks.filter((m) => m.mark === 'leave')[0].detail"
    assert "scaled down" in tab.ask(leaves)
    assert tab.complaints() == []
