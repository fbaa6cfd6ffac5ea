"""Traces written by hand, line by line, for what a simulation does not have: long waits, hostile names, large groups."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from membership_client import MemberConfig
from membership_client.core.events import CallbackKind, CallbackReturned, Effect, Event, RunCallback, Tick
from membership_client.core.member import Member
from membership_client.partitions import ranges
from membership_client.trace.values import encode
from membership_client.types import Cause, CauseKind, MemberState, TopicPartition

BEGAN = 1_790_000_000.0

S = MemberState


class Story:
    """Of one member. Times are seconds since the story began; `tell` is the least a line needs."""

    def __init__(
        self, name: str, *, group: str = "g", instance: str | None = None, host: str = "h1", saved_at: float = 0.0
    ) -> None:
        # Names are the header's alone: a trace may hold ones that a configuration would refuse.
        config = MemberConfig(bootstrap_servers="b:9092", group_id="g")
        who = {"group": group, "member": name, "instance": instance or name, "client": "test", "host": host, "pid": 1}
        start = encode(Member(config=config, member_id=name))
        self.lines = [json.dumps({"trace": 1, **who, "wall": BEGAN + saved_at, "at": saved_at, "start": start})]
        self._ids = 0
        self._epoch = 0

    def tell(self, at: float, state: MemberState, event: Event | None = None, **more: Any) -> Story:
        self._epoch = more.pop("epoch", self._epoch)
        effects: tuple[Effect, ...] = more.pop("effects", ())
        known = {"at": at, "state": state.name, "epoch": self._epoch, "event": encode(event or Tick())}
        self.lines.append(json.dumps(known | {"effects": [encode(effect) for effect in effects]} | more))
        return self

    def note(self, at: float, kind: str, **facts: Any) -> Story:
        self.lines.append(json.dumps({"at": at, "note": kind, **facts}))
        return self

    def call(
        self,
        wanted: float,
        ended: float,
        kind: CallbackKind,
        owned: dict[str, list[int]],
        *,
        began: float | None = None,
        error: str | None = None,
        reason: str = "told so",
        count: int = 1,
    ) -> Story:
        """A callback, after which these partitions are owned."""
        self._ids += 1
        run = RunCallback(
            call_id=self._ids,
            kind=kind,
            partitions=tuple(TopicPartition(topic, number) for topic in owned for number in owned[topic])[:count],
            epoch=self._epoch,
            cause=Cause(CauseKind.GROUP_CHANGED, reason),
            deadline=None,
            provisional=False,
        )
        self.tell(wanted, S.RECONCILING, effects=(run,))
        shown = {topic: ranges(numbers) for topic, numbers in owned.items()}
        return self.tell(ended, S.STABLE, CallbackReturned(self._ids, error, began), owned=shown)

    def write(self, path: Path) -> Path:
        path.write_text("\n".join(self.lines) + "\n")
        return path


def known_run(folder: Path) -> list[Path]:
    """Two members and a partition each; then a hand-over with a gap, one with two owners, and a wait for a poll."""
    one = Story("one", host="h1").tell(0.0, S.JOINING, cause="joined: joined the group").tell(0.5, S.STABLE, epoch=1)
    one.call(1.0, 1.5, CallbackKind.ASSIGNED, {"orders": [0, 1]}, reason="joined the group")
    one.call(10.0, 14.0, CallbackKind.REVOKED, {"orders": [0]}, began=13.0, reason="two came in")
    one.tell(30.0, S.FENCED, cause="fenced: UNKNOWN_MEMBER_ID: session expired")
    one.call(30.0, 31.0, CallbackKind.LOST, {})
    one.tell(40.0, S.STABLE)
    two = Story("two", host="h1").tell(8.0, S.JOINING, cause="joined: joined the group").tell(9.0, S.STABLE, epoch=2)
    two.call(20.0, 21.0, CallbackKind.ASSIGNED, {"orders": [1]})
    two.call(25.0, 26.0, CallbackKind.ASSIGNED, {"orders": [1]}, error="ValueError at load (shop.py:12)")
    two.call(27.0, 28.0, CallbackKind.ASSIGNED, {"orders": [0, 1]})
    two.note(33.0, "warning", budget="POLL", spent=4.5, limit=5.0, thread="poller", stack=["shop.py:9 in sell"])
    two.tell(40.0, S.STABLE)
    return [one.write(folder / "one.jsonl"), two.write(folder / "two.jsonl")]


def large_group(folder: Path, members: int = 50, partitions: int = 500, minutes: int = 60) -> list[Path]:
    """Every minute each member hands one of its partitions to the next."""
    each = partitions // members
    owned = [set(range(number * each, (number + 1) * each)) for number in range(members)]
    stories = [Story(f"worker-{number:02}") for number in range(members)]
    for story, mine in zip(stories, owned, strict=True):
        story.tell(0, S.JOINING).tell(1, S.STABLE, epoch=1)
        story.call(2, 3, CallbackKind.ASSIGNED, {"orders": sorted(mine)}, count=each)
    for minute in range(1, minutes):
        given = [min(mine) for mine in owned]
        for number, story in enumerate(stories):
            owned[number].remove(given[number])
            story.call(60 * minute, 60 * minute + 1, CallbackKind.REVOKED, {"orders": sorted(owned[number])})
        for number, story in enumerate(stories):
            owned[number].add(given[number - 1])
            story.call(60 * minute + 3, 60 * minute + 4, CallbackKind.ASSIGNED, {"orders": sorted(owned[number])})
    return [story.write(folder / f"{number}.jsonl") for number, story in enumerate(stories)]
