"""Threads that take turns in virtual time: one runs until it waits, and the same seed gives the same order.

Each task has a thread of its own, so that any program can be one; but only the task that holds the turn runs. It gives the
turn back in `wait`, and nowhere else.
"""

from __future__ import annotations

import _thread
import ctypes
import heapq
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from membership_client.testing.kit.stack import stack_of

MOST_TURNS = 200_000
"""A run with more is taken for a program that never waits for anything that takes time."""
MOST_KILLS = 100
"""So often a killed task may swallow what ends it."""
REAL_TIMEOUT_S = 20.0
"""So long a turn may take by the real clock."""

_real_lock = _thread.allocate_lock


class Killed(BaseException):
    """Raised by every call of a killed instance, so that its program does nothing any more."""


class StuckError(AssertionError):
    """A program does not give its turn back, or never comes to an end."""


class LateError(StuckError):
    """The same, found after much real time, so the story is not played again to make it shorter."""


@dataclass(eq=False)
class Task:
    """One thread of a program. Only the scheduler and the task itself change it."""

    name: str
    owner: object
    """The instance that it belongs to."""
    is_ready: Callable[[], bool] = lambda: True
    until: float | None = None
    killed: bool = False
    done: bool = False
    stalled_until: float = float("-inf")
    kills: int = 0
    """How often it was told that it is killed."""
    raised: BaseException | None = None
    gate: _thread.LockType = field(default_factory=_real_lock)

    def __post_init__(self) -> None:
        self.gate.acquire()

    def due_at(self, now: float) -> float:
        """When it may have a turn; infinite if something else must happen first."""
        if self.killed:
            return now
        later = float("inf") if self.until is None else self.until
        return max(now if self.is_ready() else later, self.stalled_until)


class Scheduler:
    """Owns the clock, the queue of what happens at a time, and whose turn it is."""

    def __init__(self, seed: int) -> None:
        self.now = 0.0
        self.seed = seed
        self.random = random.Random(seed)  # noqa: S311 - chosen by a seed on purpose
        self.on_time: Callable[[], None] = lambda: None
        """Called whenever the clock has moved."""
        self.on_raised: Callable[[Task, BaseException], None] = lambda _task, _error: None
        """Called when a task has ended by an exception."""
        self.tasks: list[Task] = []
        self.by_thread: dict[int, Task] = {}
        self._killed: list[object] = []
        """Owners whose tasks, also those to come, are killed."""
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._queued = 0
        self._turns = 0
        self._back = _real_lock()
        self._back.acquire()

    # --- for tasks ---------------------------------------------------------------------------------------------------

    def current(self) -> Task | None:
        """The task of the calling thread; None for threads that are none of ours."""
        return self.by_thread.get(_thread.get_ident())

    def check_alive(self) -> None:
        """Raises Killed on the thread of a task that was killed; one that swallows it again and again ends here."""
        task = self.current()
        if task is None or not task.killed:
            return
        task.kills += 1
        if task.kills > MOST_KILLS:
            self._park(task)
        raise Killed

    def _park(self, task: Task) -> None:
        """Does not return: nothing but its process can end a thread that goes on after every exception."""
        task.raised = StuckError(
            f"{task.name} goes on after every exception, also in a process that is killed: an `except:` or "
            "`except BaseException:` in its loop swallows what ends it. Catch Exception, or raise it again."
        )
        task.done = True
        del self.by_thread[_thread.get_ident()]
        self._back.release()
        task.gate.acquire()

    def wait(self, is_ready: Callable[[], bool] = lambda: False, timeout_s: float | None = None) -> None:
        """On a task's thread: gives the turn back until `is_ready()`, or the time is over. Raises Killed."""
        self.check_alive()
        task = self.by_thread[_thread.get_ident()]
        task.is_ready, task.until = is_ready, None if timeout_s is None else self.now + timeout_s
        self._back.release()
        task.gate.acquire()
        self.check_alive()

    def carry(self, task: Task, function: Callable[[], object]) -> None:
        """The whole life of a task, on its thread; it begins with its first turn."""
        self.by_thread[_thread.get_ident()] = task
        task.gate.acquire()
        try:
            if not task.killed:
                function()
        except Killed:
            pass
        except BaseException as error:  # noqa: BLE001 - whatever a program raises is part of the run
            task.raised = error
        finally:
            was_given_up, task.done = task.done, True
            del self.by_thread[_thread.get_ident()]
            if not was_given_up:
                self._back.release()

    def spawn(self, name: str, owner: object, function: Callable[[], object]) -> Task:
        """A new task on a new thread."""
        task = self.add(Task(name, owner))
        threading.Thread(target=self.carry, args=(task, function), name=name, daemon=True).start()
        return task

    def add(self, task: Task) -> Task:
        """A task whose thread the caller starts, with `carry`."""
        task.killed = any(task.owner is owner for owner in self._killed)
        self.tasks.append(task)
        return task

    # --- for the one who runs it -------------------------------------------------------------------------------------

    def at(self, time: float, action: Callable[[], None]) -> None:
        self._queued += 1
        heapq.heappush(self._queue, (max(time, self.now), self._queued, action))

    def run(self, end: float, finished: Callable[[], bool] = lambda: False) -> None:
        """Let everything happen up to that time; shorter if `finished()`."""
        while not finished():
            due = self._next_task()
            first = self._queue[0][0] if self._queue else float("inf")
            if min(first, due) > end:
                break
            self._set_clock(min(first, due))
            if first <= due:
                heapq.heappop(self._queue)[2]()
            else:
                self._give_turn(self.random.choice(self._due_tasks()))
        else:
            return
        self._set_clock(end)

    def _next_task(self) -> float:
        return min((task.due_at(self.now) for task in self.tasks), default=float("inf"))

    def _due_tasks(self) -> list[Task]:
        return [task for task in self.tasks if task.due_at(self.now) <= self.now]

    def _set_clock(self, time: float) -> None:
        if time > self.now:
            self.now = time
            self.on_time()

    def _give_turn(self, task: Task) -> None:
        self._turns += 1
        if self._turns > MOST_TURNS:
            raise LateError(f"{task.name} has had a turn {MOST_TURNS} times and time stands still at {self.now:.3f} s.")
        task.gate.release()
        if not self._back.acquire(timeout=REAL_TIMEOUT_S):
            where = self.where(task)
            self._give_up(task)
            raise LateError(
                f"{task.name} has not called the consumer for {REAL_TIMEOUT_S:g} s: it works for long, or it waits for "
                "something outside virtual time, such as a lock that was made before the run or a socket. "
                f"It is here:\n{where}"
            )
        if task.done:
            self.tasks.remove(task)
            if task.raised is not None:
                self.on_raised(task, task.raised)

    def _give_up(self, task: Task) -> None:
        """It is not waited for any more. A loop of Python code ends by the exception; a wait outside virtual time goes on."""
        task.killed = task.done = True
        self.tasks.remove(task)
        if (ident := self._thread_of(task)) is not None:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(Killed))

    def _thread_of(self, task: Task) -> int | None:
        return next((ident for ident, one in tuple(self.by_thread.items()) if one is task), None)

    def where(self, task: Task) -> str:
        """The newest calls of the program in that task."""
        return stack_of(self._thread_of(task))

    def kill(self, owner: object) -> None:
        """Every task of this owner gets Killed with its next turn, and none begins any more."""
        self._killed.append(owner)
        for task in self.tasks:
            if task.owner is owner:
                task.killed = True

    def end(self) -> None:
        """Kill whatever is left, so that no thread stays behind."""
        for _ in range(MOST_TURNS):
            if not self.tasks:
                return
            self.tasks[0].killed = True
            self._give_turn(self.tasks[0])
