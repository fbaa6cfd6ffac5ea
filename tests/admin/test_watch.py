"""`membership-client watch`: what an operator sees of a group."""

from __future__ import annotations

import contextlib
import itertools
import json
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from membership_client import GroupMember, LeaveMode, Offset, TopicPartition
from membership_client.admin import GroupView, MemberView, WaitKind
from membership_client.admin.commands import as_json
from membership_client.admin.commands.group_text import folded, lines
from membership_client.admin.waiting import WaitWatch
from membership_client.cli.program import main
from membership_client.testing import ClusterAdmin, KafkaCluster
from tests.integration.members import PATIENCE_S, QUICK
from tests.records import filled_topic

HELD = frozenset({TopicPartition("orders", 0), TopicPartition("orders", 1)})
SLOW = MemberView(
    member_id="m1",
    instance_id="till-1",
    client_id="shop",
    host="/10.0.0.1",
    epoch=4,
    current=HELD,
    target=frozenset({TopicPartition("orders", 0)}),
)
NEW = replace(
    SLOW,
    member_id="m2",
    instance_id=None,
    epoch=5,
    current=frozenset(),
    target=frozenset({TopicPartition("orders", 1)}),
)
VIEW = GroupView(
    group_id="shop",
    protocol="consumer",
    state="Reconciling",
    epoch=5,
    assignment_epoch=5,
    assignor="uniform",
    members=(SLOW, NEW),
    committed={TopicPartition("orders", 0): Offset(7)},
    ends={TopicPartition("orders", 0): 10},
)


def test_the_picture_says_who_waits_for_whom_for_what_and_how_long() -> None:
    """It has a table of members, and a sentence about the wait."""
    watch = WaitWatch()
    watch.see(VIEW, 100.0)
    text = "\n".join(lines(watch.see(VIEW, 112.0)))
    assert "shop: Reconciling, consumer protocol, uniform assignor, epoch 5, assignment of epoch 5, lag 3" in text
    assert "till-1         m1         10.0.0.1  4      orders[0-1]  orders[0]    3" in text
    assert "shop@10.0.0.1 waits for till-1 (10.0.0.1) to release orders[1], seen for 12 s." in text


def test_a_wait_that_ended_begins_anew() -> None:
    """If it is seen again later, it is another wait."""
    watch = WaitWatch()
    watch.see(VIEW, 100.0)
    watch.see(replace(VIEW, members=(replace(SLOW, current=SLOW.target),)), 105.0)
    ((_, seconds),) = watch.see(VIEW, 110.0).waits
    assert seconds == 0.0


def test_the_next_rebalance_of_the_same_holder_is_another_wait() -> None:
    """Two looks far apart once turned two waits into one long wait."""
    watch = WaitWatch()
    watch.see(VIEW, 100.0)
    again = replace(VIEW, epoch=9, assignment_epoch=9, members=(replace(SLOW, epoch=8), replace(NEW, epoch=9)))
    ((_, seconds),) = watch.see(again, 200.0).waits
    assert seconds == 0.0


def test_what_an_older_broker_no_longer_shows_is_still_to_be_released() -> None:
    """Before Kafka 4.3 the description of a holder that knows its target lacks the partitions: once the text asked for its heartbeat."""
    watch = WaitWatch()
    watch.see(VIEW, 100.0)
    told = replace(VIEW, members=(replace(SLOW, current=SLOW.target), NEW))
    ((wait, seconds),) = watch.see(told, 112.0).waits
    assert (wait.kind, wait.holder.name, wait.waiting) == (WaitKind.RELEASE, "till-1", ("shop@10.0.0.1",))
    assert (wait.partitions, seconds) == ({TopicPartition("orders", 1)}, 12.0)


def test_partitions_that_nobody_had_are_not_said_to_be_held() -> None:
    """New partitions are assigned with the next heartbeats."""
    before = replace(SLOW, current=SLOW.target)
    new = replace(VIEW, members=(before, replace(NEW, epoch=4)))
    assert {wait.kind for wait in new.waits()} == {WaitKind.ANSWER}


def test_a_quiet_group_is_said_to_be_quiet() -> None:
    """For a classic group the text says that its coordinator does not report waits."""
    settled = replace(VIEW, members=(replace(SLOW, epoch=5, target=HELD),))
    assert "The group waits for no member." in lines(WaitWatch().see(settled, 0.0))
    classic = replace(settled, protocol="classic", epoch=None, assignment_epoch=None)
    watch = WaitWatch()
    watch.see(classic, 0.0)
    told = "The coordinator of a classic group does not say which members it waits for. The group is Reconciling, seen for 7 s."
    assert lines(watch.see(classic, 7.0))[-1] == told


def test_members_without_an_instance_id_have_names() -> None:
    """The name is client id and host, with the end of the member id if these are not unique; each name finds the member."""
    one, two = (replace(NEW, member_id=f"consumer-shop-1-00{number}-0123456{number}") for number in (1, 2))
    view = replace(VIEW, members=(SLOW, one, two))
    assert [member.name for member in view.members] == [
        "till-1",
        "shop@10.0.0.1 (01234561)",
        "shop@10.0.0.1 (01234562)",
    ]
    found = view.find("shop@10.0.0.1 (01234562)")
    assert found is not None
    assert found.member_id == two.member_id
    assert replace(VIEW, members=(SLOW, two)).members[1].name == "shop@10.0.0.1"


def test_a_name_with_hyphens_is_not_broken() -> None:
    """A name that goes on in the next line cannot be copied or searched for."""
    text = "payments-worker@10.0.0.2 waits for checkout-service-of-the-shop@10.0.0.1 to release orders-of-today[2-5]."
    assert folded(text, 60) == [
        "payments-worker@10.0.0.2 waits for",
        "  checkout-service-of-the-shop@10.0.0.1 to release",
        "  orders-of-today[2-5].",
    ]


@pytest.mark.parametrize("width", [20, 40, 60, 80, 200])
def test_a_terminal_of_any_width_shows_every_member_and_every_wait(width: int) -> None:
    """Columns are left out, cells cut and sentences folded, so that no line is wider than the terminal."""
    watch = WaitWatch()
    watch.see(VIEW, 100.0)
    shown = lines(watch.see(VIEW, 112.0), width)
    assert max(map(len, shown)) <= width
    assert any(line.startswith("till-1") for line in shown)
    assert "seen for 12 s." in " ".join(" ".join(shown).split())
    assert (width < 80) is not any("MEMBER ID" in line for line in shown)


def test_machines_get_plain_values() -> None:
    """The JSON has everything that the picture has."""
    told = json.loads(json.dumps(as_json.watched(WaitWatch().see(VIEW, 0.0))))
    assert told["waits"] == [
        {"holder": "m1", "kind": "release", "partitions": ["orders-1"], "waiting": ["shop@10.0.0.1"], "seen_s": 0.0}
    ]
    assert told["members"][0]["current"] == ["orders-0", "orders-1"]


@pytest.mark.kafka
def test_a_real_group_is_watched_once(kafka: KafkaCluster, capsys: pytest.CaptureFixture[str]) -> None:
    """The output is text or JSON; a group that does not exist is an error."""
    name = f"watch-{uuid.uuid4().hex[:8]}"
    admin = ClusterAdmin(kafka.bootstrap_servers)
    admin.set_group_config(name, **QUICK)
    admin.create_topic(name, 2)
    command = ["watch", name, "--bootstrap-server", kafka.bootstrap_servers, "--once"]
    config = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": name, "client.id": "loud\x1b[2J"}
    with GroupMember(config) as member:
        member.subscribe([name])
        member.wait_until(lambda now: len(now.owned) == 2, PATIENCE_S)
        for look in (command, ["groups", "describe", *command[1:-1]]):
            assert main(look) == 0
            shown = capsys.readouterr().out
            assert f"{name}[0-1]" in shown
            # Others choose their client ids, and steered the terminal with them.
            assert "loud\N{REPLACEMENT CHARACTER}[2J" in shown
        assert main([*command, "--json"]) == 0
        (told,) = json.loads(capsys.readouterr().out)["members"]
        assert told["member"] == member.snapshot.member_id
    assert main(["watch", "no-such-group", *command[2:]]) == 2
    assert "There is no group no-such-group." in capsys.readouterr().err


@pytest.mark.kafka
@pytest.mark.parametrize("protocol", ["consumer", "classic"])
def test_a_real_group_is_watched_again_and_again(kafka: KafkaCluster, protocol: str) -> None:
    """Its lag, its state, and for how long that has been seen: a line of JSON for every look."""
    name = filled_topic(kafka.bootstrap_servers, "watch", partitions=2, records=20)
    config = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": name, "group.instance.id": "till-1"}
    with GroupMember({**config, "group.protocol": protocol}) as member:
        member.subscribe([name])
        member.wait_until(lambda now: len(now.owned) == 2, PATIENCE_S)
        member.commit({TopicPartition(name, 1): 4})
        with watched(kafka, name) as looks:
            first = next(look for look in looks if look["state"] == "Stable")
            second = next(looks)
            assert (first["protocol"], first["lag"]) == (protocol, {f"{name}-1": 6})
            assert (first["members"][0]["instance"], second["seen_s"] > first["seen_s"]) == ("till-1", True)
            member.close(LeaveMode.REMAIN)
            if protocol == "consumer":
                _, later = itertools.islice((look["waits"][0] for look in looks if look["waits"]), 2)
                assert (later["kind"], later["seen_s"] > 0) == ("return", True)


@contextlib.contextmanager
def watched(kafka: KafkaCluster, group: str) -> Iterator[Iterator[dict[str, Any]]]:
    """The output of the command, picture by picture."""
    command = [sys.executable, "-m", "membership_client", "watch", group, "--every", "0.2", "--json"]
    command += ["--bootstrap-server", kafka.bootstrap_servers]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield map(json.loads, process.stdout)
    finally:
        process.kill()
        process.communicate()
