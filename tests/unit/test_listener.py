"""Listeners: found out at registration, called on one thread."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import pytest

from membership_client import CallbackContext, GroupMember, ListenerError, RebalanceListener, TopicPartition
from membership_client.core.events import CallbackKind, CallbackReturned, RunCallback
from membership_client.listener import ThreadRunner, callbacks_of
from membership_client.types import Cause, CauseKind

CONFIG = {"bootstrap.servers": "broker:9092", "group.id": "orders"}
PARTITIONS = (TopicPartition("t", 0),)


def call(call_id: int, kind: CallbackKind = CallbackKind.ASSIGNED) -> RunCallback:
    cause = Cause(CauseKind.JOINED, "joined")
    return RunCallback(
        call_id=call_id, kind=kind, partitions=PARTITIONS, epoch=1, cause=cause, deadline=None, provisional=False
    )


class OneArgument:
    def on_partitions_assigned(self, partitions: Any) -> None:
        self.got = (partitions,)


class TwoArguments:
    def on_partitions_assigned(self, partitions: Any, context: Any) -> None:
        self.got = (partitions, context)


class Lenient:
    def on_partitions_assigned(self, *arguments: Any) -> None:
        self.got = arguments


class WithDefault:
    def on_partitions_assigned(self, partitions: Any, context: Any = None) -> None:
        self.got = (partitions, context)


@pytest.mark.parametrize(
    ("listener", "count"), [(OneArgument(), 1), (TwoArguments(), 2), (Lenient(), 2), (WithDefault(), 2)]
)
def test_the_context_is_passed_to_those_who_take_it(listener: Any, count: int) -> None:
    """One argument or two; no base class is needed."""
    context = CallbackContext(call(1))
    callbacks_of(listener)[CallbackKind.ASSIGNED](PARTITIONS, context)
    assert listener.got == (PARTITIONS, context)[:count]


class NoArguments:
    def on_partitions_revoked(self) -> None: ...


class ThreeArguments:
    def on_partitions_lost(self, consumer: Any, partitions: Any, context: Any) -> None: ...


class KeywordOnly:
    def on_partitions_assigned(self, partitions: Any, *, context: Any) -> None: ...


class Coroutine:
    async def on_partitions_assigned(self, partitions: Any) -> None: ...


class PartialCoroutine:
    on_partitions_assigned = functools.partial(Coroutine.on_partitions_assigned, Coroutine())


class NotCallable:
    on_partitions_assigned = 7


@pytest.mark.parametrize(
    ("listener", "named"),
    [
        (NoArguments(), "on_partitions_revoked"),
        (ThreeArguments(), "on_partitions_lost"),
        (KeywordOnly(), "on_partitions_assigned"),
        (Coroutine(), "on_partitions_assigned is an async function"),
        (PartialCoroutine(), "on_partitions_assigned is an async function"),
        (NotCallable(), "on_partitions_assigned is not callable"),
        (object(), "has none of on_partitions_assigned, on_partitions_revoked, on_partitions_lost"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_a_callback_that_could_never_be_called_is_refused(listener: object, named: str) -> None:
    """At registration: a wrong signature found in a rebalance is found too late."""
    with pytest.raises(ListenerError, match=named):
        GroupMember(CONFIG, listener=listener)


def test_the_base_class_does_nothing_and_is_complete() -> None:
    """Whoever overrides one method gets harmless others: above all, lost is not revoked."""
    assert set(callbacks_of(RebalanceListener())) == set(CallbackKind)
    for callback in callbacks_of(RebalanceListener()).values():
        callback(PARTITIONS, CallbackContext(call(1)))


# --- the thread ------------------------------------------------------------------------------------------------------


class Runs:
    """A runner with one callback, and what it reports."""

    def __init__(self, callback: Callable[[Any, CallbackContext], None]) -> None:
        self.returned: list[CallbackReturned] = []
        self.threads: list[str | None] = []
        self._news = threading.Semaphore(0)
        self.runner = ThreadRunner({CallbackKind.ASSIGNED: callback}, "callbacks")

    def run(self, call: RunCallback) -> None:
        self.runner.run(call, self._done)

    def _done(self, event: CallbackReturned) -> None:
        self.returned.append(CallbackReturned(event.call_id, event.error))
        self.threads.append(event.thread)
        self._news.release()

    def wait(self) -> CallbackReturned:
        assert self._news.acquire(timeout=30)
        return self.returned[-1]


def test_callbacks_run_on_one_other_thread() -> None:
    """The same for all of them, and never the caller's."""
    threads: list[threading.Thread] = []
    runs = Runs(lambda partitions, context: threads.append(threading.current_thread()))
    for call_id in (1, 2):
        runs.run(call(call_id))
        assert runs.wait() == CallbackReturned(call_id)
    runs.runner.stop()
    assert threads[0] is threads[1] is not threading.current_thread()
    assert runs.threads == ["callbacks", "callbacks"]
    threads[0].join(30)
    assert not threads[0].is_alive()


def test_a_callback_that_is_not_there_returns_at_once() -> None:
    """And costs no thread."""
    runs = Runs(lambda partitions, context: None)
    before = threading.active_count()
    runs.run(call(1, CallbackKind.LOST))
    assert runs.wait() == CallbackReturned(1)
    assert threading.active_count() == before


@pytest.mark.parametrize("error", [ValueError("full"), SystemExit(1), KeyboardInterrupt()], ids=repr)
def test_whatever_a_callback_raises_is_reported(error: BaseException) -> None:
    """Also what would end a thread."""

    def fail(partitions: Any, context: CallbackContext) -> None:
        raise error

    runs = Runs(fail)
    runs.run(call(1))
    failed = runs.wait().error
    assert failed is not None
    assert type(error).__name__ in str(failed)
    runs.runner.stop()


def test_a_running_callback_is_told_that_it_lost() -> None:
    """Only the one that runs, and only by its own id."""
    entered = threading.Event()
    seen: list[bool] = []

    def block(partitions: Any, context: CallbackContext) -> None:
        entered.set()
        seen.append(context.wait_lost(30))

    runs = Runs(block)
    runs.run(call(5))
    assert entered.wait(30)
    runs.runner.tell_lost(4)
    assert seen == []
    runs.runner.tell_lost(5)
    runs.wait()
    assert seen == [True]
    runs.runner.stop()
