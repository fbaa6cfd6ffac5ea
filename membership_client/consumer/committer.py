"""All commits of one consumer, in the order they were asked for, one request at a time, on a thread of their own.

One after the other because a later commit that overtakes an earlier one is set back by it. Those that wait together are
sent together, so a commit after every record costs one request per round trip and not one per record.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
from collections.abc import Callable, Collection, Iterable
from dataclasses import field, replace

from membership_client.errors import MembershipError, NotOwnedError, OffsetError, OffsetTimeoutError
from membership_client.runtime.ownership import Ownership
from membership_client.types import Offset, TopicPartition
from membership_client.values import dataclass

logger = logging.getLogger("membership_client")

Offsets = dict[TopicPartition, Offset]


@dataclass(frozen=True, slots=True, eq=False)
class Commit:
    """`done` is called once, on the committer's thread, with what went wrong or None."""

    offsets: Offsets
    done: Callable[[MembershipError | None], None]
    ownership: Ownership = field(default_factory=dict)
    """Filled in when it is submitted: under which ownership it was made."""


Job = Commit | Callable[[], None]


class Committer:
    """Commits, and other jobs that block on the coordinator. Starts its thread with the first of them.

    If the system has no thread to spare, jobs wait until `start` succeeds, or until a thread that waits does them itself.
    """

    def __init__(
        self,
        commit: Callable[[Offsets, Ownership], None],
        ownership_of: Callable[[Collection[TopicPartition]], Ownership],
        name: str,
    ) -> None:
        self._commit = commit
        self._ownership_of = ownership_of
        self._name = name
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    def commit_and_wait(self, offsets: Offsets, timeout_s: float) -> MembershipError | None:
        """After all that were submitted before. OffsetTimeoutError leaves it under way."""
        outcome: queue.SimpleQueue[MembershipError | None] = queue.SimpleQueue()
        self.submit(Commit(offsets, outcome.put))
        if self._thread is None:
            self._do_waiting()
        try:
            return outcome.get(timeout=timeout_s)
        except queue.Empty:
            raise OffsetTimeoutError(f"Offsets were not committed within {timeout_s:g} s.") from None

    def submit(self, job: Job) -> None:
        """Have it done in its turn. Any thread; never blocks."""
        if isinstance(job, Commit):
            job = replace(job, ownership=self._ownership_of(job.offsets))
        self._jobs.put(job)
        self.start()

    def stop(self) -> None:
        """End the thread after what was submitted."""
        self._jobs.put(None)

    def start(self) -> None:
        """Start the thread if jobs wait for it. Any thread; cheap."""
        if self._thread is not None or self._jobs.empty():
            return
        with self._starting:
            if self._thread is None:
                thread = threading.Thread(target=self._work, name=self._name, daemon=True)
                try:
                    thread.start()
                except RuntimeError:
                    logger.warning("No thread can be started for commits; trying again.")
                else:
                    self._thread = thread

    def _do_waiting(self) -> None:
        """On a thread that waits for its commit, because there is no other."""
        with contextlib.suppress(queue.Empty):
            while (job := self._jobs.get_nowait()) is not None:
                self._carry_out([job]) if isinstance(job, Commit) else job()

    def _work(self) -> None:
        job = self._jobs.get()
        while job is not None:
            if isinstance(job, Commit):
                job = self._carry_out_from(job)
            else:
                job()
                job = self._jobs.get()

    def _carry_out_from(self, first: Commit) -> Job | None:
        """This commit and those that wait right behind it; returns the job that comes after them."""
        commits = [first]
        while not self._jobs.empty():
            job = self._jobs.get()
            if not isinstance(job, Commit):
                self._carry_out(commits)
                return job
            commits.append(job)
        self._carry_out(commits)
        return self._jobs.get()

    def _carry_out(self, commits: list[Commit]) -> None:
        error = self._try(*_merged(commits))
        # One partition that is not owned refuses them all, so the others get a chance of their own.
        alone = isinstance(error, NotOwnedError) and len(commits) > 1
        for commit in commits:
            commit.done(self._try(commit.offsets, commit.ownership) if alone else error)

    def _try(self, offsets: Offsets, ownership: Ownership) -> MembershipError | None:
        try:
            self._commit(offsets, ownership)
        except MembershipError as error:
            return error
        except Exception as error:
            # Without this thread no commit is carried out any more, and no partition begins.
            logger.exception("A commit ended by a bug; please report it.")
            return OffsetError(f"The commit ended by a bug: {error!r}.")
        return None


def _merged(commits: Iterable[Commit]) -> tuple[Offsets, Ownership]:
    """Later ones win."""
    offsets: Offsets = {}
    ownership: dict[TopicPartition, int | None] = {}
    for commit in commits:
        offsets.update(commit.offsets)
        ownership.update(commit.ownership)
    return offsets, ownership
