"""The page about administration is true: its programs run, on a group with a static member that is away."""

from __future__ import annotations

import re
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from membership_client import GroupMember, TopicPartition, admin
from membership_client.admin.commands.groups_parser import EXIT_CODES
from membership_client.testing import ClusterAdmin, KafkaCluster
from tests.integration.members import PATIENCE_S, QUICK

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "admin.md").read_text()
MIGRATION = (ROOT / "docs" / "migrating-protocols.md").read_text()


@pytest.mark.kafka
@pytest.mark.parametrize("block", re.findall(r"```python\n(.*?)```", PAGE + MIGRATION, re.DOTALL))
def test_the_pages_code_runs(block: str, kafka: KafkaCluster, tmp_path: Path) -> None:
    """Each block is a whole program."""
    name = f"page-{uuid.uuid4().hex[:8]}"
    servers = kafka.bootstrap_servers
    cluster = ClusterAdmin(servers)
    cluster.set_group_config(name, **QUICK)
    cluster.create_topic(name, 2)
    with GroupMember({"bootstrap.servers": servers, "group.id": name, "group.instance.id": "till-3"}) as member:
        member.subscribe([name])
        member.wait_until(lambda now: len(now.owned) == 2, PATIENCE_S)
        member.commit({TopicPartition(name, 0): 0})
    program = block.replace("localhost:9092", servers).replace('"shop"', f'"{name}"').replace('"orders"', f'"{name}"')
    command = [sys.executable, "-c", program.replace("/tmp/slots", str(tmp_path))]
    subprocess.run(command, check=True, timeout=60, cwd=ROOT)


def test_every_field_of_the_json_is_on_the_page() -> None:
    """Programs can rely on these fields."""
    source = (ROOT / "membership_client" / "admin" / "commands" / "as_json.py").read_text()
    fields = set(re.findall(r'^ +"(\w+)": ', source, re.MULTILINE)) | set(re.findall(r'[{,] ?"(\w+)": ', source))
    assert len(fields) > 30
    assert sorted(field for field in fields if f"`{field}`" not in PAGE) == []


def test_every_finding_of_a_check_for_kip_848_is_on_its_page() -> None:
    """The findings of the other two changes are described there in a sentence."""
    others = {"NO_INSTANCE_ID", "UNSTABLE_INSTANCE_ID", "SESSION_REFUSED", "MOVES_GROUP", "NO_COMMON_STRATEGY"}
    cells = re.findall(r"^\| ([a-z0-9 ·-]+) \|", MIGRATION, re.MULTILINE)
    told = {kind for cell in cells for kind in cell.split(" · ")}
    assert {kind.value for kind in admin.FindingKind if kind.name not in others} <= told


def test_every_error_and_exit_code_is_on_the_page() -> None:
    """Every error and exit code is described."""
    errors = [name for name in admin.__all__ if name.endswith("Error") and name != "AdminError"]
    assert [name for name in errors if f"`{name}`" not in PAGE] == []
    codes = re.findall(r"^  (\d+)  ", EXIT_CODES, re.MULTILINE)
    assert [code for code in codes if f"| {code} |" not in PAGE] == []
