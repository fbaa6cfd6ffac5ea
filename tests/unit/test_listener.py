"""Listeners: found out at registration, called on one thread."""

from __future__ import annotations

import functools
import queue
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from membership_client import CallbackContext, GroupMember, ListenerError, RebalanceListener, TopicPartition
from membership_client.core.events import Budget, CallbackKind, CallbackReturned, RunCallback
from membership_client.runtime.busy_thread import BudgetWarning
from membership_client.runtime.listener import ThreadRunner, accepts, callbacks_of, warned_of
from membership_client.types import Cause, CauseKind

CONFIG = {"bootstrap.servers": "broker:9092", "group.id": "orders"}
PARTITIONS = (TopicPartition("t", 0),)


def call(call_id: int, kind: CallbackKind = CallbackKind.ASSIGNED, deadline: float | None = None) -> RunCallback:
    cause = Cause(CauseKind.JOINED, "joined")
    return RunCallback(
        call_id=call_id, kind=kind, partitions=PARTITIONS, epoch=1, cause=cause, deadline=deadline, provisional=True
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
def test_the_context_is_passed_to_callbacks_that_take_it(listener: Any, count: int) -> None:
    """One argument or two; no base class is needed."""
    context = CallbackContext.of(call(1))
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
    on_partitions_assigned = staticmethod(functools.partial(Coroutine.on_partitions_assigned, Coroutine()))


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


@pytest.mark.parametrize(
    ("methods", "meant"),
    [
        (["on_assigned", "on_revoked"], "on_partitions_assigned"),
        (["on_lost"], "on_partitions_lost"),
        (["on_partitions_assigned", "on_partition_revoked"], "on_partitions_revoked"),
        (["on_partitions_assigned", "on_budget_warnings"], "on_budget_warning"),
    ],
)
def test_a_misspelled_callback_is_refused(methods: list[str], meant: str) -> None:
    """With the name that was meant. It was accepted, and never called."""
    misspelled = type("Mine", (RebalanceListener,), {name: lambda self, partitions: None for name in methods})
    with pytest.raises(ListenerError, match=f"name it {meant}"):
        GroupMember(CONFIG, listener=misspelled())


def test_a_listener_may_have_other_methods() -> None:
    """Names of its own, also those of another library, beside callbacks that it overrides."""
    methods = {name: lambda self, partitions: None for name in ("on_partitions_revoked", "on_assign", "on_start")}
    assert set(callbacks_of(type("Mine", (RebalanceListener,), methods)())) == set(CallbackKind)


def test_the_base_class_does_nothing_and_is_complete() -> None:
    """The methods that a listener does not override do nothing: above all, the lost one does not call the revoked one."""
    assert set(callbacks_of(RebalanceListener())) == set(CallbackKind)
    for callback in callbacks_of(RebalanceListener()).values():
        callback(PARTITIONS, CallbackContext.of(call(1)))


def test_a_coroutine_is_a_callback_for_a_runner_that_awaits_it() -> None:
    """membership_client.aio does."""
    assert set(callbacks_of(Coroutine(), coroutines=True)) == {CallbackKind.ASSIGNED}


def test_functions_that_do_not_tell_their_arguments_are_taken_at_their_word() -> None:
    """Some are written in C; all others are asked."""
    assert accepts(max, 2)
    assert accepts(lambda partitions: None, 1)
    assert not accepts(lambda partitions: None, 2)


def test_a_callback_is_told_what_it_may_want_to_know() -> None:
    """Which epoch, why, whether there may be more to come, and how long the group waits for it."""
    context = CallbackContext.of(call(1, deadline=time.monotonic() + 100))
    assert (context.epoch, context.cause.kind, context.provisional, context.lost) == (1, CauseKind.JOINED, True, False)
    left_s = context.remaining_s()
    assert left_s is not None
    assert 0 < left_s <= 100
    assert CallbackContext.of(call(1, deadline=time.monotonic() - 1)).remaining_s() == 0
    assert CallbackContext.of(call(1)).remaining_s() is None


def test_a_test_can_make_a_context_and_mark_it_lost() -> None:
    """All parts have defaults, and a thread in wait_lost() wakes up."""
    context = CallbackContext()
    assert (context.epoch, context.provisional, context.lost, context.remaining_s()) == (1, False, False, None)
    assert str(context.cause) == "group changed: made by hand"
    assert not context.wait_lost(0)
    context.mark_lost()
    assert context.lost
    assert context.wait_lost(0)


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


def refuse(_: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


def test_callbacks_run_on_one_other_thread() -> None:
    """The same for all of them, and never the caller's."""
    threads: list[threading.Thread] = []
    runs = Runs(lambda partitions, context: threads.append(threading.current_thread()))
    for call_id in (1, 2):
        runs.run(call(call_id))
        assert runs.wait() == CallbackReturned(call_id)
    runs.runner.stop()
    assert threads[0] is threads[1] is not threading.current_thread()
    assert threads[0].daemon
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
    entered: queue.SimpleQueue[CallbackContext] = queue.SimpleQueue()
    seen: list[bool] = []

    def block(partitions: Any, context: CallbackContext) -> None:
        entered.put(context)
        seen.append(context.wait_lost(30))

    runs = Runs(block)
    runs.runner.tell_lost(4)
    runs.run(call(5))
    context = entered.get(timeout=30)
    runs.runner.tell_lost(4)
    assert not context.lost
    runs.runner.tell_lost(5)
    assert context.lost
    runs.wait()
    assert seen == [True]
    runs.runner.stop()


def test_a_runner_knows_its_own_thread() -> None:
    """A call from inside a callback must not wait for that callback; and a stuck one is looked up by its thread."""
    inside: list[tuple[bool, int]] = []
    runs = Runs(lambda partitions, context: inside.append((runs.runner.is_current_thread(), threading.get_ident())))
    assert runs.runner.thread() is None
    for call_id in (1, 2):
        runs.run(call(call_id))
        runs.wait()
    assert inside == [(True, runs.runner.thread())] * 2
    assert not runs.runner.is_current_thread()
    assert not runs.runner.runs_on_closing_thread
    runs.runner.stop()


def test_a_callback_for_which_there_is_no_thread_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The member is told, and may ask again: the next one gets a thread if there is one by then."""
    runs = Runs(lambda partitions, context: None)
    with monkeypatch.context() as system:
        system.setattr(threading.Thread, "start", refuse)
        runs.run(call(1))
        assert "no thread can be started" in str(runs.wait().error)
    runs.run(call(2))
    assert runs.wait() == CallbackReturned(2)
    assert len(runs.returned) == 2
    runs.runner.stop()


# --- warnings --------------------------------------------------------------------------------------------------------

WARNING = BudgetWarning(budget=Budget.CALLBACK, spent_s=30.0, limit_s=60.0, thread=None, stack=())


class Warned(RebalanceListener):
    def __init__(self) -> None:
        self.warnings: queue.SimpleQueue[tuple[BudgetWarning, threading.Thread]] = queue.SimpleQueue()

    def on_budget_warning(self, warning: BudgetWarning) -> None:
        self.warnings.put((warning, threading.current_thread()))


class WarnedWithoutBase:
    def on_budget_warning(self, warning: BudgetWarning) -> None: ...


def test_a_warning_comes_on_a_thread_of_its_own() -> None:
    """All others may be what is stuck; and a warning that is stuck itself must not keep the process alive."""
    listener = Warned()
    ThreadRunner({}, "callbacks", warned_of(listener)).warn(WARNING)
    warning, thread = listener.warnings.get(timeout=30)
    assert warning is WARNING
    assert thread is not threading.current_thread()
    assert thread.daemon


def test_no_thread_is_started_for_a_warning_without_a_listener(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most listeners have no method for it, or the base class's, which does nothing."""
    assert warned_of(OneArgument()) is None
    assert warned_of(RebalanceListener()) is None
    assert warned_of(WarnedWithoutBase()) is not None
    monkeypatch.setattr(threading.Thread, "start", refuse)
    ThreadRunner({}, "callbacks").warn(WARNING)
