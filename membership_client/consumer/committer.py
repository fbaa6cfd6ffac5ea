"""All commits of one consumer, in the order of their calls, one request at a time, on a thread of their own.

There is one at a time, because an earlier commit that arrives after a later one would set the group back. Commits that wait
are sent together, so a commit after every record costs one request per round trip and not one per record.
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
    """Offsets to commit. `done` is called once, on the committer's thread, with the error, or None if all went well."""

    offsets: Offsets
    done: Callable[[MembershipError | None], None]
    ownership: Ownership = field(default_factory=dict)
    """The ownership under which the commit was made; filled in when it is submitted."""


Job = Commit | Callable[[], None]


class Committer:
    """Carries out commits, and other jobs that wait for the coordinator, on a thread that starts with the first of them.

    If the system can start no thread, jobs wait until `start` succeeds, or until a thread that waits does them itself.
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
        """Commit after all that was submitted before, and return the error. After an OffsetTimeoutError it is still under way."""
        outcome: queue.SimpleQueue[MembershipError | None] = queue.SimpleQueue()
        self.submit(Commit(offsets, outcome.put))
        if self._thread is None:
            self._do_waiting()
        try:
            return outcome.get(timeout=timeout_s)
        except queue.Empty:
            raise OffsetTimeoutError(f"Offsets were not committed within {timeout_s:g} s.") from None

    def submit(self, job: Job) -> None:
        """Have the job done after all earlier ones. Any thread; never blocks."""
        if isinstance(job, Commit):
            job = replace(job, ownership=self._ownership_of(job.offsets))
        self._jobs.put(job)
        self.start()

    def stop(self) -> None:
        """End the thread after the jobs that were submitted."""
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
        """Do the jobs on the calling thread, which waits for its commit, because no other thread could be started."""
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
        """Carry out this commit and those that wait right behind it; returns the job that comes after them."""
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
        # One partition that is not owned fails the whole request, so each commit is then sent alone.
        alone = isinstance(error, NotOwnedError) and len(commits) > 1
        for commit in commits:
            commit.done(self._try(commit.offsets, commit.ownership) if alone else error)

    def _try(self, offsets: Offsets, ownership: Ownership) -> MembershipError | None:
        try:
            self._commit(offsets, ownership)
        except MembershipError as error:
            return error
        except Exception as error:
            # The thread must go on: without it no offset is committed or looked up any more.
            logger.exception("A commit ended by a bug; please report it.")
            return OffsetError(f"The commit ended by a bug: {error!r}.")
        return None


def _merged(commits: Iterable[Commit]) -> tuple[Offsets, Ownership]:
    """All commits as one; of two offsets for a partition the later one counts."""
    offsets: Offsets = {}
    ownership: dict[TopicPartition, int | None] = {}
    for commit in commits:
        offsets.update(commit.offsets)
        ownership.update(commit.ownership)
    return offsets, ownership
