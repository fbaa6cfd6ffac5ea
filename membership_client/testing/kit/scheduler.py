"""Runs threads in turns and in virtual time: one thread runs until it waits, and the same seed gives the same order.

Each task has a thread of its own, so that any program can be a task. Only the task that has the turn runs, and it gives the
turn back only in `wait`.
"""

from __future__ import annotations

import _thread
import contextlib
import ctypes
import heapq
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from membership_client.testing.kit.stack import stack_of

MOST_TURNS = 200_000
"""A task with more turns at one time counts as a program that never lets time pass."""
MOST_KILLS = 100
"""How often a killed task may catch the exception that ends it."""
REAL_TIMEOUT_S = 20.0
"""How long a turn may take by the real clock."""

_LOOK_S = 0.01

_real_lock = _thread.allocate_lock


class Killed(BaseException):
    """Raised by every call of a killed instance, so that its program can do nothing any more."""


class StuckError(AssertionError):
    """A program does not give its turn back, or never comes to an end."""


class LateError(StuckError):
    """A StuckError that was found after much real time, so the story is not played again to make it shorter."""


@dataclass(eq=False)
class Task:
    """One thread of a program. Only the scheduler and the task itself change it."""

    name: str
    owner: object
    """The instance to which the task belongs."""
    is_ready: Callable[[], bool] = lambda: True
    until: float | None = None
    killed: bool = False
    done: bool = False
    stalled_until: float = float("-inf")
    kills: int = 0
    """How often `Killed` was raised in it."""
    raised: BaseException | None = None
    has_left: bool = False
    """Whether the task is done and has given its turn back, so that its thread no longer affects the run."""
    gate: _thread.LockType = field(default_factory=_real_lock)

    def __post_init__(self) -> None:
        self.gate.acquire()

    def due_at(self, now: float) -> float:
        """When the task may have a turn; infinite if something else must happen first."""
        if self.killed:
            return now
        later = float("inf") if self.until is None else self.until
        return max(now if self.is_ready() else later, self.stalled_until)


class Scheduler:
    """Has the clock, the queue of actions by time, and the turn."""

    def __init__(self, seed: int) -> None:
        self.now = 0.0
        self.seed = seed
        self.random = random.Random(seed)  # noqa: S311 - chosen by a seed on purpose
        self.on_time: Callable[[], None] = lambda: None
        """Called after each move of the clock."""
        self.on_raised: Callable[[Task, BaseException], None] = lambda _task, _error: None
        """Called after a task has ended with an exception."""
        self.tasks: list[Task] = []
        self.by_thread: dict[int, Task] = {}
        self._killed: list[object] = []
        """Owners whose tasks are killed, also tasks that start later."""
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._queued = 0
        self._turns = 0
        self._turn: Task | None = None
        """The task that has the turn; None if no task has it."""
        self._back = _real_lock()
        self._back.acquire()

    # --- for tasks ---------------------------------------------------------------------------------------------------

    def current(self) -> Task | None:
        """The task of the calling thread; None for a thread that is no task."""
        return self.by_thread.get(_thread.get_ident())

    def check_alive(self) -> None:
        """Raise Killed on the thread of a killed task. A task that catches it again and again stops here for ever."""
        task = self.current()
        if task is None or not task.killed:
            return
        task.kills += 1
        if task.kills > MOST_KILLS:
            self._park(task)
        raise Killed

    def _park(self, task: Task) -> None:
        """Stop the thread for ever. Nothing else can stop a thread that goes on after every exception."""
        task.raised = StuckError(
            f"{task.name} goes on after every exception, also in a process that is killed: an `except:` or "
            "`except BaseException:` in its loop catches the exception that ends it. Catch Exception, or raise it again."
        )
        task.done = True
        del self.by_thread[_thread.get_ident()]
        self._give_back()
        task.has_left = True
        task.gate.acquire()

    def _give_back(self) -> None:
        # A turn that was cut short may have been given back already.
        with contextlib.suppress(RuntimeError):
            self._back.release()

    def wait(self, is_ready: Callable[[], bool] = lambda: False, timeout_s: float | None = None) -> None:
        """On a task's thread: give the turn back until `is_ready()`, or the time is over. Raises Killed."""
        self.check_alive()
        task = self.by_thread[_thread.get_ident()]
        task.is_ready, task.until = is_ready, None if timeout_s is None else self.now + timeout_s
        self._give_back()
        task.gate.acquire()
        self.check_alive()

    def run_task(self, task: Task, function: Callable[[], object]) -> None:
        """Run the function of a task on its thread, from its first turn to its end."""
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
                self._give_back()
            task.has_left = True

    def spawn(self, name: str, owner: object, function: Callable[[], object]) -> Task:
        """Start a new task on a new thread."""
        task = self.add(Task(name, owner))
        threading.Thread(target=self.run_task, args=(task, function), name=name, daemon=True).start()
        return task

    def add(self, task: Task) -> Task:
        """Add a task. The caller starts its thread, which calls `run_task`."""
        task.killed = any(task.owner is owner for owner in self._killed)
        self.tasks.append(task)
        return task

    # --- for the thread that runs the scheduler ----------------------------------------------------------------------

    def at(self, time: float, action: Callable[[], None]) -> None:
        self._queued += 1
        heapq.heappush(self._queue, (max(time, self.now), self._queued, action))

    def run(self, end: float, finished: Callable[[], bool] = lambda: False) -> None:
        """Let everything happen up to that time, or until `finished()`."""
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
        self._turn = task
        task.gate.release()
        is_back = self._back.acquire(timeout=REAL_TIMEOUT_S)
        self._turn = None
        if not is_back:
            where = self.where(task)
            self._give_up(task)
            raise LateError(
                f"{task.name} has not called the consumer for {REAL_TIMEOUT_S:g} s: it works too long, or it waits for "
                "something outside virtual time, such as a lock that was made before the run or a socket. "
                f"It is here:\n{where}"
            )
        if task.done:
            self.tasks.remove(task)
            if task.raised is not None:
                self.on_raised(task, task.raised)

    def _give_up(self, task: Task) -> None:
        """Stop waiting for the task. The exception ends a loop of Python code, but not a wait outside virtual time."""
        task.killed = task.done = True
        self.tasks.remove(task)
        if (ident := self._thread_of(task)) is not None:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(Killed))

    def _thread_of(self, task: Task) -> int | None:
        return next((ident for ident, one in tuple(self.by_thread.items()) if one is task), None)

    def where(self, task: Task) -> str:
        """The newest calls of the program in that task, as a traceback."""
        return stack_of(self._thread_of(task))

    def kill(self, owner: object) -> None:
        """Raise Killed in every task of this owner at its next turn, and start no further one."""
        self._killed.append(owner)
        for task in self.tasks:
            if task.owner is owner:
                task.killed = True

    def end(self) -> None:
        """Kill all tasks that are left, so that no thread stays."""
        self._end_turn()
        self.tasks = [task for task in self.tasks if not task.done]
        for _ in range(MOST_TURNS):
            if not self.tasks:
                return
            self.tasks[0].killed = True
            self._give_turn(self.tasks[0])

    def _end_turn(self) -> None:
        """Take the turn from a task that still has it: Ctrl-C, or a timeout of pytest, may end the wait for it at any moment."""
        task, self._turn = self._turn, None
        if task is None:
            return
        task.killed = True
        for _ in range(int(REAL_TIMEOUT_S / _LOOK_S)):
            with contextlib.suppress(RuntimeError):  # The task has its turn already.
                task.gate.release()
            self._back.acquire(timeout=_LOOK_S)
            if task.has_left:
                self._back.acquire(blocking=False)  # The task may have given its turn back twice.
                return
        self._give_up(task)
