"""One run in virtual time: its records, brokers, instances of a program, and events."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from confluent_kafka import OFFSET_END

from membership_client.testing.fake_cluster import FakeCluster
from membership_client.testing.fake_coordinator import CoordinatorSettings
from membership_client.testing.kit.coordinator_view import GROUP, CoordinatorView
from membership_client.testing.kit.events import (
    Crash,
    ExpireSession,
    Fence,
    Join,
    Leave,
    LoseAnswer,
    MoveCoordinator,
    Stall,
    StoryEvent,
)
from membership_client.testing.kit.history import Entry, History, Record, What
from membership_client.testing.kit.instance import Instance
from membership_client.testing.kit.membership import HEARTBEAT_INTERVAL_S, SESSION_TIMEOUT_S
from membership_client.testing.kit.message import VirtualMessage
from membership_client.testing.kit.real_members import consumers_refused, members_of
from membership_client.testing.kit.records import partition_of
from membership_client.testing.kit.scheduler import Scheduler, StuckError, Task
from membership_client.testing.kit.threads import virtual_threads
from membership_client.types import Offset, TopicPartition

STORY_S = 10.0
"""The length of a story: events happen and records arrive in this time."""
SETTLE_S = 40.0
"""How long the group may take to settle after the last event: sessions end, and the program reads the rest."""
QUIET_S = HEARTBEAT_INTERVAL_S + 0.5
"""The group has settled when every member is stable, and nothing has happened for this long."""
CLOSE_S = 60.0
RESTART_S = 1.0
_GAP_S = 0.5

_KIT = str(Path(__file__).parent)

Program = Callable[[Instance], object]


class ProgramError(AssertionError):
    """The program, or one of its threads, raised. `entry` is the last relevant entry of the history."""

    def __init__(self, text: str, entry: Entry) -> None:
        super().__init__(text)
        self.entry = entry


class World:
    """The state of one run. Each run has a new one."""

    group_id = GROUP

    def __init__(
        self, program: Program, seed: int, topic: str, partitions: int, records: Sequence[tuple[bytes, bytes]]
    ) -> None:
        self.scheduler = Scheduler(seed)
        settings = CoordinatorSettings(
            heartbeat_interval_s=HEARTBEAT_INTERVAL_S, session_timeout_s=SESSION_TIMEOUT_S, assignment_interval_s=0.0
        )
        self.cluster = FakeCluster({topic: partitions}, settings)
        self.group = CoordinatorView(self.cluster)
        self.scheduler.on_time = lambda: self.cluster.advance(self.scheduler.now)
        self.history = History()
        self.logs: dict[TopicPartition, list[Record]] = {TopicPartition(topic, n): [] for n in range(partitions)}
        self.offsets: dict[TopicPartition, Offset] = {}
        self.instances: list[Instance] = []
        self.member_ids: list[str] = []
        self.scheduler.on_raised = self._raised
        self.programs: dict[str, Program] = {}
        """The programs of instances that do not run the program of the run."""
        self.unsettled = ""
        """Why the run ended before the program had settled, if it did."""
        self.errors: list[AssertionError] = []
        """Exceptions of programs, except temporary errors of Kafka, and other faults of programs."""
        self.is_closing = False
        self._story_ended_at = 0.0
        self._program = program
        self._topic = topic
        for number, (key, value) in enumerate(records):
            self.add_record(key, value, max(0.0, (2 * number / len(records) - 1) * STORY_S))

    def add_record(self, key: bytes, value: bytes, at: float) -> None:
        """Add a record that can be read from that time on. Of a run's records half can be read at its beginning, the others during the story."""
        partition = TopicPartition(self._topic, partition_of(key, len(self.logs)))
        log = self.logs[partition]
        log.append(Record(partition, len(log), key, value, at))
        self.history.records.append(log[-1])

    # --- the run -----------------------------------------------------------------------------------------------------

    def run(self, story: Sequence[StoryEvent]) -> None:
        """Run the story, from the first instance to the end of the last one. AssertionError if one does not end, or raises."""
        stuck: StuckError | None = None
        self._story_ended_at = max([STORY_S, *(event.at + getattr(event, "for_s", 0.0) for event in story)])
        with self.in_virtual_time():
            try:
                self.start("a")
                for event in story:
                    self.scheduler.at(event.at, partial(self.do, event))
                self.scheduler.run(self._story_ended_at)
                self._keep_one_running()
                self.scheduler.run(self.scheduler.now + SETTLE_S, self.has_settled)
                self._note_unsettled()
                self.close()
            except StuckError as error:
                stuck = error
            finally:
                self.scheduler.end()
        if self.errors:
            raise self.errors[0]
        if stuck is not None:
            raise stuck

    @contextlib.contextmanager
    def in_virtual_time(self) -> Iterator[None]:
        """In its `with` block, programs use the threads, clocks and members of this run."""
        with virtual_threads(self.scheduler), members_of(self), consumers_refused(self):
            yield

    def _keep_one_running(self) -> None:
        """Start an instance whenever none runs, so that the remaining records are processed."""
        if not self.is_closing:
            if not any(instance.alive for instance in self.instances):
                self.start("last")
            self.scheduler.at(self.scheduler.now + RESTART_S, self._keep_one_running)

    def _note_unsettled(self) -> None:
        """Note why the program had not settled: a record that a check finds missing may only be late."""
        if self.has_settled():
            return
        if not any(entry.partitions for entry in self.history.of(What.ASSIGNED)):
            self.unsettled = f"No instance was assigned a partition: the program must subscribe to {self._topic!r}, and go on polling."
            return
        processed = len({(entry.partitions, entry.offset) for entry in self.history.of(What.PROCESSED)})
        busy = "it was still busy" if self._is_stable() else "its group was not stable"
        self.unsettled = (
            f"The program was told to end at {self.scheduler.now:.1f} s, {SETTLE_S:g} s after the last event, while {busy}. "
            f"It had processed {processed} of {len(self.history.records)} records. If it is slow, give it fewer records."
        )

    def has_settled(self) -> bool:
        """Whether nothing has happened for a while, because nothing is left to do."""
        last = max(self.history.entries[-1].at, self._story_ended_at)
        is_idle = self.scheduler.now >= last + QUIET_S and all(one.is_idle() for one in self.instances if one.alive)
        return is_idle and self._is_stable()

    def _is_stable(self) -> bool:
        """Whether every member is stable, and each partition has an owner that runs."""
        running = [one for instance in self.instances if instance.alive for one in instance.memberships()]
        owned = {partition for one in running for partition in one.owned()}
        return all(one.is_stable() for one in running) and owned == set(self.logs)

    def owners(self) -> set[str]:
        """The names of all instances with members, if the coordinator knows no others and all have reached their targets; else none."""
        running = {one: tuple(one.memberships()) for one in self.instances if one.alive}
        members = {one.known_as: one for found in running.values() for one in found}
        if set(members) != self.group.member_ids():
            return set()
        if not all(
            one.is_stable() and self.group.share(name) == frozenset(one.owned()) for name, one in members.items()
        ):
            return set()
        owned = {partition for one in members.values() for partition in one.owned()}
        return {one.name for one, found in running.items() if found} if owned == set(self.logs) else set()

    def close(self) -> None:
        """Tell all instances to end, and start no other. StuckError if one does not end."""
        self.is_closing = True
        self.end(self.instances)

    def end(self, instances: Sequence[Instance]) -> None:
        """Tell these instances to end. StuckError if one does not end."""
        for instance in instances:
            instance.interrupt()
        self.scheduler.run(self.scheduler.now + CLOSE_S, lambda: not any(one.alive for one in instances))
        if late := [one for one in instances if one.alive]:
            raise StuckError(self._not_ended(late[0]))

    def _not_ended(self, late: Instance) -> str:
        tasks = [task for task in self.scheduler.tasks if task.owner is late]
        end = "its cancellation" if late.is_cancelled else "KeyboardInterrupt"
        raised = "poll() could not raise KeyboardInterrupt yet" if late.interrupted else f"it goes on after {end}"
        waits = "".join(f"\n{task.name} waits here:\n{self.scheduler.where(task)}" for task in tasks)
        return f"Instance {late.label} does not end within {CLOSE_S:g} s after it was told to: {raised}.{waits}"

    def new_member_id(self, label: str) -> str:
        number = sum(one.partition("#")[0] == label for one in self.member_ids)
        self.member_ids.append(f"{label}#{number}")
        return self.member_ids[-1]

    def instance_of(self, owner: object) -> Instance | None:
        """The instance to which a task belongs."""
        return next((one for one in self.instances if one is owner), None)

    def start(self, name: str) -> None:
        incarnation = 1 + sum(instance.name == name for instance in self.instances)
        self.instances.append(Instance(self, name, incarnation))
        self.instances[-1].start(self.programs.get(name, self._program))

    def start_again(self, name: str) -> None:
        """Start the instance again a moment later, as platforms do with a process that has failed."""
        if not self.is_closing:
            self.scheduler.at(self.scheduler.now + RESTART_S, lambda: None if self.running(name) else self.start(name))

    def _raised(self, task: Task, error: BaseException) -> None:
        if isinstance(error, StuckError):
            self.errors.append(AssertionError(str(error)))
            return
        self.add(What.RAISED, task.name, text=repr(error))
        frames = traceback.format_list(
            one for one in traceback.extract_tb(error.__traceback__) if _KIT not in one.filename
        )
        entry = self.history.entries[-1]
        text = f"{task.name} raised {error!r} at {entry.at:.3f} s:\n{''.join(frames)}".strip()
        self.errors.append(ProgramError(text, entry))

    # --- events ------------------------------------------------------------------------------------------------------

    def do(self, event: StoryEvent) -> None:
        """Carry out the event now, whatever its time is."""
        instance = self.running(getattr(event, "name", ""))
        if isinstance(event, Join | MoveCoordinator) or instance is not None:
            self.add(What.EVENT, text=repr(event))
        if isinstance(event, MoveCoordinator):
            self._move_coordinator()
        elif isinstance(event, Join):
            if instance is not None:
                self.add(What.ENDED, instance.label, text="as with kill -9, because an instance of its name joins")
                instance.kill()
            self.start(event.name)
        elif instance is not None:
            self._do_to(instance, event)

    def _do_to(self, instance: Instance, event: Any) -> None:
        match event:
            case Leave():
                instance.interrupt()
            case Crash():
                instance.kill()
            case Stall():
                instance.stall(event.for_s)
            case LoseAnswer():
                instance.lose_answer()
            case Fence() | ExpireSession():
                for membership in instance.memberships():
                    why = "fenced by the test" if isinstance(event, Fence) else "its session expired"
                    self.cluster.groups.expel(GROUP, membership.known_as, self.scheduler.now, why)
                    if isinstance(event, Fence):
                        membership.fence()

    def _move_coordinator(self) -> None:
        cluster = self.cluster
        if cluster.coordinator is None:
            return
        following = cluster.nodes[cluster.coordinator.node_id % len(cluster.nodes)]
        cluster.coordinator = None
        self.scheduler.at(self.scheduler.now + _GAP_S, lambda: cluster.move(following, self.scheduler.now))

    def running(self, name: str) -> Instance | None:
        """The running instance of that name; None if there is none."""
        return next((one for one in reversed(self.instances) if one.name == name and one.alive), None)

    # --- the broker's side of records and offsets --------------------------------------------------------------------

    def has_record(self, partition: TopicPartition, offset: int) -> bool:
        return 0 <= offset < len(self.logs.get(partition, []))

    def readable(self, partition: TopicPartition, offset: int) -> Record | None:
        log = self.logs.get(partition, [])
        return log[offset] if 0 <= offset < len(log) and log[offset].at <= self.scheduler.now else None

    def first_since(self, partition: TopicPartition, timestamp_ms: int) -> int:
        """The offset of the first record at or after the time; OFFSET_END if there is none."""
        readable = (record for record in self.logs.get(partition, []) if record.at <= self.scheduler.now)
        young = (record.offset for record in readable if VirtualMessage(record).timestamp()[1] >= timestamp_ms)
        return next(young, OFFSET_END)

    def end_offset(self, partition: TopicPartition) -> int:
        return sum(record.at <= self.scheduler.now for record in self.logs.get(partition, []))

    def released(self, instance: str, member_ids: Iterable[str], partitions: tuple[TopicPartition, ...]) -> None:
        """Note that a revoke has returned. A member that the coordinator has removed has nothing to release."""
        if not self.group.member_ids().isdisjoint(member_ids):
            self.add(What.RELEASED, instance, partitions=partitions)

    def add_for(self, instance: str, what: What, **more: Any) -> None:
        """Add an entry for a Recorder."""
        self.add(what, instance, **more)

    def add(self, what: What, instance: str = "", **more: Any) -> None:
        self.history.add(Entry(self.scheduler.now, instance, what, **more))
