"""`membership-client diagnose --broker-log`, without traces: what coordinators wrote about members of any client."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from membership_client.cli.program import main
from membership_client.debugger.findings.finding import Finding, Kind
from membership_client.debugger.findings.from_broker_log import logged_findings
from membership_client.debugger.model.coordinator_log import logged_groups_of
from tests.diagnose.traces import EPOCH_S

APP = "app-4d376c2a-bdcf-4766-b740-ee4802dc0fa8"
TILL = "till-1-78a775cd-3a68-4c92-bb84-9d34e9bd6e0a"
LEFT = "has left group through explicit `LeaveGroup` request; client reason:"

CONSUMER = [
    "[GroupId g] Member 9vL8j1uXR_6gG_sIvVdT5w joins the consumer group using the consumer protocol.",
    "[GroupId g] Bumped group epoch to 2 with metadata hash 6414169356399684706.",
    "[GroupId g] Static member Rnpk0ywPRT2RjnFc1xtrog with instance id till-1 joins the consumer group using the consumer protocol.",
    "[GroupId g] Bumped group epoch to 3 with metadata hash 6414169356399684706.",
    "[GroupId g] Static member Abc with instance id till-1 cannot join the group because the instance id is owned by member Rnpk0ywPRT2RjnFc1xtrog.",
    "[GroupId g] Member Rnpk0ywPRT2RjnFc1xtrog fenced from the group because the member session expired.",
    "[GroupId g] Bumped group epoch to 4 with metadata hash 6414169356399684706.",
    "[GroupId g] Member 9vL8j1uXR_6gG_sIvVdT5w fenced from the group because it failed to transition from epoch 3 within 300000ms.",
    "[GroupId g] Bumped group epoch to 5 with metadata hash 0.",
    "[GroupId g] Bumped group epoch to 6 with metadata hash 7.",
]
CLASSIC = [
    f"Pending dynamic member with id {APP} joins group g in Empty state. Adding to the group now.",
    f"Preparing to rebalance group g in state PreparingRebalance with old generation 0 (reason: Adding new member {APP} with group instance id null; client reason: subscribed by the application).",
    f"Static member with groupInstanceId=till-1 and unknown member id joins group g in Stable state. Created a new member id {TILL} for this member and added to the group.",
    f"Preparing to rebalance group g in state PreparingRebalance with old generation 1 (reason: Adding new member {TILL} with group instance id till-1; client reason: subscribed by the application).",
    f"Preparing to rebalance group g in state PreparingRebalance with old generation 2 (reason: Leader {APP} re-joining group during Stable; client reason: partitions revoked).",
    f"Member {TILL} in group g has failed, removing it from the group.",
    f"Preparing to rebalance group g in state PreparingRebalance with old generation 3 (reason: removing member {TILL} on heartbeat expiration).",
    f"[Group g] Member {APP} {LEFT} end of shift",
    f"Preparing to rebalance group g in state PreparingRebalance with old generation 4 (reason: explicit `LeaveGroup` request for ({APP}) members.).",
]


def log_of(messages: Iterable[str], folder: Path, every_s: float = 1.0) -> Path:
    """As Kafka's own pattern writes it, a line now and then."""
    log, lines = folder / "server.log", ["[2027-01-15 08:00:00,000] INFO starting (kafka.server.KafkaServer)"]
    for number, message in enumerate(messages):
        date = datetime.fromtimestamp(EPOCH_S + number * every_s, UTC).strftime("%Y-%m-%d %H:%M:%S,%f")[:-3]
        coordinator = "[GroupCoordinator id=1 topic=__consumer_offsets partition=0]"
        lines.append(f"[{date}] INFO {coordinator} {message} (org.apache.kafka.coordinator.group.GroupMetadataManager)")
    log.write_text("\n".join(lines) + "\n")
    return log


def findings_in(messages: Iterable[str], folder: Path, every_s: float = 1.0) -> list[Finding]:
    (group,) = logged_groups_of([log_of(messages, folder, every_s)])
    return logged_findings(group)


def told(findings: Iterable[Finding], kind: Kind) -> list[str]:
    return [finding.sentence for finding in findings if finding.kind is kind]


def test_each_epoch_of_a_consumer_group_is_told_with_what_came_before_it(tmp_path: Path) -> None:
    """Members by their instance id; where the log names no member, that is said."""
    assert told(findings_in(CONSUMER, tmp_path), Kind.REBALANCE) == [
        "Epoch 2: member joined.",
        "Epoch 3: till-1 joined.",
        "Epoch 4: till-1 was removed, because its session had expired.",
        "Epoch 5: member was removed, because it did not follow a rebalance in time.",
        "Epoch 6: the log does not say why: a topic or its partitions changed, or the subscription of a member.",
    ]


def test_each_generation_of_a_classic_group_is_told_with_the_coordinators_reason(tmp_path: Path) -> None:
    """With names for member ids."""
    assert told(findings_in(CLASSIC, tmp_path), Kind.REBALANCE) == [
        "Epoch 1: app joined.",
        "Epoch 2: till-1 joined.",
        "Epoch 3: Leader app re-joining group during Stable; client reason: partitions revoked.",
        "Epoch 4: till-1 was removed, because its session had expired.",
        "Epoch 5: app left (end of shift).",
    ]


@pytest.mark.parametrize("messages", [CONSUMER, CLASSIC])
def test_a_member_whose_session_expired_is_named(messages: list[str], tmp_path: Path) -> None:
    """For certain: it is the coordinator that says it."""
    first, *_ = [finding for finding in findings_in(messages, tmp_path) if finding.kind is Kind.THROWN_OUT]
    assert (first.members, first.certainty) == (("till-1",), "certain")
    assert first.brief == "the coordinator removed till-1 at 08:00:05"
    assert "has failed" in first.evidence[0].text or "session expired" in first.evidence[0].text


def test_a_member_that_held_up_a_rebalance_and_an_instance_id_that_was_taken_are_told(tmp_path: Path) -> None:
    """The reasons are the coordinator's."""
    findings = findings_in(CONSUMER, tmp_path)
    slow = told(findings, Kind.THROWN_OUT)[1]
    assert slow == (
        "The coordinator removed member because it waited for it in a rebalance until its time was over: "
        "it failed to transition from epoch 3 within 300000ms."
    )
    assert told(findings, Kind.DUPLICATE_INSTANCE_ID) == [
        "A process was refused the instance id till-1 1 time, because a member that had not left still had it."
    ]


def test_a_static_member_that_had_left_for_a_while_was_not_thrown_out(tmp_path: Path) -> None:
    """Its session was to expire, unless it came back."""
    away = (
        "[GroupId g] Static member Rnpk0ywPRT2RjnFc1xtrog with instance id till-1 temporarily left the consumer group."
    )
    assert told(findings_in([*CONSUMER[:4], away, *CONSUMER[5:7]], tmp_path), Kind.THROWN_OUT) == []


def looping(rounds: int) -> list[str]:
    """A member of a classic group that crashes and is started again."""
    ids = [f"billing-{number:08x}-0000-0000-0000-000000000000" for number in range(rounds)]
    return [CLASSIC[0]] + [
        line
        for each in ids
        for line in (
            f"Pending dynamic member with id {each} joins group g in Stable state. Adding to the group now.",
            f"[Group g] Member {each} {LEFT} crashed again",
        )
    ]


def test_a_member_that_comes_and_goes_is_a_storm(tmp_path: Path) -> None:
    """By its client id, with the reason that it gave, and without the member that only suffers."""
    (storm,) = [f for f in findings_in(looping(5), tmp_path, every_s=5.0) if f.kind is Kind.REBALANCE_STORM]
    assert storm.members == ("billing",)
    assert storm.sentence == (
        "0 rebalances around 40.0 s of joins, leaves and changed subscriptions of billing (5 times). "
        "Reasons given: crashed again (5 times)."
    )


def test_a_rolling_restart_is_no_storm(tmp_path: Path) -> None:
    """Each member goes once, and its replacement once more when all are shut down."""
    ids = [f"billing-{number:08x}-0000-0000-0000-000000000000" for number in range(8)]
    came = [
        f"Pending dynamic member with id {each} joins group g in Stable state. Adding to the group now." for each in ids
    ]
    left = [f"[Group g] Member {each} {LEFT} new version" for each in ids]
    roll = [line for pair in zip(left[:4], came[4:], strict=True) for line in pair]
    assert told(findings_in([*came[:4], *roll, *left[4:]], tmp_path), Kind.REBALANCE_STORM) == []


def test_the_command_needs_no_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The exit code and the JSON are those of a diagnosis of traces."""
    log = str(log_of(CONSUMER, tmp_path))
    assert main(["diagnose", "--broker-log", log]) == 1
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert first.startswith("Group g: A second process was refused the instance id till-1 from 08:00:04; ")
    assert second.startswith(
        "From the brokers' logs alone, 2027-01-15 08:00:00.000 to 08:00:09.000 as their clocks show it: "
    )
    assert main(["diagnose", "--brief", "--broker-log", log]) == 1
    assert capsys.readouterr().out.splitlines() == [first]
    assert main(["diagnose", "--json", "--broker-log", log]) == 1
    shown = json.loads(capsys.readouterr().out)
    assert [group["group"] for group in shown["groups"]] == ["g"]
    assert "THROWN_OUT" in {finding["kind"] for finding in shown["findings"]}


def test_a_log_without_groups_and_one_that_is_not_there_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither is a crash."""
    assert main(["diagnose", "--broker-log", str(log_of([], tmp_path))]) == 0
    assert "no dated line about a member" in capsys.readouterr().out
    assert main(["diagnose", "--broker-log", str(tmp_path / "missing.log")]) == 2
    assert "missing.log" in capsys.readouterr().err
