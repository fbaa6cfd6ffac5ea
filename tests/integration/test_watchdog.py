"""A thread that takes too long is named, with what it is doing, while it can still be helped."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

import pytest

from membership_client import Budget, BudgetWarning, GroupMember
from membership_client.trace import read_trace
from tests.integration.members import PATIENCE_S, Call, Group, RecordingListener, eventually

pytestmark = pytest.mark.kafka


class Warned(RecordingListener):
    """A listener whose assigned callback waits until it has been warned of."""

    def __init__(self) -> None:
        super().__init__(assigned=self.load_for_ages)
        self.warnings: list[tuple[BudgetWarning, str]] = []
        self.warned = threading.Event()

    def load_for_ages(self, call: Call) -> None:
        self.warned.wait(PATIENCE_S)

    def on_budget_warning(self, warning: BudgetWarning) -> None:
        self.warnings.append((warning, threading.current_thread().name))
        self.warned.set()


def test_a_slow_callback_is_told_to_the_log_the_trace_and_the_listener(
    group: Group, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Each with the function that does not return, and not on the thread that is stuck in it."""
    listener = Warned()
    with caplog.at_level(logging.WARNING, "membership_client"):
        config = {"bootstrap.servers": group.bootstrap_servers, "group.id": group.id, "max.poll.interval.ms": 2000}
        with GroupMember(config, listener=listener) as member:
            member.subscribe([group.topic])
            eventually(member.assignment, "an assignment, after the warning")
            member.trace.save(tmp_path / "trace")
    ((warning, thread),) = listener.warnings
    assert warning.budget is Budget.CALLBACK
    assert any(place.startswith("load_for_ages (test_watchdog.py:") for place in warning.stack)
    assert thread != warning.thread == f"{group.id}-callbacks"
    assert "load_for_ages" in caplog.text
    (note,) = [entry for section in read_trace(tmp_path / "trace") for entry in section.entries if "note" in entry]
    assert (note["note"], note["budget"]) == ("warning", "CALLBACK")
    assert any("load_for_ages" in place for place in note["stack"])
