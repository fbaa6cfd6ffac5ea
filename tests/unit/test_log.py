"""What the log says, and above all what it does not say."""

from __future__ import annotations

import dataclasses
import logging
import os
import socket
from dataclasses import dataclass, field

import pytest

from membership_client.core.events import (
    Budget,
    CallbackDelayed,
    Close,
    DescribeGroup,
    Effect,
    Event,
    GroupDescribed,
    GroupLeft,
    Heartbeat,
    LeaveGroup,
    MemberDescription,
    Polled,
    Refused,
)
from membership_client.core.machine import Step
from membership_client.core.member import Member
from membership_client.core.view import health_of, snapshot_of
from membership_client.runtime.busy_thread import BudgetWarning
from membership_client.runtime.log import StepLog, log_warning
from membership_client.runtime.rebalance_history import RebalanceHistory
from membership_client.types import LeaveMode
from tests.core.play import INTERVAL_S, Play, accepted, config, orders

_WORKING = BudgetWarning(
    budget=Budget.POLL, spent_s=151.0, limit_s=300.0, thread="MainThread", stack=("work (shop.py:12)",)
)
TAKEN = Refused(111, "the instance id is owned by them.")


@dataclass
class LoggedPlay(Play):
    """A member whose every step is shown to the log."""

    history: RebalanceHistory = field(default_factory=RebalanceHistory)
    log: StepLog = field(init=False)

    def __post_init__(self) -> None:
        self.log = StepLog(self.history)

    def do(self, event: Event) -> list[Effect]:
        before = self.member
        effects = super().do(event)
        shown = Step(self.now, before, event, tuple(effects), self.member)
        self.history.on_step(shown)
        self.log.on_step(shown)
        return effects


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, logger="membership_client")
    return caplog


def logged(**overrides: object) -> LoggedPlay:
    return LoggedPlay(Member(config=config(**{"client_id": "logged", **overrides}), member_id="me"))


NAME = f"[g/logged@{socket.gethostname()}:{os.getpid()}]"
"""Of a member without an instance id."""


def lines(log: pytest.LogCaptureFixture, level: int) -> list[str]:
    return [record.getMessage() for record in log.records if record.levelno == level]


def test_records_have_the_member_as_fields(log: pytest.LogCaptureFixture) -> None:
    """A formatter that writes JSON needs no parser for the sentences; and no name may be one that logging itself uses."""
    play = logged(group_protocol="consumer", group_instance_id="till-1", client_id="shop-4711")
    play.stable(0, 1, 2)
    (record,) = [record for record in log.records if "stable" in record.getMessage()]
    told = vars(record)
    assert {key: told[key] for key in ("group_id", "member_id", "instance_id", "client_id", "epoch", "state")} == {
        "group_id": "g",
        "member_id": "me",
        "instance_id": "till-1",
        "client_id": "shop-4711",
        "epoch": play.member.epoch,
        "state": "stable",
    }
    assert (told["cause"], told["partitions"]) == ("joined", "orders[0-2]")
    assert (told["got"], told["lost"], told["duration_s"]) == ("orders[0-2]", "", pytest.approx(0, abs=1))


def test_a_warning_has_its_budget_as_fields(log: pytest.LogCaptureFixture) -> None:
    """Which budget, and what the thread does."""
    play = logged()
    play.stable(0)
    log_warning(play.member, _WORKING)
    told = vars(log.records[-1])
    assert (told["budget"], told["busy_thread"], told["busy_at"]) == ("poll", "MainThread", ["work (shop.py:12)"])
    assert told["group_id"] == "g"


def test_one_line_per_rebalance(log: pytest.LogCaptureFixture) -> None:
    """It tells the member, how it ended, why, what moved and how long it took. It is INFO, because no operator must act."""
    play = logged(group_protocol="consumer")
    play.stable(0, 1).told(orders(0, 2))
    play.now += 1.5
    play.let_callbacks_return()
    play.answer(Heartbeat, accepted(3))
    play.let_callbacks_return()
    play.answer(Heartbeat, accepted(3))
    play.do(Close(mode=LeaveMode.DEFAULT, reason="scaled down", timeout_s=5.0))
    play.let_callbacks_return()
    play.answer(LeaveGroup, GroupLeft())
    joined, changed, left = lines(log, logging.INFO)
    asked = "triggered by the application"
    assert (
        joined == f"{NAME}: stable at epoch 2 with 2 partitions (joined the group; {asked}), got orders[0-1], in 0.0 s"
    )
    assert "stable at epoch 3 with 2 partitions (group changed" in changed
    assert "triggered by another member or a topic" in changed
    assert changed.endswith(", got orders[2], lost orders[1], in 1.5 s; the revoked callback took 1.5 s")
    assert left == f"{NAME}: not in the group any more (closed: scaled down; {asked}), lost orders[0,2], in 0.0 s"
    assert not lines(log, logging.WARNING)


def test_a_cause_is_said_once(log: pytest.LogCaptureFixture) -> None:
    """A line said "poll interval exceeded: poll interval exceeded: 10 s"."""
    play = logged(**{"max.poll.interval.ms": 10_000})
    play.stable(0)
    play.do(Polled(play.now))
    play.advance(10.0)
    (line,) = lines(log, logging.WARNING)
    assert "out of the group (poll interval exceeded: 10 s)" in line


def test_a_takeover_is_work_and_no_warning(log: pytest.LogCaptureFixture) -> None:
    """Once it warned twice of what it was about to resolve by itself."""
    play = logged(group_instance_id="i", group_instance_id_conflict="takeover")
    play.joining().answer(Heartbeat, TAKEN)
    holder = MemberDescription(member_id="them", instance_id="i", client_id="c", host="h")
    play.answer(DescribeGroup, GroupDescribed((holder,)))
    play.answer(Heartbeat, accepted(-2))
    assert lines(log, logging.INFO) == ["[g/i]: the instance id is owned by them."]
    assert not lines(log, logging.WARNING)


def test_waiting_for_an_instance_id_warns_once(log: pytest.LogCaptureFixture) -> None:
    """An operator may have to stop the other process."""
    play = logged(group_instance_id="i")
    play.joining().answer(Heartbeat, TAKEN)
    play.answer(DescribeGroup, GroupDescribed(()))
    assert lines(log, logging.WARNING) == ["[g/i]: the instance id is owned by them."]


def test_a_failed_callback_is_told_once_with_its_traceback(log: pytest.LogCaptureFixture) -> None:
    """The line carries what the application raised, whole."""
    play = logged()
    play.stable(0).told(orders(0, 1))
    play.returns("Traceback ...\nValueError: no disk")
    (line,) = lines(log, logging.WARNING)
    assert "Traceback ...\nValueError: no disk" in line


@pytest.mark.parametrize(
    ("budget", "told"),
    [
        (
            Budget.POLL,
            "12.0 s of the 20 s for the next poll are gone; thread worker is at work (shop.py:7) < main (shop.py:1)",
        ),
        (Budget.CALLBACK, "for a callback are gone"),
        (Budget.CLOSE, "for the close are gone"),
    ],
)
def test_a_budget_that_runs_out_is_told_with_the_busy_thread_and_the_consequence(
    log: pytest.LogCaptureFixture, budget: Budget, told: str
) -> None:
    """What is eating it, where it is, and what happens next."""
    stack = ("work (shop.py:7)", "main (shop.py:1)")
    log_warning(
        logged().member, BudgetWarning(budget=budget, spent_s=12.0, limit_s=20.0222, thread="worker", stack=stack)
    )
    (line,) = lines(log, logging.WARNING)
    assert told in line
    assert "When it is all gone, " in line


def test_a_slow_lost_callback_has_no_partitions_to_give_to_others(log: pytest.LogCaptureFixture) -> None:
    """The line said that the group gives them to others when the time is up: they are lost already."""
    play = logged()
    play.stable(0)
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(25))
    log_warning(play.member, dataclasses.replace(_WORKING, budget=Budget.CALLBACK))
    line = lines(log, logging.WARNING)[-1]
    assert "gives its partitions to others" not in line
    assert (
        "nothing changes: the partitions are lost already, and this member does not join again before it returns"
        in line
    )


def test_passing_trouble_is_not_a_warning(log: pytest.LogCaptureFixture) -> None:
    """A coordinator that moves is everyday life."""
    play = logged()
    play.stable(0)
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(16))
    assert lines(log, logging.INFO)[-1] == f"{NAME}: NOT_COORDINATOR."
    assert not lines(log, logging.WARNING)


def test_the_end_is_an_error_with_its_cause(log: pytest.LogCaptureFixture) -> None:
    """FATAL must not be missed."""
    play = logged()
    play.joining().answer(Heartbeat, Refused(30, "no access"))
    assert lines(log, logging.ERROR) == [
        f"{NAME}: ended: READ on group g is not granted (GROUP_AUTHORIZATION_FAILED: no access)."
    ]


def test_auto_says_which_protocol_it_took_and_which_keys_have_no_effect(log: pytest.LogCaptureFixture) -> None:
    """The bug: KIP-848 was taken without a word, and keys of the classic protocol that were given had no effect."""
    play = logged(session_timeout_ms=30_000)
    play.joining()
    play.answer(Heartbeat, accepted(2, orders(0)))
    assert [line for line in lines(log, logging.INFO) if "takes KIP-848: the coordinator has it" in line]
    (told,) = lines(log, logging.WARNING)
    assert "session.timeout.ms has no effect with KIP-848: the brokers set it: consumer.session.timeout.ms" in told


def test_a_group_that_cannot_be_upgraded_is_told_with_the_way_to_migrate(log: pytest.LogCaptureFixture) -> None:
    """With the broker's own words; and the key of KIP-848 that was given has no effect then."""
    play = logged(group_remote_assignor="range")
    play.joining()
    play.answer(Heartbeat, Refused(69, "Cannot upgrade classic group g."))
    migration, unused = lines(log, logging.WARNING)
    assert "takes the classic protocol. Cannot upgrade classic group g. To migrate the group, stop all" in migration
    assert "group.remote.assignor has no effect with the classic protocol: members assign" in unused


def test_a_protocol_that_was_chosen_is_no_news(log: pytest.LogCaptureFixture) -> None:
    """Nothing was found out, so nothing is said."""
    play = logged(group_protocol="consumer")
    play.joining()
    play.answer(Heartbeat, accepted(2, orders(0)))
    assert not any("takes" in record.getMessage() for record in log.records)


def test_a_callback_that_cannot_begin_is_a_warning(log: pytest.LogCaptureFixture) -> None:
    """The bug: a consumer waited for committed offsets without a word."""
    play = logged(group_protocol="consumer")
    play.stable(0).told(orders(0, 1))
    assert play.member.call is not None
    play.now += 5.0
    play.do(CallbackDelayed(play.member.call.call_id, play.now - 5.0, "the committed offsets of 1 partitions"))
    (told,) = lines(log, logging.WARNING)
    assert told.startswith(
        f"{NAME}: for 5.0 s, the assigned callback waits for the committed offsets of 1 partitions. "
    )
    snapshot = snapshot_of(play.member, play.now + 1.0)
    assert snapshot.delay is not None
    assert snapshot.delay.seconds == 6.0
    assert "; for 6.0 s, the assigned callback waits" in health_of(play.member, play.now + 1.0).why
    play.returns()
    assert snapshot_of(play.member, play.now).delay is None
