"""One instance of the program under test, with what the kit needs of a process."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaException

from membership_client.arguments import checked_mapping, shown, with_dots
from membership_client.consumer.keys import KEYS
from membership_client.consumer.settings import settings_of
from membership_client.errors import ConfigError, MembershipError
from membership_client.runtime.siblings import Siblings
from membership_client.testing.kit.history import What
from membership_client.testing.kit.membership import VirtualMembership
from membership_client.testing.kit.message import VirtualMessage
from membership_client.testing.kit.recorded_listener import RecordedListener, recorded_listener
from membership_client.testing.kit.recorder import Recorder
from membership_client.testing.kit.scheduler import Task
from membership_client.testing.kit.virtual_aio_consumer import VirtualAioConsumer
from membership_client.testing.kit.virtual_consumer import VirtualConsumer
from membership_client.testing.kit.virtual_loop import VirtualLoop
from membership_client.testing.kit.virtual_transport import VirtualTransport
from membership_client.types import TopicPartition

if TYPE_CHECKING:
    from membership_client.testing.kit.world import World

_LONGEST_WORK_S = 0.3
_LONGEST_FETCH_S = 0.02


class Instance:
    """The argument of a program. It makes consumers, takes reports of processed records, and has data that outlives the program.

    `durable` is one dict for all instances of a run, for data that a crash does not destroy, such as that of a database.
    """

    def __init__(self, world: World, name: str, incarnation: int) -> None:
        self.name = name
        self.config: dict[str, Any] = {
            "bootstrap.servers": ",".join(f"{node.host}:{node.port}" for node in world.cluster.nodes),
            "group.id": world.group_id,
            "group.protocol": "consumer",
            "request.timeout.ms": 2000,
        }
        """The configuration for a `GroupMember` that the program makes itself."""
        self.durable: dict[str, Any] = world.history.durable
        self._world = world
        self.label = name if incarnation == 1 else f"{name}.{incarnation}"
        self._consumers: list[VirtualConsumer | VirtualAioConsumer] = []
        self._members: list[VirtualTransport] = []
        self.siblings = Siblings()
        self._recorder = Recorder(self.label, world.add_for, self._released)
        self.interrupted = False
        self.is_cancelled = False
        self._killed = False
        self._task: Task | None = None

    # --- for programs ------------------------------------------------------------------------------------------------

    def consumer(self, config: Mapping[str, Any] | None = None) -> VirtualConsumer:
        """A consumer with the methods of `confluent_kafka.Consumer`, in virtual time. Keys about brokers are ignored."""
        consumer = VirtualConsumer(self._world, self.label, self._consumer_config(config), self)
        self._consumers.append(consumer)
        return consumer

    def aio_consumer(self, config: Mapping[str, Any] | None = None) -> VirtualAioConsumer:
        """A consumer with the methods of `membership_client.aio.Consumer`, in virtual time. For a coroutine of the program."""
        consumer = VirtualAioConsumer(self._world, self.label, self._consumer_config(config), self)
        self._consumers.append(consumer)
        return consumer

    def _consumer_config(self, config: Mapping[str, Any] | None) -> dict[str, Any]:
        """The configuration of a consumer. ConfigError for keys and values that a real consumer would refuse."""
        given = {**self.config, "auto.offset.reset": "earliest", **checked_mapping("config", config or {})}
        unknown = [name for name in settings_of(given).fetcher if name not in KEYS]
        if unknown:
            raise ConfigError(f"{shown(unknown[0])} is not a key of a consumer: see docs/configuration.md.")
        return with_dots(given, KEYS)

    def listener(self, listener: object) -> RecordedListener:
        """Wraps the listener so that its callbacks are in the history. For a `GroupMember` that the program makes with `config`."""
        return recorded_listener(listener, self._recorder)

    def read(self, partition: TopicPartition, offset: int) -> VirtualMessage | None:
        """The record at that position; None if there is none yet. For programs that use a `GroupMember`."""
        scheduler = self._world.scheduler
        scheduler.wait(timeout_s=scheduler.random.uniform(0.0, _LONGEST_FETCH_S))
        record = self._world.readable(partition, offset)
        return None if record is None else VirtualMessage(record)

    def check_interrupt(self) -> None:
        """Raises KeyboardInterrupt, once, when the instance is told to end. For loops that do not use `consumer`."""
        if self.interrupted:
            self.interrupted = False
            raise KeyboardInterrupt

    def processed(self, message: Any) -> None:
        """Report that the effect of this record is final, such as a write to a database. Takes a moment of virtual time."""
        scheduler = self._world.scheduler
        if message.topic() is None:
            raise ValueError("A message without a topic is an error event: look at message.error() first.")
        partition = TopicPartition(message.topic(), message.partition())
        if not self._world.has_record(partition, message.offset()):
            raise ValueError(f"There is no record {partition}@{message.offset()} in this run.")
        scheduler.wait(timeout_s=scheduler.random.uniform(0.0, _LONGEST_WORK_S))
        self._world.add(What.PROCESSED, self.label, partitions=(partition,), offset=message.offset())

    # --- for the world -----------------------------------------------------------------------------------------------

    @property
    def alive(self) -> bool:
        return self._task is not None and not self._task.done and not self._killed

    def start(self, program: Callable[[Instance], object]) -> None:
        self._world.add(What.STARTED, self.label)
        self._task = self._world.scheduler.spawn(self.label, self, lambda: self._run(program))

    def _run(self, program: Callable[[Instance], object]) -> None:
        try:
            if inspect.iscoroutinefunction(program):
                self.is_cancelled = True
                asyncio.run(self._until_told(program))
            else:
                program(self)
        except (KeyboardInterrupt, asyncio.CancelledError):
            pass
        except SystemExit as error:
            if error.code:
                raise
        except Exception as error:
            if not _is_passing(error):
                raise
            self._world.add(What.RAISED, self.label, text=repr(error))
            self._world.start_again(self.name)
        self._world.add(What.ENDED, self.label)
        self.kill()

    async def _until_told(self, program: Callable[[Instance], Coroutine[Any, Any, object]]) -> None:
        """As `asyncio.run` does with Ctrl-C, an interrupt cancels the program."""
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        running, told = loop.create_task(program(self)), loop.create_task(loop.until(lambda: self.interrupted))
        await asyncio.wait({running, told}, return_when=asyncio.FIRST_COMPLETED)
        told.cancel()
        if not running.done():
            self.interrupted = False
            running.cancel()
        await running

    def interrupt(self) -> None:
        """Let the waiting or the next poll raise KeyboardInterrupt. A program of coroutines is cancelled."""
        self.interrupted = True

    def is_idle(self) -> bool:
        """Whether its consumers wait for records in vain, and no callback of its own members runs."""
        open_ones = (consumer for consumer in self._consumers if consumer.membership.alive)
        return not self._recorder.is_in_callback and all(consumer.is_idle() for consumer in open_ones)

    def add_member(self, transport: VirtualTransport) -> VirtualTransport:
        self._members.append(transport)
        return transport

    def _released(self, label: str, partitions: tuple[TopicPartition, ...]) -> None:
        self._world.released(label, [one.known_as for one in self._members], partitions)

    def kill(self) -> None:
        self._killed = True
        for member in self._members:
            member.kill()
        for consumer in self._consumers:
            consumer.abandon()
        self._world.scheduler.kill(self)

    def stall(self, seconds: float) -> None:
        until = self._world.scheduler.now + seconds
        for task in self._world.scheduler.tasks:
            if task.owner is self:
                task.stalled_until = until
        for membership in self.memberships():
            membership.stall(until)

    def lose_answer(self) -> None:
        for membership in self.memberships():
            membership.answers_to_lose += 1

    def memberships(self) -> Iterator[VirtualMembership | VirtualTransport]:
        every: list[VirtualMembership | VirtualTransport] = [
            *(one.membership for one in self._consumers),
            *self._members,
        ]
        return (membership for membership in every if membership.alive)


def _is_passing(error: Exception) -> bool:
    """Whether platforms would start a program again after this error, or after all errors of this exception group."""
    if isinstance(error, ExceptionGroup):
        return all(map(_is_passing, error.exceptions))
    return isinstance(error, KafkaException | MembershipError) and not isinstance(error, ConfigError)
