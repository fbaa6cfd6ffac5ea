"""The members of this process, which tell each other of changes that `core.siblings` finds in their steps.

No locks, because a signal handler may make or close a member at any moment. No strong references: a member that the
application has dropped goes. A forked child has none of its parent's members.
"""

from __future__ import annotations

import os
import weakref

from membership_client.core.machine import Step
from membership_client.core.siblings import announced, are_siblings, concerns
from membership_client.runtime.forked import present
from membership_client.runtime.worker import Worker


class Siblings:
    """All members of one process, whatever their groups. Any thread."""

    def __init__(self) -> None:
        self._workers: weakref.WeakSet[Worker] = weakref.WeakSet()

    def add(self, worker: Worker) -> None:
        self._workers.add(worker)

    def remove(self, worker: Worker) -> None:
        """The worker has ended."""
        self._workers.discard(worker)

    def tell(self, worker: Worker, step: Step) -> None:
        """What that step of that worker means to others. It only hands them an event, so it never waits for them."""
        event = announced(step.before, step.effects, step.after)
        if event is None:
            return
        for other in present(self._workers):
            # Looking at the others here, on this thread, spares most of them a wake-up: 100 members would make 9,900.
            if other is not worker and are_siblings(step.after, other.member) and concerns(other.member, event):
                other.sibling_changed(event)

    def clear(self) -> None:
        """In a forked child."""
        self._workers = weakref.WeakSet()


_OF_PROCESS = Siblings()


def siblings_of_process() -> Siblings:
    return _OF_PROCESS


os.register_at_fork(after_in_child=_OF_PROCESS.clear)
