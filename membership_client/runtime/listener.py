"""The user's callbacks: their contract, the check of their signatures, and the thread that runs them."""

from __future__ import annotations

import inspect
import itertools
import queue
import threading
import time
import traceback
from collections.abc import Callable
from typing import Protocol, Self, runtime_checkable

from membership_client.arguments import (
    MOST_INT32,
    checked_flag,
    checked_instance,
    checked_moment,
    checked_timeout_s,
    checked_whole,
    optional,
)
from membership_client.core.events import CallbackKind, CallbackReturned, RunCallback
from membership_client.errors import ListenerError
from membership_client.runtime.busy_thread import BudgetWarning, is_ours
from membership_client.types import Cause, CauseKind, TopicPartition

_MADE_BY_HAND = Cause(CauseKind.GROUP_CHANGED, "made by hand")


class CallbackContext:
    """What a callback may want to know. Safe to read from any thread, also after the callback has returned.

    A test of a listener makes one by hand: `CallbackContext(epoch=7, deadline=time.monotonic() + 30)`, and calls
    `mark_lost()` where the member would be fenced. A `CallbackRunner` makes one of each call: `CallbackContext.of(call)`.
    """

    def __init__(
        self, *, epoch: int = 1, cause: Cause = _MADE_BY_HAND, deadline: float | None = None, provisional: bool = False
    ) -> None:
        self.epoch: int = checked_whole("epoch", epoch, least=-MOST_INT32 - 1, most=MOST_INT32)
        """The member epoch; in the classic protocol the generation."""
        self.cause: Cause = checked_instance("cause", cause, Cause)
        self.provisional: bool = checked_flag("provisional", provisional)
        """The assignment may still be incomplete; an empty one does not mean "nothing for me"."""
        self._deadline = optional(checked_moment, "deadline", deadline)
        self._lost = threading.Event()

    @classmethod
    def of(cls, call: RunCallback) -> Self:
        """The context of a call that the member asks a `CallbackRunner` to run."""
        checked_instance("call", call, RunCallback)
        return cls(epoch=call.epoch, cause=call.cause, deadline=call.deadline, provisional=call.provisional)

    @property
    def lost(self) -> bool:
        """True once the member was fenced while this callback runs: the partitions belong to others now."""
        return self._lost.is_set()

    def mark_lost(self) -> None:
        """Set `lost` and end every `wait_lost`. For runners, when `tell_lost` is called, and for tests. Any thread."""
        self._lost.set()

    def wait_lost(self, timeout_s: float) -> bool:
        """Sleep in a callback, but wake up when the partitions are lost."""
        return self._lost.wait(checked_timeout_s(timeout_s))

    def remaining_s(self) -> float | None:
        """Seconds until the group stops waiting for this callback; None where it does not wait for it."""
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())


class RebalanceListener:
    """Override what you need; each of the three callbacks may leave out its second argument.

        class SaveFirst(RebalanceListener):
            def on_partitions_revoked(self, partitions, context):
                print("gives up", partitions, "because", context.cause)

        with GroupMember({"bootstrap.servers": "localhost:9092", "group.id": "tills"}, listener=SaveFirst()) as member:
            member.subscribe(["orders"])

    All callbacks of one member run one at a time, in order, on a thread of their own: never on the thread that keeps
    the membership alive, so heartbeats go on however long a callback takes. A callback gets the partitions that change,
    not the whole assignment. A partition is passed to `on_partitions_revoked` or `on_partitions_lost` exactly once
    after it was passed to a successful `on_partitions_assigned`.
    """

    def on_partitions_assigned(self, partitions: tuple[TopicPartition, ...], context: CallbackContext) -> None:
        """New partitions. They count as owned when this returns. Also called, with none, after an empty join."""

    def on_partitions_revoked(self, partitions: tuple[TopicPartition, ...], context: CallbackContext) -> None:
        """Partitions to give up. They belong to this member until this returns: commit here."""

    def on_partitions_lost(self, partitions: tuple[TopicPartition, ...], context: CallbackContext) -> None:
        """Partitions that the group has already given to other members: do not commit. Does nothing unless overridden."""

    def on_budget_warning(self, warning: BudgetWarning) -> None:
        """A callback, the next poll or a close takes long. Called on a thread of its own, because the others may be stuck."""


_METHODS = {
    CallbackKind.ASSIGNED: "on_partitions_assigned",
    CallbackKind.REVOKED: "on_partitions_revoked",
    CallbackKind.LOST: "on_partitions_lost",
}

_SIGNATURE = "A callback takes the partitions, and optionally a context as its second argument."

OnWarning = Callable[[BudgetWarning], object]
Callback = Callable[[tuple[TopicPartition, ...], CallbackContext], object]


def callbacks_of(listener: object, *, coroutines: bool = False) -> dict[CallbackKind, Callback]:
    """The listener's callbacks, each checked now, because a wrong signature found in a rebalance is found too late.

    `coroutines` says that the caller awaits what they return.
    """
    _refuse_misspelled(type(listener))
    found = {kind: getattr(listener, name, None) for kind, name in _METHODS.items()}
    if not any(found.values()):
        raise ListenerError(f"{type(listener).__name__} has none of {', '.join(_METHODS.values())}. {_SIGNATURE}")
    return {kind: _checked(_METHODS[kind], method, coroutines) for kind, method in found.items() if method is not None}


def _refuse_misspelled(listener: type) -> None:
    """A method such as `on_partition_revoked`, or `on_assigned` in a listener that overrides nothing, would never be called."""
    known = [name for name in vars(RebalanceListener) if name.startswith("on_")]
    unknown = [name for name in dir(listener) if name.startswith("on_") and name not in known]
    if not unknown:
        return
    import difflib  # noqa: PLC0415 - for mistakes only

    overrides_none = all(getattr(listener, name, None) is getattr(RebalanceListener, name) for name in known)
    for name in unknown:
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.5 if overrides_none else 0.85)
        if near:
            raise ListenerError(
                f"{listener.__name__}.{name} is no callback and would never be called: name it {near[0]}."
            )


def _checked(name: str, method: object, coroutines: bool) -> Callback:
    if not callable(method):
        raise ListenerError(f"{name} is not callable. {_SIGNATURE}")
    if inspect.iscoroutinefunction(method) and not coroutines:
        raise ListenerError(f"{name} is an async function: use membership_client.aio.")
    if accepts(method, 2):
        return method
    if accepts(method, 1):
        return lambda partitions, _: method(partitions)
    given = f"{name}{inspect.signature(method)}"
    raise ListenerError(f"{given} cannot be called with the partitions and a context. {_SIGNATURE}")


def accepts(function: Callable[..., object], count: int) -> bool:
    """Can it be called with that many positional arguments? True also for functions in C that do not tell."""
    try:
        inspect.signature(function).bind(*[None] * count)
    except TypeError:
        return False
    except ValueError:
        return True
    return True


Done = Callable[[CallbackReturned], None]


@runtime_checkable
class CallbackRunner(Protocol):
    """Where callbacks run: `GroupMember(..., runner=...)` takes one instead of a listener.

    The membership thread calls `run`, `tell_lost`, `thread`, `warn` and `stop`, which must return at once. It asks for
    one callback at a time: the next `run` comes after `done` was called for the last.
    """

    @property
    def runs_on_closing_thread(self) -> bool:
        """Can the thread that closes the member be the one that runs a callback, so that it must wait for it?"""

    def run(self, call: RunCallback, done: Done) -> None:
        """Have the callback run on another thread; call `done` exactly once when it has returned or raised."""

    def tell_lost(self, call_id: int) -> None:
        """The partitions of this call were lost while it runs: mark its context."""

    def is_current_thread(self) -> bool:
        """Is the calling thread the one that runs a callback at this moment?"""

    def thread(self) -> int | None:
        """Identifier (`threading.get_ident`) of the thread that runs callbacks, or that will; None if there is none yet."""

    def warn(self, warning: BudgetWarning) -> None:
        """Pass the warning to the application, on another thread than the calling one."""

    def await_end(self, ended: Callable[[float], bool], timeout_s: float) -> None:
        """Called on the thread that closes the member: return when `ended(seconds)` is true, or after `timeout_s`.

        A runner with `runs_on_closing_thread` runs its callbacks here meanwhile.
        """

    def stop(self) -> None:
        """The member has ended: no `run` follows. Does not wait for a callback that still runs."""


class ThreadRunner:
    """Runs callbacks on one daemon thread, started with the first of them; `done` is called there when each returns."""

    runs_on_closing_thread = False

    def __init__(self, callbacks: dict[CallbackKind, Callback], name: str, on_warning: OnWarning | None = None) -> None:
        self._callbacks = callbacks
        self._on_warning = on_warning
        self._name = name
        self._calls: queue.SimpleQueue[tuple[RunCallback, Done] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._current: tuple[int, CallbackContext] | None = None

    def run(self, call: RunCallback, done: Done) -> None:
        if call.kind not in self._callbacks:
            done(CallbackReturned(call.call_id))
            return
        self._current = (call.call_id, CallbackContext.of(call))
        if self._thread is None and not self._start():
            done(CallbackReturned(call.call_id, "RuntimeError: no thread can be started any more"))
            return
        self._calls.put((call, done))

    def _start(self) -> bool:
        thread = threading.Thread(target=self._work, name=self._name, daemon=True)
        try:
            thread.start()
        except RuntimeError:  # The interpreter is shutting down, or the system has no thread to spare.
            return False
        self._thread = thread
        return True

    def is_current_thread(self) -> bool:
        """Is the caller a callback?"""
        return threading.current_thread() is self._thread

    def thread(self) -> int | None:
        return self._thread.ident if self._thread else None

    def warn(self, warning: BudgetWarning) -> None:
        tell(self._on_warning, warning)

    def tell_lost(self, call_id: int) -> None:
        if self._current is not None and self._current[0] == call_id:
            self._current[1].mark_lost()

    def await_end(self, ended: Callable[[float], bool], timeout_s: float) -> None:
        ended(timeout_s)

    def stop(self) -> None:
        """End the thread once the running callback, if any, has returned. Does not wait for it."""
        self._calls.put(None)

    def _work(self) -> None:
        while (job := self._calls.get()) is not None:
            call, done = job
            began_at, thread = time.monotonic(), threading.current_thread().name
            done(CallbackReturned(call.call_id, self._outcome(call), began_at, thread))

    def _outcome(self, call: RunCallback) -> str | None:
        assert self._current is not None
        try:
            self._callbacks[call.kind](call.partitions, self._current[1])
        except BaseException as error:  # noqa: BLE001 - every exception of user code is recorded as a failure
            return as_text(error)
        return None


def tell(on_warning: OnWarning | None, warning: BudgetWarning) -> None:
    """Pass the warning on, on a new thread. Python reports what the function raises there."""
    if on_warning is not None:
        threading.Thread(target=on_warning, args=(warning,), name="budget-warning", daemon=True).start()


def warned_of(listener: object) -> OnWarning | None:
    """The listener's own `on_budget_warning`, if it has one."""
    found = getattr(listener, "on_budget_warning", None)
    return None if getattr(type(listener), "on_budget_warning", None) is _DOES_NOTHING else found


_DOES_NOTHING = RebalanceListener.on_budget_warning


def as_text(error: BaseException) -> str:
    """The text of an exception for `CallbackReturned`, with its traceback from the first function outside this package."""
    told = traceback.TracebackException.from_exception(error)
    told.stack[:] = list(itertools.dropwhile(is_ours, told.stack)) or told.stack
    return "".join(told.format()).strip()
