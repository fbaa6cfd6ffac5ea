"""A group that assigns, revokes and loses, threads that poll, hold and close, and the rules that hold at every moment."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, cast

import confluent_kafka

from membership_client.consumer import bridge, callback_queue, fetch_assignment, handing_out, librdkafka, poll_loop
from membership_client.consumer.bridge import Phase
from membership_client.consumer.buffer import place_of
from membership_client.consumer.callback_queue import Call, CallbackQueue
from membership_client.consumer.fetch_assignment import FetchAssignment
from membership_client.consumer.handing_out import HandingOut
from membership_client.consumer.librdkafka import Librdkafka, Reports
from membership_client.consumer.monitor import Inside, LibrdkafkaLock, Monitor
from membership_client.consumer.pending_offsets import PendingOffsets
from membership_client.consumer.poll_loop import PollLoop
from membership_client.core.events import CallbackKind, CallbackReturned, RunCallback
from membership_client.errors import MemberClosedError, NotOwnedError
from membership_client.runtime.listener import CallbackContext
from membership_client.types import Cause, CauseKind, Offset, TopicPartition
from tests.consumer.simulation.librdkafka import TOPIC, Record, SimLibrdkafka
from tests.consumer.simulation.scheduler import ScheduleError, Scheduler, SimLock

WATCHED = [
    module.__file__ or "" for module in (bridge, callback_queue, fetch_assignment, handing_out, librdkafka, poll_loop)
]
PARTITIONS = 4
_CAUSE = Cause(CauseKind.JOINED, "")


class HookError(Exception):
    """What an application's callback raises."""


@dataclass
class Ownership:
    """Of one partition, by the numbers of events: when it began and ended, and where reading starts."""

    began: int
    start: int
    ended: int | None = None


@dataclass
class Judge:
    """Records which partitions were owned when, and which records were handed out. Raises ScheduleError when a rule is broken."""

    scheduler: Scheduler
    owned: dict[int, list[Ownership]] = field(default_factory=lambda: defaultdict(list))
    handed: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    committed: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    taken_at: dict[tuple[int, int], int] = field(default_factory=dict)
    ran: set[int] = field(default_factory=set)

    def hand_out(self, record: Record) -> None:
        """Note the moment at which a record leaves the buffer, or librdkafka's lock."""
        number, offset = record.place
        self.taken_at[record.place] = self.scheduler.tick()
        self.handed[number].add(offset)

    def take_back(self, record: Record) -> None:
        self.handed[record.place[0]].discard(record.place[1])

    def receive(self, record: Record) -> None:
        """The application got the record: check that its partition was owned when it left the buffer."""
        number, _ = record.place
        at = self.taken_at[record.place]
        if not any(one.began < at and (one.ended is None or at < one.ended) for one in self.owned[number]):
            raise ScheduleError(f"record {record.place} was handed out while its partition was not owned")

    def commit(self, number: int, offset: int) -> None:
        """Check that only records that were handed out are committed."""
        ownership = self.owned[number][-1]
        missing = [at for at in range(ownership.start, offset) if at not in self.handed[number]]
        if missing:
            raise ScheduleError(f"partition {number} was committed up to {offset}, but {missing} were not handed out")
        if offset < self.committed[number]:
            raise ScheduleError(f"partition {number} was committed back from {self.committed[number]} to {offset}")
        self.committed[number] = offset

    def begin(self, call: RunCallback) -> None:
        """A callback of the application begins."""
        if call.call_id in self.ran:
            raise ScheduleError(f"callback {call.call_id} ran twice")
        if self.scheduler.running in {"membership", "offsets"}:
            raise ScheduleError(f"callback {call.call_id} ran on the thread {self.scheduler.running}")
        self.ran.add(call.call_id)
        if call.kind is not CallbackKind.ASSIGNED:
            for partition in call.partitions:
                self.owned[partition.partition][-1].ended = self.scheduler.tick()


class SimCommitter:
    """Commits at once, as the group would: not what was lost."""

    def __init__(self, judge: Judge, is_lost: Callable[[int], bool]) -> None:
        self._judge = judge
        self._is_lost = is_lost

    def commit_and_wait(self, offsets: dict[TopicPartition, Offset], _timeout_s: float) -> NotOwnedError | None:
        for partition, offset in offsets.items():
            if self._is_lost(partition.partition):
                return NotOwnedError("Not owned any more.")
            self._judge.commit(partition.partition, offset.offset)
        return None


class SimConsumer(HandingOut):
    """The product's own poll(), consume(), callbacks and assignment; librdkafka and the member are simulated."""

    def __init__(self, scheduler: Scheduler, judge: Judge) -> None:
        self.scheduler = scheduler
        self.judge = judge
        self.group = SimGroup(self)
        self.closes: list[str] = []
        self.can_start_threads = True
        inside = Inside()
        raw = SimLibrdkafka(scheduler)
        self.librdkafka = Librdkafka(
            cast(Any, raw), LibrdkafkaLock(inside, SimLock(scheduler), scheduler.sleep), Reports()
        )
        self._watch_buffer()
        self.queue = CallbackQueue(self.group.prepare, Monitor(inside, SimLock(scheduler)), scheduler.clock)
        self.queue.start_hold_thread = self._start_hold_thread
        self.librdkafka.may_read = self.queue.may_read
        self.loop = PollLoop(self.librdkafka, self.queue, self, inside, clock=scheduler.clock)
        self.pending = PendingOffsets(self.librdkafka.position, auto_store=True)
        committer = cast(Any, SimCommitter(judge, self.group.is_lost))
        self.assignment = FetchAssignment(self.librdkafka, self.pending, committer, _settings())
        self._hand_out(self.librdkafka, self.queue, self.loop)
        self._consume_raw = cast(Any, functools.partial(self._consume_directly, raw))

    def _watch_buffer(self) -> None:
        buffer, judge = self.librdkafka.buffer, self.judge
        take, put, put_back, withhold_all = buffer.take, buffer.put, buffer.put_back, buffer.withhold

        def watched_take() -> Any:
            record = take()
            judge.hand_out(cast(Any, record))
            return record

        def taking_back(records: Any) -> list[Any]:
            found = list(records)
            for record in found:
                judge.take_back(record)
            return found

        def withhold(partitions: Any) -> None:
            """Also what a thread has gathered, which leaves its batch."""
            places = list(partitions)
            for record in chain.from_iterable(buffer._batches):
                if place_of(record) in places:
                    judge.take_back(cast(Any, record))
            withhold_all(places)

        buffer.take = watched_take
        cast(Any, buffer).withhold = withhold
        cast(Any, buffer).put = lambda records: put(taking_back(records))
        cast(Any, buffer).put_back = lambda records: put_back(taking_back(records))

    def _consume_directly(self, raw: SimLibrdkafka, count: int, timeout_s: float) -> list[Record]:
        records = raw.consume(count, timeout_s)
        for record in records:
            self.judge.hand_out(record)
        return records

    def _start_hold_thread(self) -> None:
        if self.can_start_threads:
            self.scheduler.spawn("beside a hold", self.queue.serve_during_hold)

    # --- Surroundings ------------------------------------------------------------------------------------------------

    def on_visit(self) -> None:
        """Nothing has to be done."""

    def note_poll(self) -> None:
        """Polls are not counted here."""

    def is_certain(self) -> bool:
        return not self.group.fenced

    def certain_until(self) -> float:
        return 0.0 if self.group.fenced else float("inf")

    def is_settled(self) -> bool:
        return self.queue.call is None

    def close_as_asked(self) -> None:
        self._close()

    # --- closing, as Consumer.close() ----------------------------------------------------------------------------------

    def close(self) -> None:
        before, after = self.queue.begin_close(later=threading.get_ident() in self._inside)
        if before.phase in {Phase.OPEN, Phase.CLOSE_ASKED} and after.phase is Phase.CLOSING:
            self._close()

    def _close(self) -> None:
        self.group.closing = True
        with contextlib.suppress(HookError):
            self.queue.await_end(lambda seconds: self.scheduler.wait(lambda: self.group.ended, seconds), 1000.0)
        if not self.group.ended:
            raise ScheduleError("the group did not end")
        self.queue.end_close()


class SimGroup:
    """The membership thread, its group, and the thread that looks offsets up."""

    def __init__(self, consumer: SimConsumer) -> None:
        self.closing = False
        self.ended = False
        self.fenced = False
        self._consumer = consumer
        self._owned: set[int] = set()
        self._lookups: list[Call] = []
        self._returned: CallbackReturned | None = None
        self._call_id = 0

    def is_lost(self, number: int) -> bool:
        return self.fenced or number not in self._owned

    # --- the membership thread -----------------------------------------------------------------------------------------

    def live(self) -> None:
        scheduler = self._consumer.scheduler
        while not (self.closing and not self._owned):
            scheduler.wait(lambda: self.closing, scheduler.random.choice([0.0, 0.1, 1.0]))
            for kind, numbers in self._change():
                self._call(kind, numbers)
        self.ended = True

    def _change(self) -> Iterator[tuple[CallbackKind, set[int]]]:
        chance = self._consumer.scheduler.random
        free = set(range(PARTITIONS)) - self._owned
        if self._owned and chance.random() < 0.2:
            self._fence()
            yield CallbackKind.LOST, set(self._owned)
        elif self._owned and (self.closing or chance.random() < 0.5):
            some = chance.sample(sorted(self._owned), chance.randint(1, len(self._owned)))
            yield CallbackKind.REVOKED, self._owned.copy() if self.closing else set(some)
        elif free and not self.closing:
            yield CallbackKind.ASSIGNED, set(chance.sample(sorted(free), chance.randint(1, len(free))))

    def _fence(self) -> None:
        self.fenced = True
        self._consumer.queue.shut_gate()

    def _call(self, kind: CallbackKind, numbers: set[int]) -> None:
        scheduler, queue = self._consumer.scheduler, self._consumer.queue
        self._call_id += 1
        self._returned = None
        partitions = tuple(TopicPartition(TOPIC, number) for number in sorted(numbers))
        call = RunCallback(
            call_id=self._call_id,
            kind=kind,
            partitions=partitions,
            epoch=1,
            cause=_CAUSE,
            deadline=None,
            provisional=False,
        )
        queue.run(call, functools.partial(self._note_return, call))
        if not scheduler.wait(lambda: self._returned is not None, scheduler.random.choice([0.5, 1000.0])):
            self._fence()
            queue.tell_lost(call.call_id)
            if not scheduler.wait(lambda: self._returned is not None, 10_000.0):
                raise ScheduleError(f"callback {call.call_id} never returned: {queue.bridge}")
        if kind is not CallbackKind.LOST and self.fenced and self._owned:
            self._call(CallbackKind.LOST, set(self._owned))
        self.fenced = False

    def _note_return(self, call: RunCallback, event: CallbackReturned) -> None:
        """Like the member: ownership begins and ends when the callback has returned."""
        numbers = {partition.partition for partition in call.partitions}
        if call.kind is not CallbackKind.ASSIGNED:
            self._owned -= numbers
        elif event.error is None:
            self._owned |= numbers
            at = self._consumer.scheduler.tick()
            for number in numbers:
                self._consumer.judge.owned[number].append(Ownership(at, self._consumer.judge.committed[number]))
        self._returned = event

    # --- callbacks -----------------------------------------------------------------------------------------------------

    def prepare(self, call: Call) -> None:
        if call.wanted.kind is CallbackKind.ASSIGNED:
            self._lookups.append(call)
        else:
            self._consumer.queue.ready(call, functools.partial(self._take_away, call))

    def look_up(self) -> None:
        """The thread that looks offsets up."""
        scheduler = self._consumer.scheduler
        while scheduler.wait(lambda: bool(self._lookups) or self.ended) and self._lookups:
            call = self._lookups.pop()
            scheduler.sleep(scheduler.random.choice([0.0, 0.05]))
            committed = self._consumer.judge.committed
            starts = {partition: Offset(committed[partition.partition]) for partition in call.wanted.partitions}
            assign = functools.partial(self._consumer.assignment.assigned, call, starts, starts, self._hook(call))
            self._consumer.queue.ready(call, assign)

    def _take_away(self, call: Call) -> None:
        if call.wanted.kind is CallbackKind.REVOKED and not call.context.lost:
            beside_hold = bool(self._consumer.queue.bridge.holds)
            self._consumer.assignment.revoked(call, self._hook(call), commit=not beside_hold)
        else:
            self._consumer.assignment.lost(call, self._hook(call))

    def _hook(self, call: Call) -> Callable[[tuple[TopicPartition, ...], CallbackContext], None]:
        def hook(_partitions: tuple[TopicPartition, ...], _context: CallbackContext) -> None:
            scheduler, consumer = self._consumer.scheduler, self._consumer
            consumer.judge.begin(call.wanted)
            scheduler.sleep(scheduler.random.choice([0.0, 0.0, 0.3]))
            match scheduler.random.randrange(12):
                case 0:
                    raise HookError
                case 1:
                    if (record := consumer.poll(0.05)) is not None:
                        consumer.judge.receive(cast(Any, record))
                case 2 if "callback" in consumer.closes:
                    consumer.close()

        return hook


class Poller:
    """A thread of the application's."""

    def __init__(self, consumer: SimConsumer) -> None:
        self._consumer = consumer
        self._chance = consumer.scheduler.random

    def live(self) -> None:
        """Until the consumer is closed."""
        while True:
            try:
                self._act()
            except HookError:
                continue
            except MemberClosedError:
                return

    def _act(self) -> None:
        match self._chance.randrange(5):
            case 0 | 1:
                self._receive([self._consumer.poll(self._chance.choice([0.0, 0.2, 5.0]))])
            case 2 | 3:
                self._receive(self._consumer.consume(self._chance.randint(1, 5), self._chance.choice([0.0, 0.2, 5.0])))
            case _:
                self._hold()

    def _hold(self) -> None:
        held = frozenset({TopicPartition(TOPIC, self._chance.randrange(PARTITIONS))})
        with self._consumer.loop.hold(self._chance.choice([held, None])):
            self._consumer.scheduler.sleep(self._chance.choice([0.0, 1.0]))

    def _receive(self, records: list[Any]) -> None:
        for record in records:
            if record is not None:
                self._consumer.judge.receive(record)


def _settings() -> Any:
    """As much of the settings as an assignment looks at."""

    class Member:
        callback_errors = "raise"

    class Settings:
        start = confluent_kafka.OFFSET_BEGINNING
        member = Member

    return Settings
