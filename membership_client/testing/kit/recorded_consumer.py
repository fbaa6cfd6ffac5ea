"""A real consumer of either library, with a history of its callbacks and commits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

from membership_client.consumer.hooks import Hook, hooks_of
from membership_client.runtime.listener import accepts
from membership_client.testing.kit.history import NO_CALLBACK, What, as_partitions
from membership_client.testing.kit.recorded_listener import recorded_listener
from membership_client.testing.kit.recorder import Recorder
from membership_client.types import TopicPartition

_SLICE_S = 0.05
"""How often a poll looks whether its program is told to end."""


class Recorded:
    """Passes calls on to the real consumer, and writes its callbacks and commits to the history."""

    _awaits = False
    """Whether callbacks may be coroutines."""

    def __init__(self, consumer: Any, recorder: Recorder) -> None:
        self._consumer = consumer
        self._recorder = recorder

    def __getattr__(self, name: str) -> Any:
        return getattr(self._consumer, name)

    def subscribe(
        self,
        topics: Iterable[str],
        on_assign: Hook | None = None,
        on_revoke: Hook | None = None,
        on_lost: Hook | None = None,
        *,
        listener: object | None = None,
    ) -> Any:
        # The real consumer gets functions of this class, so the application's callbacks are checked here.
        hooks_of(self, on_assign, on_revoke, on_lost, listener, coroutines=self._awaits)
        if listener is not None:
            return self._consumer.subscribe(topics, listener=recorded_listener(listener, self._recorder))
        return self._consumer.subscribe(
            topics,
            on_assign=self._hook(What.ASSIGNED, on_assign),
            on_revoke=self._hook(What.REVOKED, on_revoke),
            on_lost=self._hook(What.LOST, on_lost or on_revoke),
        )

    def _hook(self, what: What, hook: Hook | None) -> Hook:
        """The function that the real consumer calls instead of the application's callback."""
        raise NotImplementedError

    def _record_commit(self, message: Any, offsets: Any) -> None:
        for partition, offset in _offsets_of(message, offsets):
            self._recorder.add(What.COMMIT_SENT, partitions=(partition,), offset=offset)


class RecordedConsumer(Recorded):
    """A consumer whose `subscribe`, `commit` and polls also write the history."""

    def __init__(self, consumer: Any, recorder: Recorder, check_interrupt: Callable[[], None]) -> None:
        super().__init__(consumer, recorder)
        self._check_interrupt = check_interrupt

    def _hook(self, what: What, hook: Hook | None) -> Hook:
        """A function that takes as many arguments as the application's callback."""
        if hook is None or accepts(hook, 2):
            return lambda _, partitions: self._call(what, partitions, hook, self, partitions)
        return lambda _, partitions, context: self._call(what, partitions, hook, self, partitions, context)

    def _call(self, what: What, partitions: Iterable[Any], hook: Hook | None, *arguments: Any) -> None:
        with self._recorder.callback(what, as_partitions(partitions), "" if hook else NO_CALLBACK):
            if hook is not None:
                hook(*arguments)

    def poll(self, timeout: float = -1) -> Any:
        return self._in_slices(timeout, self._consumer.poll, None)

    def consume(self, num_messages: int = 1, timeout: float = -1) -> Any:
        return self._in_slices(timeout, lambda slice_s: self._consumer.consume(num_messages, slice_s), [])

    def _in_slices(self, timeout: float, ask: Callable[[float], Any], nothing: Any) -> Any:
        ends_at = time.monotonic() + timeout if timeout >= 0 else float("inf")
        while True:
            self._check_interrupt()
            left_s = ends_at - time.monotonic()
            found = ask(max(0.0, min(_SLICE_S, left_s)))
            if found or left_s <= _SLICE_S:
                return found or nothing

    def __iter__(self) -> Iterator[Any]:
        while True:
            if (message := self.poll()) is not None:
                yield message

    def commit(self, message: Any = None, offsets: Any = None, asynchronous: bool = True) -> Any:
        given = {name: one for name, one in (("message", message), ("offsets", offsets)) if one is not None}
        self._record_commit(message, offsets)
        return self._consumer.commit(**given, asynchronous=asynchronous)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._consumer.close()


def _offsets_of(message: Any, offsets: Any) -> Iterator[tuple[TopicPartition, int]]:
    if message is not None:
        yield TopicPartition(message.topic(), message.partition()), message.offset() + 1
    for each in offsets or ():
        yield TopicPartition(each.topic, each.partition), each.offset
