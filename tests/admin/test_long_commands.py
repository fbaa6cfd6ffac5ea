"""Commands that watch a group for seconds, and what they show meanwhile."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess

import pytest

from membership_client.testing import KafkaCluster
from tests.admin.command_line import WIPE, Run, looking, printed, told, typed_on
from tests.integration.members import eventually
from tests.peers.group import PeerGroup

pytestmark = [pytest.mark.kafka, pytest.mark.deep]


@pytest.mark.kafka
def test_a_member_that_looks_alive_is_bad_news(run: Run, peers: PeerGroup, capsys: pytest.CaptureFixture[str]) -> None:
    """It is not removed, and the exit code says so. A name of no member is refused before any question."""
    member = peers.join("ours", "till-1")
    peers.wait_settled([member])
    run("config", "set", peers.id, "consumer.session.timeout.ms=7000", "--yes")
    eventually(lambda: "  7000  yes" in told(run, peers.id, capsys), "the short session")
    assert run("remove", peers.id, "--all", "--watch", "30", "--yes", "--json") == 1
    (outcome,) = printed(capsys)
    assert (outcome["name"], outcome["removed"], outcome["error"]) == ("till-1", False, "MemberAliveError")
    assert run("remove", peers.id, "nobody", "--yes") == 2
    assert "has no member nobody" in capsys.readouterr().err


@pytest.mark.kafka
def test_a_terminal_shows_progress_and_keeps_nothing_of_it(kafka: KafkaCluster, group: str) -> None:
    """The progress is one line that is updated, and is wiped before the result is shown."""
    ours, theirs = pty.openpty()
    with looking(kafka, group, watch_s=3, stderr=theirs) as command:
        os.close(theirs)
        shown = "".join(typed_on(ours))
        assert command.stdout is not None
        assert json.loads(command.stdout.read())["group"] == group
    assert shown.endswith(WIPE)
    start, *lines = shown.removesuffix(WIPE).split("\r")
    assert start == ""
    assert {re.sub(r"\d+ s", "N s", line) for line in lines} == {f"watching {group}: N s left "}
    assert len(lines) == len(set(lines)) > 1


@pytest.mark.kafka
def test_where_there_is_no_terminal_progress_is_told_once(kafka: KafkaCluster, group: str) -> None:
    """It is one line without control characters, for readers of a log."""
    with looking(kafka, group, watch_s=3, stderr=subprocess.PIPE) as command:
        assert command.stderr is not None
        assert re.fullmatch(rf"watching {group}: \d s left \n", command.stderr.read())
