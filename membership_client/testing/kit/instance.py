"""One running copy of the program under test: its process, as far as the kit needs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaException

from membership_client.testing.kit.history import What
from membership_client.testing.kit.membership import Membership
from membership_client.testing.kit.scheduler import Task
from membership_client.testing.kit.virtual_consumer import VirtualConsumer
from membership_client.types import TopicPartition

if TYPE_CHECKING:
    from membership_client.testing.kit.world import World

_LONGEST_WORK_S = 0.3


class Instance:
    """What a program gets: its consumer, the place to say what it has processed, and what outlives it.

    `durable` is one dict for all instances of a run: whatever a crash does not destroy, such as a database, belongs there.
    """

    def __init__(self, world: World, name: str, incarnation: int) -> None:
        self.name = name
        self.durable: dict[str, Any] = world.history.durable
        self._world = world
        self._label = name if incarnation == 1 else f"{name}.{incarnation}"
        self._consumers: list[VirtualConsumer] = []
        self.interrupted = False
        self._killed = False
        self._task: Task | None = None

    # --- for programs ------------------------------------------------------------------------------------------------

    def consumer(self, config: Mapping[str, Any] | None = None) -> VirtualConsumer:
        """A consumer with the methods of `confluent_kafka.Consumer`, in virtual time. Keys about brokers are ignored."""
        consumer = VirtualConsumer(self._world, self._label, {"auto.offset.reset": "earliest", **(config or {})}, self)
        self._consumers.append(consumer)
        return consumer

    def processed(self, message: Any) -> None:
        """The program has put the effect of this record where it cannot be taken back. Takes a moment of virtual time."""
        scheduler = self._world.scheduler
        if message.topic() is None:
            raise ValueError("A message without a topic is an error event: look at message.error() first.")
        scheduler.wait(timeout_s=scheduler.random.uniform(0.0, _LONGEST_WORK_S))
        partition = TopicPartition(message.topic(), message.partition())
        self._world.add(What.PROCESSED, self._label, partitions=(partition,), offset=message.offset())

    # --- for the world -----------------------------------------------------------------------------------------------

    @property
    def alive(self) -> bool:
        return self._task is not None and not self._task.done and not self._killed

    def start(self, program: Callable[[Instance], object]) -> None:
        self._world.add(What.STARTED, self._label)
        self._task = self._world.scheduler.spawn(self._label, self, lambda: self._run(program))

    def _run(self, program: Callable[[Instance], object]) -> None:
        try:
            program(self)
        except KeyboardInterrupt:
            pass
        except KafkaException as error:
            self._world.add(What.RAISED, self._label, text=repr(error))
            self._world.start_again(self.name)
        self._world.add(What.ENDED, self._label)
        self.kill()

    def interrupt(self) -> None:
        """The next poll raises KeyboardInterrupt, or the one that waits."""
        self.interrupted = True

    def take_interrupt(self) -> None:
        """Raises KeyboardInterrupt, once for each `interrupt`."""
        if self.interrupted:
            self.interrupted = False
            raise KeyboardInterrupt

    def kill(self) -> None:
        self._killed = True
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

    def memberships(self) -> Iterator[Membership]:
        return (consumer.membership for consumer in self._consumers if consumer.membership.alive)
