"""A thread that takes too long is named, with what it is doing, while it can still be helped."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from membership_client import Budget, BudgetWarning, Consumer, GroupMember
from membership_client.trace import read_trace
from tests.integration.conftest import GroupFactory, ProxiedKafka
from tests.integration.members import PATIENCE_S, Call, Group, RecordingListener, eventually

pytestmark = [pytest.mark.kafka, pytest.mark.deep]


class Warned(RecordingListener):
    """A listener whose callback of that kind waits until it has been warned of."""

    def __init__(self, slow: str | None = None) -> None:
        super().__init__(**({slow: self.load_for_ages} if slow else {}))
        self.warnings: list[tuple[BudgetWarning, str]] = []
        self.warned = threading.Event()

    def load_for_ages(self, call: Call) -> None:
        self.warned.wait(PATIENCE_S)

    def on_budget_warning(self, warning: BudgetWarning) -> None:
        self.warnings.append((warning, threading.current_thread().name))
        self.warned.set()


def config_of(group: Group, **more: Any) -> dict[str, Any]:
    return {"bootstrap.servers": group.bootstrap_servers, "group.id": group.id, **more}


def notes_in(path: Path) -> list[dict[str, Any]]:
    return [entry for section in read_trace(path) for entry in section.entries if entry.get("note") == "warning"]


def assert_told(listener: Warned, note: dict[str, Any], log: str, budget: Budget, function: str) -> BudgetWarning:
    """To the listener, to the trace and to the log, each with the function; on a thread that is not stuck in it."""
    warning, thread = listener.warnings[0]
    assert warning.budget is budget
    assert any(place.startswith(f"{function} (test_watchdog.py:") for place in warning.stack)
    assert thread not in {warning.thread, threading.main_thread().name}
    assert (note["budget"], note["stack"]) == (budget.name, list(warning.stack))
    assert function in log
    return warning


def test_a_slow_callback_is_told_to_the_log_the_trace_and_the_listener(
    group: Group, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Once, with the function that does not return, and not on the thread that is stuck in it."""
    listener = Warned("assigned")
    with GroupMember(config_of(group, **{"max.poll.interval.ms": 2000}), listener=listener) as member:
        member.subscribe([group.topic])
        eventually(member.assignment, "an assignment, after the warning")
        member.trace.save(tmp_path / "trace")
    (note,) = notes_in(tmp_path / "trace")
    warning = assert_told(listener, note, caplog.text, Budget.CALLBACK, "load_for_ages")
    assert (warning.thread, len(listener.warnings)) == (f"{group.id}-callbacks", 1)


def test_a_slow_callback_in_a_close_is_told_to_the_log_the_trace_and_the_listener(
    group: Group, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Before the time for the close is gone."""
    listener = Warned("revoked")
    member = GroupMember(config_of(group), listener=listener)
    member.subscribe([group.topic])
    eventually(member.assignment, "an assignment")
    assert member.close(timeout_s=4.0).clean
    member.trace.save(tmp_path / "trace")
    (note,) = notes_in(tmp_path / "trace")
    assert_told(listener, note, caplog.text, Budget.CLOSE, "load_for_ages")
    assert len(listener.warnings) == 1


def test_a_close_that_waits_for_the_network_blames_no_thread(
    proxied_kafka: ProxiedKafka, new_group: GroupFactory
) -> None:
    """The thread of callbacks, which only waited for work, was shown as if it were busy."""
    group, listener = new_group(proxied_kafka), Warned()
    member = GroupMember(config_of(group), listener=listener)
    member.subscribe([group.topic])
    eventually(member.assignment, "an assignment")
    proxied_kafka.proxy.stall()
    member.close(timeout_s=2.0)
    eventually(lambda: listener.warnings, "a warning")
    ((warning, _),) = listener.warnings
    assert (warning.budget, warning.thread, warning.stack) == (Budget.CLOSE, None, ())


def handle_for_ages(listener: Warned) -> None:
    """A name that a warning can be expected to show."""
    listener.warned.wait(PATIENCE_S)


def busy_member(group: Group, listener: Warned, trace: Path) -> None:
    """An application that polls once, and then not until it was warned."""
    config = config_of(group, **{"max.poll.interval.ms": 5000, "trace.file": str(trace)})
    with GroupMember(config, listener=listener) as member:
        member.subscribe([group.topic])
        eventually(member.assignment, "an assignment")
        member.poll()
        handle_for_ages(listener)


def busy_consumer(group: Group, listener: Warned, trace: Path) -> None:
    config = config_of(group, **{"max.poll.interval.ms": 5000, "trace.file": str(trace)})
    with Consumer(config) as consumer:
        consumer.subscribe([group.topic], listener=listener)
        eventually(lambda: (consumer.poll(0.1), consumer.assignment())[1], "an assignment")
        handle_for_ages(listener)


@pytest.mark.parametrize("application", [busy_member, busy_consumer])
def test_a_handler_that_does_not_poll_is_told_to_the_log_the_trace_and_the_listener(
    group: Group, application: Callable[[Group, Warned, Path], None], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """While the application could still poll in time, of a member as of a consumer."""
    listener = Warned()
    application(group, listener, tmp_path / "trace")
    note = notes_in(tmp_path / "trace")[0]
    warning = assert_told(listener, note, caplog.text, Budget.POLL, "handle_for_ages")
    assert warning.thread == threading.main_thread().name
