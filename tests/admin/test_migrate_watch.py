"""`groups migrate-watch`: how many members have moved to the other protocol, in any width of terminal, and when it ends."""

from __future__ import annotations

import json
import threading
from dataclasses import replace

import pytest

from membership_client import LeaveMode
from membership_client.admin import GroupAdmin, GroupView, MemberView
from membership_client.admin.commands import as_json
from membership_client.admin.commands.migrate_command import lines
from membership_client.admin.migration import Migration, MigrationWatch
from membership_client.cli.program import main
from membership_client.testing import EmbeddedKafka
from tests.admin.command_line import Run, printed
from tests.integration.members import Group, eventually
from tests.peers.group import PeerGroup

NEW = MemberView(
    member_id="m1",
    instance_id="till-1",
    client_id="shop",
    host="/10.0.0.1",
    epoch=9,
    current=frozenset(),
    target=frozenset(),
)
OLD = replace(NEW, member_id="m2", instance_id="till-2", is_classic=True)
VIEW = GroupView(
    group_id="shop",
    protocol="consumer",
    state="Stable",
    epoch=9,
    assignment_epoch=9,
    assignor="uniform",
    members=(NEW, OLD),
)


@pytest.mark.parametrize(
    ("view", "to", "moved", "done"),
    [
        (VIEW, "consumer", 1, False),
        (replace(VIEW, members=(NEW,)), "consumer", 1, True),
        (replace(VIEW, members=(NEW,), state="Reconciling"), "consumer", 1, False),
        (replace(VIEW, members=()), "consumer", 0, False),
        (replace(VIEW, members=(OLD,), protocol="classic"), "consumer", 0, False),
        (VIEW, "classic", 1, False),
        (replace(VIEW, members=(OLD,)), "classic", 1, False),
        (replace(VIEW, members=(OLD,), protocol="classic"), "classic", 1, True),
    ],
)
def test_a_group_has_moved_when_all_its_members_have(view: GroupView, to: str, moved: int, done: bool) -> None:
    """The group must also be stable, of the new type, and not empty: between two restarts a group may have no members."""
    seen = Migration(view, "consumer" if to == "consumer" else "classic")
    assert (seen.moved, seen.is_done) == (moved, done)


def test_a_roll_that_stands_still_says_for_how_long() -> None:
    """The time counts from the last change of either number of members."""
    watch = MigrationWatch("consumer")
    assert watch.see(VIEW, 100.0).still_s == 0.0
    assert "no change" not in lines(watch.see(VIEW, 130.0))[1]
    assert lines(watch.see(VIEW, 165.0))[1] == "1 of 2 members use KIP-848; no change for 65 s."
    assert watch.see(replace(VIEW, members=(NEW, OLD, replace(OLD, member_id="m3"))), 170.0).still_s == 0.0


def test_a_member_that_is_being_restarted_is_waited_for() -> None:
    """The watch once ended with 19 of 20 members, while the last process started. A member that stays away is waited for in vain."""
    watch, moved = MigrationWatch("consumer"), replace(VIEW, members=(NEW,))
    watch.see(VIEW, 100.0)
    seen = watch.see(moved, 105.0)
    assert (seen.missing, seen.is_done) == (1, False)
    assert lines(seen)[1] == "1 of 1 member uses KIP-848; 1 fewer than before."
    back = watch.see(replace(VIEW, members=(NEW, replace(NEW, member_id="m3"))), 110.0)
    assert (back.missing, back.is_done) == (0, True)
    watch.see(moved, 120.0)
    assert watch.see(moved, 180.0).is_done


@pytest.mark.parametrize("width", [20, 40, 80, None])
def test_members_that_have_not_moved_come_first_at_any_width(width: int | None) -> None:
    """No line is wider than the terminal, and each member's protocol is there."""
    shown = lines(Migration(VIEW, "consumer"), width)
    assert width is None or max(map(len, shown)) <= width
    old, new = (next(at for at, line in enumerate(shown) if line.startswith(name)) for name in ("till-2", "till-1"))
    assert old < new
    assert ("classic" in shown[old], "KIP-848" in shown[new]) == (True, True)


def test_a_look_as_json_has_who_is_left() -> None:
    """It has the names of the members that have not moved, and all members."""
    told = json.loads(json.dumps(as_json.migration(Migration(VIEW, "consumer", 3.0))))
    assert (told["left"], told["moved"], told["done"], told["still_s"]) == (["till-2"], 1, False, 3.0)
    assert [member["classic"] for member in told["members"]] == [False, True]


@pytest.mark.kafka
def test_a_roll_is_watched_to_its_end(run: Run, peers: PeerGroup, capsys: pytest.CaptureFixture[str]) -> None:
    """With --once the exit code is 1 while a member is classic; without it the command ends when the last member has moved."""
    old = peers.join("ours", group_protocol="classic")
    peers.wait_settled([old])
    assert run("migrate-watch", peers.id, "--once") == 1
    assert "0 of 1 member uses KIP-848." in capsys.readouterr().out
    new = peers.join("ours", group_protocol="consumer")
    peers.wait_settled([old, new])
    assert run("migrate-watch", "--group", peers.id, "--once", "--json") == 1
    told = printed(capsys)
    assert (told["moved"], len(told["left"]), told["protocol"]) == (1, 1, "consumer")
    old.leave()
    peers.wait_settled([new])
    assert run("migrate-watch", peers.id, "--every", "0.1") == 0
    assert "1 of 1 member uses KIP-848. The group has moved." in capsys.readouterr().out
    assert run("migrate-watch", "no-such-group") == 2


def test_a_group_that_moves_while_it_is_described_exists() -> None:
    """A group that moved between the KIP-848 request and the classic request was once reported as missing, which ended the watch."""
    with EmbeddedKafka() as embedded, GroupAdmin(embedded.bootstrap_servers) as admin:
        group = Group(embedded.bootstrap_servers, "moving")
        group.admin.create_topic(group.topic, 2)
        group.join(group_protocol="classic", heartbeat_interval_ms=200).wait_stable()
        seen = ["classic"]
        moves = threading.Thread(target=_move_to_and_fro, args=(group, seen))
        moves.start()
        while moves.is_alive():
            seen.append(admin.describe(group.id, lag=False).protocol)
        moves.join()
        group.close()


def _move_to_and_fro(group: Group, seen: list[str]) -> None:
    """A KIP-848 member joins, which moves the group to KIP-848, and leaves, which makes it classic again."""
    for _ in range(12):
        member = group.join(group_protocol="consumer")
        eventually(lambda: seen[-1] == "consumer", "a description as a KIP-848 group")
        member.close(LeaveMode.LEAVE)
        eventually(lambda: seen[-1] == "classic", "a description as a classic group")


def test_an_embedded_broker_is_watched_and_checked(capsys: pytest.CaptureFixture[str]) -> None:
    """It reports neither features nor rights, like brokers of other makers: once all rights were reported as missing."""
    with EmbeddedKafka() as embedded:
        group = Group(embedded.bootstrap_servers, "embedded")
        group.admin.create_topic(group.topic, 2)
        group.join(group_protocol="consumer").wait_stable()
        at = ["--bootstrap-server", embedded.bootstrap_servers]
        assert main(["groups", "migrate-watch", group.id, *at]) == 0
        assert "The group has moved." in capsys.readouterr().out
        assert main(["groups", "check", group.id, *at]) == 0
        assert "To KIP-848: nothing is in the way." in capsys.readouterr().out
        with GroupAdmin(embedded.bootstrap_servers) as admin:
            outcome = admin.check(group.id, config={"group.protocol": "consumer"})
        assert (outcome.findings, outcome.unchecked) == ((), ("ACLs of the members: the brokers do not report them.",))
        group.close()
