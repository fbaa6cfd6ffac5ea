"""Starts `member_process.py` and reads what it prints."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from membership_client import TopicPartition
from tests.integration.members import Group, eventually
from tests.integration.speaking import SpeakingProcess


class MemberProcess(SpeakingProcess):
    """A member of `group` in a process of its own, carrying out a plan of `member_process.py`."""

    def __init__(self, group: Group, plan: str = "stay", config: Mapping[str, Any] | None = None) -> None:
        settings = {"bootstrap.servers": group.bootstrap_servers, "group.id": group.id, **(config or {})}
        task = {"config": settings, "topics": [group.topic], "plan": plan}
        super().__init__(Path(__file__).with_name("member_process.py"), task)

    def wait_for(self, kind: str) -> dict[str, Any]:
        """The first line of that kind."""
        return eventually(lambda: next(iter(self.all(kind)), None), f"the process says {kind!r}, not {self.said}") or {}

    def all(self, kind: str) -> list[dict[str, Any]]:
        return [line for line in tuple(self.said) if line["kind"] == kind]

    def wait_owning(self) -> frozenset[TopicPartition]:
        """The partitions that it owned when it was first stable with some."""
        owning = eventually(lambda: next((s for s in self.all("stable") if s["owned"]), None), "an owner in a process")
        assert owning is not None
        return partitions_in(owning["owned"])

    def kill(self) -> None:
        """SIGKILL; returns when it is gone."""
        self.signal(signal.SIGKILL)
        self.wait_ended()

    def pause(self) -> None:
        self.signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.signal(signal.SIGCONT)

    def terminate(self) -> None:
        """SIGTERM; nothing is awaited."""
        self.signal(signal.SIGTERM)


def partitions_in(pairs: list[tuple[str, int]]) -> frozenset[TopicPartition]:
    """Partitions from JSON."""
    return frozenset(TopicPartition(topic, number) for topic, number in pairs)
