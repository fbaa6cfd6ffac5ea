"""A consumer in virtual time, with the methods of `confluent_kafka.Consumer`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Protocol, Self

from confluent_kafka import TopicPartition as TheirPartition

from membership_client.testing.kit.consumer_in_run import ConsumerInRun
from membership_client.testing.kit.message import VirtualMessage
from membership_client.testing.kit.waits import ThreadWaits, run_at_once

if TYPE_CHECKING:
    from membership_client.testing.kit.world import World


class Process(Protocol):
    """The process of the consumer, with what the consumer must know of it."""

    interrupted: bool
    is_cancelled: bool
    """Whether the process is told to end by a cancellation, and not by KeyboardInterrupt."""

    def check_interrupt(self) -> None:
        """Raise KeyboardInterrupt if the process was told to end."""


class VirtualConsumer(ConsumerInRun):
    """A consumer that `Instance.consumer` makes. Callbacks run inside `poll`, `consume` and `close`."""

    def __init__(self, world: World, label: str, config: dict[str, Any], process: Process) -> None:
        super().__init__(world, ThreadWaits(world.scheduler), label, config)
        self._process = process

    def unsubscribe(self) -> None:
        run_at_once(self._unsubscribe())

    def poll(self, timeout: float = -1) -> VirtualMessage | None:
        """The next record, or None after `timeout`. Raises KeyboardInterrupt when the instance is told to end."""
        return run_at_once(self._poll(timeout))

    def consume(self, num_messages: int = 1, timeout: float = -1) -> list[VirtualMessage]:
        return run_at_once(self._consume(num_messages, timeout))

    def __iter__(self) -> Iterator[VirtualMessage]:
        while True:
            if (message := self.poll(1.0)) is not None:
                yield message

    def commit(
        self,
        message: Any = None,
        offsets: Iterable[TheirPartition] | None = None,
        asynchronous: bool = True,
    ) -> list[TheirPartition] | None:
        return run_at_once(self._commit(message, offsets, asynchronous=asynchronous))

    def committed(
        self,
        partitions: Iterable[TheirPartition],
        timeout: float = 10.0,  # noqa: ARG002 - the virtual broker always answers
    ) -> list[TheirPartition]:
        return run_at_once(self._committed(partitions))

    def close(self) -> None:
        run_at_once(self._close())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _is_told(self) -> bool:
        return self._process.interrupted and not self._closed

    def _check_interrupt(self) -> None:
        if not self._closed:
            self._process.check_interrupt()
