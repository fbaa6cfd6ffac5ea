"""What happened in a run, kept cheaply and turned into text only for a report."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields
from uuid import UUID

from membership_client.core.classic.protocol import topic_id
from membership_client.core.events import (
    Answered,
    ClassicHeartbeat,
    DescribeTopics,
    Effect,
    Heartbeat,
    HeartbeatAccepted,
    HeartbeatConfirmed,
    Polled,
    Send,
    Tick,
    TopicsDescribed,
)
from membership_client.core.machine import Step
from membership_client.testing.fake_cluster import FakeCluster
from membership_client.testing.transcript import changes, render_line, render_step
from tests.simulation.script import Action


class Record:
    def __init__(self, cluster: FakeCluster) -> None:
        self._cluster = cluster
        self.entries: list[tuple[float, str, Step | Action | str]] = []
        self._logged = 0
        self._names: dict[UUID, str] = {}
        self.learn_topics()

    def learn_topics(self) -> None:
        """The names of topics, also of deleted ones."""
        for topic in self._cluster.topics:
            # In a classic group a topic is known by its name, and its id is made from that.
            self._names |= {topic.topic_id: topic.name, topic_id(topic.name): topic.name}

    def add_step(self, who: str, taken: Step) -> None:
        self._add_broker_log()
        if taken.after is not taken.before or taken.effects:
            self.entries.append((taken.at, who, taken))

    def add_action(self, at: float, action: Action) -> None:
        self._add_broker_log()
        self.entries.append((at, "*", action))

    def add_note(self, at: float, text: str) -> None:
        self._add_broker_log()
        self.entries.append((at, "*", text))

    def _add_broker_log(self) -> None:
        log = self._cluster.groups.log
        if len(log) > self._logged:
            self.entries += [(at, "#", text) for at, text in log[self._logged :]]
            self._logged = len(log)

    def lines(self) -> list[str]:
        """`*` is the script, `#` the coordinator's log, and the rest are members."""
        self._add_broker_log()
        return [line for entry in self.entries for line in self._render(*entry)]

    def story(self) -> list[str]:
        """Like `lines`, but heartbeats without news are only counted."""
        self._add_broker_log()
        found: list[str] = []
        uneventful: Counter[str] = Counter()
        for at, who, entry in self.entries:
            if isinstance(entry, Step) and self._is_routine(entry):
                uneventful[who] += sum(1 for effect in entry.effects if _is_heartbeat(effect))
                continue
            if beats := uneventful.pop(who, 0):
                found.append(f"{'':9}  {who:<4}  ({beats} heartbeat{'s' * (beats > 1)} without news)")
            found += self._render(at, who, entry)
        return found

    def _render(self, at: float, who: str, entry: Step | Action | str) -> list[str]:
        if isinstance(entry, Step):
            return render_step(who, entry, self._names)
        return [render_line(at, who, entry if isinstance(entry, str) else describe_action(entry))]

    def _is_routine(self, taken: Step) -> bool:
        event = taken.event
        answer = event.response if isinstance(event, Answered) else None
        uneventful = isinstance(answer, HeartbeatConfirmed | TopicsDescribed) or (
            isinstance(answer, HeartbeatAccepted) and answer.assignment is None
        )
        return (
            (isinstance(event, Tick | Polled) or uneventful)
            and all(isinstance(effect, Send) and _says_nothing(effect) for effect in taken.effects)
            and not changes(taken.before, taken.after, self._names)
        )


def _is_heartbeat(effect: Effect) -> bool:
    return isinstance(effect, Send) and isinstance(effect.request, Heartbeat | ClassicHeartbeat)


def _says_nothing(send: Send) -> bool:
    request = send.request
    if isinstance(request, ClassicHeartbeat | DescribeTopics):
        return True
    return isinstance(request, Heartbeat) and request.epoch > 0 and request.owned is None and request.topics is None


def describe_action(action: Action) -> str:
    """The action's name, and its fields that differ from their defaults."""
    said = [
        f"{field.name}={_plain(value)}"
        for field in fields(action)
        if field.name not in {"at", "who"} and (value := getattr(action, field.name)) != field.default
    ]
    who = getattr(action, "who", None)
    return " ".join([type(action).__name__.lower(), *([who] if who else []), *said])


def _plain(value: object) -> str:
    if isinstance(value, frozenset):
        return ",".join(sorted(value)) or "none"
    if isinstance(value, float):
        return f"{value:g}"
    return str(getattr(value, "value", value))
