"""`membership-client diagnose --group`: the findings from a coordinator's descriptions, by values and with live members of any client."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
from confluent_kafka import Consumer as TheirConsumer
from confluent_kafka import Producer
from confluent_kafka import TopicPartition as TheirPartition

from membership_client.admin import GroupAdmin, GroupView
from membership_client.admin.commands.group_text import waiting_lines
from membership_client.admin.commands.outside_view import OutsideFinding, OutsideKind, OutsideView, first_line, summary
from membership_client.admin.waiting import WaitWatch, waiting
from membership_client.cli.program import main
from membership_client.testing import EmbeddedKafka
from membership_client.types import Offset, TopicPartition
from tests.admin.test_watch import NEW, SLOW, VIEW

pytestmark = pytest.mark.deep

PLACE = TopicPartition("orders", 0)
CALM = replace(
    VIEW,
    state="Stable",
    members=(replace(SLOW, epoch=5, target=SLOW.current), replace(NEW, target=frozenset())),
    committed={PLACE: Offset(7)},
    ends={PLACE: 7},
)


def seen(*views: GroupView, every_s: float = 2.0) -> list[OutsideFinding]:
    """The findings after these successive descriptions of a group."""
    watch, outside = WaitWatch(), OutsideView()
    for number, view in enumerate(views):
        outside.see(waiting(watch.see(view, number * every_s), 45.0), number * every_s)
    return outside.findings()


def ended(at: int, committed: int | None = 7) -> GroupView:
    return replace(CALM, ends={PLACE: at}, committed={} if committed is None else {PLACE: Offset(committed)})


def test_nothing_is_said_of_a_group_that_works_or_has_no_records() -> None:
    """Its offsets move, or are at the end of the log."""
    assert seen(*[CALM] * 10) == []
    assert seen(*(ended(10 + look, 8 + look) for look in range(10)))[0].kind is OutsideKind.LAG


@pytest.mark.parametrize("committed", [7, None])
def test_a_member_that_commits_nothing_although_records_wait_is_named(committed: int | None) -> None:
    """`groups waiting` once reported that the group waits for no member, although a member was stopped."""
    silent, *rest = seen(*(ended(10 + look, committed) for look in range(5)))
    assert (silent.kind, silent.members, silent.partitions) == (OutsideKind.SILENT, ("till-1",), {PLACE})
    assert silent.certain is False
    assert "till-1 (10.0.0.1) committed nothing for 8 s although" in silent.sentence
    assert "removes it in at most 45 s, and until then refuses another process the instance id till-1" in silent.advice
    assert [finding.kind for finding in rest] == ([OutsideKind.LAG] if committed is not None else [])


def test_a_silent_member_that_outlives_a_session_is_alive() -> None:
    """So its application is stuck, and its process is not stopped."""
    (silent, _) = seen(*[ended(10)] * 30)
    assert "so it sends heartbeats" in silent.advice


def test_a_short_look_says_that_a_longer_one_is_needed() -> None:
    """A single description cannot show whether a member works or is stopped."""
    lines = waiting_lines(waiting(WaitWatch().see(ended(10), 0.0), 45.0))
    assert lines[1:] == [
        "The group waits for no member.",
        "Records wait for till-1. To see whether these are processed, look for longer: --watch 10.",
    ]


def test_members_that_come_and_go_or_change_their_topics_flap() -> None:
    """They are counted by instance id, or by client id and host, because a member id is new each time."""

    def with_new(number: int, topics: str) -> GroupView:
        member = replace(CALM.members[1], member_id=f"n{number}", topics=frozenset({topics}))
        return replace(CALM, epoch=5 + number, members=(CALM.members[0], member))

    (flaps,) = seen(*(with_new(number, "orders") for number in range(5)))
    assert (flaps.kind, flaps.members) == (OutsideKind.FLAPPING, ("shop@10.0.0.1",))
    assert "joined 4 times in 8 s; the group rebalanced 4 times." in flaps.sentence
    (changes,) = seen(*(replace(with_new(0, f"topic-{look}"), epoch=look) for look in range(5)))
    assert "changed its subscription 4 times" in changes.sentence


def test_a_classic_member_without_topics_during_a_rebalance_has_not_changed_them() -> None:
    """Coordinators describe subscriptions of classic groups only while these are stable: each rebalance counted as two changes."""
    stable = replace(CALM, protocol="classic", epoch=None, assignment_epoch=None)
    members = tuple(replace(member, topics=frozenset()) for member in stable.members)
    rebalancing = replace(stable, state="PreparingRebalance", members=members)
    assert seen(*[stable, rebalancing] * 6) == []
    one, two = stable.members
    changed = [replace(stable, members=(replace(one, topics=frozenset({f"t{n}"})), two)) for n in range(5)]
    (flaps,) = seen(*(view for each in changed for view in (each, rebalancing)))
    assert "changed its subscription 4 times" in flaps.sentence


def test_members_that_share_a_name_flap_only_if_they_come_and_go() -> None:
    """Six healthy members of one client id and host were once reported as having "joined 140 times in 15 s"."""

    def with_members(first: int, last: int) -> GroupView:
        members = tuple(replace(CALM.members[1], member_id=f"d{number}") for number in range(first, last))
        return replace(CALM, members=(CALM.members[0], *members))

    assert seen(*[with_members(0, 6)] * 10) == []
    assert seen(*(with_members(0, count) for count in range(8))) == []  # scaled up
    assert seen(*(with_members(0, 8 - count) for count in range(8))) == []  # scaled down
    assert seen(*(with_members(look, look + 6) for look in range(7))) == []  # restarted, one after the other
    (flaps,) = seen(*(with_members(look, look + 6) for look in range(9)))
    assert flaps.sentence.startswith("shop@10.0.0.1 (6 members of that name) joined 8 times in 16 s;")


def test_a_member_that_went_while_others_stayed_is_told_and_no_fault() -> None:
    """Its process had been stopped for longer than a session, and nothing at all was said of it."""
    rest = replace(CALM, members=CALM.members[:1])
    (gone,) = seen(CALM, CALM, rest, rest)
    assert (gone.kind, gone.members, gone.is_fault) == (OutsideKind.GONE, ("shop@10.0.0.1",), False)
    assert "left, or the coordinator removed it" in gone.sentence
    assert seen(CALM, rest, CALM) == []


def test_a_wait_a_rebalance_and_an_empty_group_are_told() -> None:
    """The finding about a classic group says that its coordinator does not report for which member it waits."""
    assert seen(*[VIEW] * 6)[0].members == ("till-1", "shop@10.0.0.1")
    classic = replace(CALM, protocol="classic", state="PreparingRebalance", epoch=None, assignment_epoch=None)
    assert [finding.kind for finding in seen(*[classic] * 4)] == [OutsideKind.REBALANCING]
    assert [finding.kind for finding in seen(replace(CALM, members=()))] == [OutsideKind.NO_MEMBERS]


def test_a_healthy_member_that_is_a_heartbeat_behind_is_no_finding() -> None:
    """Each rebalance once made a finding of every member that had not sent its next heartbeat yet."""
    behind = replace(CALM, members=(replace(CALM.members[0], epoch=4), CALM.members[1]))
    assert seen(CALM, behind, behind, CALM, replace(behind, epoch=6, assignment_epoch=6), CALM) == []
    (late,) = seen(CALM, *[behind] * 6)
    assert (late.kind, late.partitions) == (OutsideKind.WAITED_FOR, frozenset())
    assert late.sentence == "The group waits for till-1 (10.0.0.1) to take note of the newest epoch, seen for 10 s."


def test_what_it_counts_is_in_the_singular_or_the_plural() -> None:
    """The output once had "1 members", "1 records" and "unchanged by 0 in 8 s"."""
    alone = replace(ended(8), members=CALM.members[:1])
    silent, lag = seen(*[alone] * 5)
    assert silent.sentence == "till-1 (10.0.0.1) committed nothing for 8 s although 1 record of orders[0] waits for it."
    assert lag.sentence == "till-1 has 1 record of orders[0] to go, unchanged for 8 s."
    assert ", 1 member. SILENT." in summary(alone, [silent], 8.0)
    assert first_line(alone, [silent, lag]) == f"Group shop: {silent.sentence}"
    assert first_line(alone, [silent] * 5).endswith(" And 2 findings more.")
    assert first_line(alone, [lag]) == "Group shop: Nothing is wrong as far as its coordinator shows it."
    assert "growing by 2 in 2 s" in seen(ended(8), ended(10))[0].sentence


# --- live ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def embedded() -> Iterator[EmbeddedKafka]:
    with EmbeddedKafka(topics={"orders": 2}) as cluster:
        yield cluster


def diagnosed(
    embedded: EmbeddedKafka, watch: str, capsys: pytest.CaptureFixture[str]
) -> tuple[int, list[dict[str, object]]]:
    where = ["--bootstrap-server", embedded.bootstrap_servers]
    code = main(["diagnose", "--group", "shop", *where, "--for", watch, "--json"])
    return code, json.loads(capsys.readouterr().out)["findings"]


@pytest.mark.parametrize("protocol", ["consumer", "classic"])
def test_a_librdkafka_member_that_stands_still_is_named_and_one_that_works_is_not(
    embedded: EmbeddedKafka, capsys: pytest.CaptureFixture[str], protocol: str
) -> None:
    """Only the coordinator shows it, because librdkafka writes no trace."""
    producer = Producer({"bootstrap.servers": embedded.bootstrap_servers})
    config = {"bootstrap.servers": embedded.bootstrap_servers, "group.id": "shop", "group.protocol": protocol}
    config |= {"client.id": "till", "auto.offset.reset": "earliest", "auto.commit.interval.ms": "200"}
    member, ends, stands = TheirConsumer(config), threading.Event(), threading.Event()
    member.subscribe(["orders"])

    def work() -> None:
        while not ends.is_set():
            producer.produce("orders", b"1", partition=0)
            producer.poll(0)
            member.poll(0.05) if not stands.is_set() else time.sleep(0.05)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        embedded.wait_for(lambda: any(one.current for one in embedded.describe("shop").members))
        with GroupAdmin(embedded.bootstrap_servers) as admin:
            embedded.wait_for(lambda: admin.describe("shop").committed)
        assert "SILENT" not in [finding["kind"] for finding in diagnosed(embedded, "8s", capsys)[1]]
        stands.set()
        code, findings = diagnosed(embedded, "8s", capsys)
    finally:
        ends.set()
        thread.join()
        member.close()
    (silent,) = [finding for finding in findings if finding["kind"] == "SILENT"]
    assert code == 1
    assert silent["partitions"] == ["orders-0"]


def test_brief_is_the_first_line_alone(embedded: EmbeddedKafka, capsys: pytest.CaptureFixture[str]) -> None:
    """The exit code is the same. `--brief` was once ignored beside `--group`."""
    where = ["--bootstrap-server", embedded.bootstrap_servers]
    config = {"bootstrap.servers": embedded.bootstrap_servers, "group.id": "shop"}
    left = TheirConsumer(config)
    left.commit(offsets=[TheirPartition("orders", 0, 0)], asynchronous=False)
    left.close()
    assert main(["diagnose", "--group", "shop", *where, "--for", "0", "--brief"]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert line == "Group shop: shop has no members."


def test_a_group_that_is_not_there_and_files_beside_a_group_are_refused(
    embedded: EmbeddedKafka, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command prints a sentence and exits with 2."""
    where = ["--bootstrap-server", embedded.bootstrap_servers]
    assert main(["diagnose", "--group", "nobody", *where, "--for", "0"]) == 2
    assert "There is no group nobody" in capsys.readouterr().err
    for arguments in (["trace.jsonl", "--group", "shop", *where], [], ["--group", "shop", *where, "--for", "x"]):
        with pytest.raises(SystemExit) as exit_:
            main(["diagnose", *arguments])
        assert exit_.value.code == 2
