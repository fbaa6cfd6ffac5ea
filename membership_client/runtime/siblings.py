"""The members of this process, which tell each other of changes that `core.siblings` finds in their steps.

There are no locks, because a signal handler may make or close a member at any moment. There are no strong references, so
that a member that the application has dropped can be collected. A forked child has none of its parent's members.
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
        """Post what this step means to the siblings of the worker's member. Called on its thread; never waits."""
        event = announced(step.before, step.effects, step.after)
        if event is None:
            return
        for other in present(self._workers):
            # The check on this thread saves most siblings a wake-up: 100 members would cause 9,900.
            if other is not worker and are_siblings(step.after, other.member) and concerns(other.member, event):
                other.sibling_changed(event)

    def clear(self) -> None:
        """For a forked child: its parent's members do not run there."""
        self._workers = weakref.WeakSet()


_OF_PROCESS = Siblings()


def siblings_of_process() -> Siblings:
    return _OF_PROCESS


os.register_at_fork(after_in_child=_OF_PROCESS.clear)
