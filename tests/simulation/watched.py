"""Compares what `membership-client watch` shows of a simulated group with the state of its coordinator, look by look."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from membership_client.admin.commands.group_text import lines
from membership_client.admin.views import GroupView, MemberView
from membership_client.admin.waiting import WaitWatch
from membership_client.partitions import Partitions
from membership_client.testing.fake_group import FakeGroup
from membership_client.testing.fake_reconciler import Enrolled
from membership_client.types import TopicPartition
from tests.simulation.director import direct
from tests.simulation.script import Script
from tests.simulation.world import GROUP, Checker, World

_LOOK_S = 2.0
_WAIT = re.compile(
    r"(?:The group waits|(?P<who>.+?) waits?) for (?P<whom>\S+)(?: \(h\))? "
    r"(?P<what>to release|to come back, and meanwhile no member works on|to take note of the newest epoch)"
    r"(?:, and then work on|, and perhaps(?P<perhaps> to release))?(?: (?P<places>\S.*?))?(?:, seen for (?P<seconds>\d+) s)?\."
)


def watch_complaints(script: Script) -> list[str]:
    """The errors in what `watch` shows; none for a classic group, whose coordinator does not tell these facts."""
    if script.classic:
        return []
    watched = _Watched()
    world = World(script, [watched])
    direct(world)
    world.run_until(script.calm_at)
    return watched.found


class _Watched(Checker):
    """Looks at the group every two seconds."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self._watch = WaitWatch()
        self._next_look = 0.0
        self._since: dict[tuple[str, int, str], float] = {}
        """When the coordinator began to wait for what a member still has to do, at which epoch: as seen by looks."""

    def happened(self, world: World) -> None:
        group = world.cluster.groups.group(GROUP)
        if group is None or world.now < self._next_look:
            return
        self._next_look = world.now + _LOOK_S
        books = _Books(group, {topic.topic_id: topic.name for topic in world.cluster.topics})
        shown = lines(self._watch.see(books.view(), world.now))
        due = books.due()
        self._since = {key: self._since.get(key, world.now) for key in due}
        self.found += [f"watch at {world.now:.3f} s: {text}" for text in self._wrong(books, shown, world.now)]

    def _wrong(self, books: _Books, shown: list[str], now: float) -> Iterator[str]:
        head = next(number for number, line in enumerate(shown) if line.startswith("MEMBER "))
        end = shown.index("", head)
        table, waits = shown[head + 1 : end], shown[end + 1 :]
        if table != [row for name in sorted(books.members) if (row := books.row(name, table))]:
            yield f"the members are {sorted(books.members)}, shown are {table}"
        yield from self._wrong_waits(books, waits, now)

    def _wrong_waits(self, books: _Books, waits: list[str], now: float) -> Iterator[str]:
        due, told = books.due(), set[str]()
        for line in waits:
            if line == "The group waits for no member.":
                continue
            said = _WAIT.fullmatch(line)
            if said is None:
                yield f"no reader knows {line}"
                continue
            whom, places = said["whom"], set(_places(said["places"] or ""))
            told.add(whom)
            mine = [key for key in due if key[0] == whom]
            if not mine:
                yield f"{whom} has nothing to do, and it says: {line}"
                continue
            if said["what"] == "to release" and not places <= books.releasable(whom):
                yield f"{whom} has only {sorted(books.releasable(whom))} to release: {line}"
            wanting = books.wanting(whom, places) if "to release" in line else set()
            if set(filter(None, (said["who"] or "").split(", "))) != wanting:
                yield f"{sorted(wanting)} get it: {line}"
            if said["perhaps"] and places & books.held():
                yield f"others are shown to have {sorted(places & books.held())}: {line}"
            longest_s = now - min(self._since[key] for key in mine)
            if float(said["seconds"] or 0) > longest_s + 0.5:
                yield f"it has lasted for {longest_s:.1f} s: {line}"
        yield from (f"nothing is said of {name}" for name in {key[0] for key in due} - told)


class _Books:
    """The state of the coordinator, by the names that `watch` gives to members."""

    def __init__(self, group: FakeGroup, topics: dict[object, str]) -> None:
        self._group, self._topics = group, topics
        self.members = {self._name(member): member for member in group.members.values()}

    @staticmethod
    def _name(member: Enrolled) -> str:
        return member.instance_id or f"{member.member_id}@h"

    def view(self) -> GroupView:
        members = [
            MemberView(
                member_id=member.member_id,
                instance_id=member.instance_id,
                client_id=member.member_id,
                host="/h",
                epoch=member.epoch,
                current=frozenset(self._named(member.known_to_hold)),
                target=frozenset(self._named(self._target(member))),
            )
            for _, member in sorted(self.members.items())
        ]
        group = self._group
        return GroupView(
            group_id=GROUP,
            protocol="consumer",
            state="Stable",
            epoch=group.epoch,
            assignment_epoch=group.target_epoch,
            assignor="uniform",
            members=tuple(members),
        )

    def row(self, name: str, table: Iterable[str]) -> str | None:
        """The line of that member, if its cells are right."""
        member = self.members[name]
        held, target = set(self._named(member.known_to_hold)), set(self._named(self._target(member)))
        for line in table:
            cells = re.split(r"  +", line)
            if cells[0] == name and cells[1] == member.member_id:
                epoch = "left" if member.epoch == -2 else str(member.epoch)
                should = held if cells[5] == "the same" else set(_places(cells[5]))
                right = cells[3] == epoch and set(_places(cells[4])) == held and should == target
                return line if right else None
        return None

    def due(self) -> set[tuple[str, int, str]]:
        """Members from which something is awaited, at which epoch, and what."""
        found = set[tuple[str, int, str]]()
        for name, member in self.members.items():
            if member.epoch == -2:
                found.add((name, member.epoch, "return"))
            elif self.releasable(name) or member.epoch < self._group.target_epoch:
                found.add((name, member.epoch, "act"))
        return found

    def releasable(self, name: str) -> set[TopicPartition]:
        member = self.members[name]
        return set(self._named(member.known_to_hold)) - set(self._named(self._target(member)))

    def held(self) -> set[TopicPartition]:
        """By any member."""
        return {place for member in self.members.values() for place in self._named(member.known_to_hold)}

    def wanting(self, holder: str, places: set[TopicPartition]) -> set[str]:
        """Other members whose target has one of these partitions."""
        others = (name for name in self.members if name != holder)
        return {name for name in others if set(self._named(self._target(self.members[name]))) & places}

    def _target(self, member: Enrolled) -> Partitions | tuple[()]:
        return self._group.targets.get(member.member_id) or ()

    def _named(self, partitions: Iterable[tuple[object, int]]) -> Iterator[TopicPartition]:
        return (TopicPartition(self._topics[topic], number) for topic, number in partitions if topic in self._topics)


def _places(text: str) -> Iterator[TopicPartition]:
    """The partitions in a text such as `bills[0] orders[0-3,7]`."""
    for topic, numbers in re.findall(r"(\S+)\[([\d,-]+)\]", text):
        for part in numbers.split(","):
            first, _, last = part.partition("-")
            yield from (TopicPartition(topic, number) for number in range(int(first), int(last or first) + 1))
