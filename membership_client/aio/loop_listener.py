"""The application's callbacks, as the Consumer's thread calls them: they run on the loop while that thread waits."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Iterator, Mapping

from membership_client.aio.actor import Actor, Job, Jobs, nothing
from membership_client.aio.loop_call import LOST, LoopCall
from membership_client.aio.reports import warnings_on_loop
from membership_client.core.events import CallbackKind
from membership_client.runtime.listener import Callback, CallbackContext, OnWarning
from membership_client.types import TopicPartition

_SLICE_S = 0.05
"""How often the waiting thread checks whether the partitions are lost, or the loop is closed."""


class LoopListener:
    """A listener for the sync Consumer. The thread that waits for a callback does what the callback asks for."""

    def __init__(self, loop: asyncio.AbstractEventLoop, actor: Actor) -> None:
        self.on_budget_warning: OnWarning | None = None
        self._callbacks: Mapping[CallbackKind, Callback] = {}
        self._loop = loop
        self._actor = actor
        self._call: LoopCall | None = None
        self._jobs = actor.jobs

    @contextlib.contextmanager
    def using(self, callbacks: Mapping[CallbackKind, Callback], on_warning: OnWarning | None) -> Iterator[None]:
        """Use these callbacks from now on; if the block raises, go back to the former ones."""
        before = self._callbacks, self.on_budget_warning
        self._callbacks, self.on_budget_warning = callbacks, warnings_on_loop(self._loop, on_warning)
        try:
            yield
        except BaseException:
            self._callbacks, self.on_budget_warning = before
            raise

    @property
    def is_calling(self) -> bool:
        """Is the caller a callback, or a task that it has started?"""
        return self._call is not None and self._call.is_current

    def post(self, job: Job, *, alone: bool = False) -> None:
        """Post a job: for a callback to the thread that waits for it, for all other callers to the consumer's own thread."""
        if self.is_calling:
            self._jobs.post(job)
        else:
            self._actor.post(job, alone=alone)

    def on_partitions_assigned(self, partitions: tuple[TopicPartition, ...], context: CallbackContext) -> None:
        self._run(CallbackKind.ASSIGNED, partitions, context)

    def on_partitions_revoked(self, partitions: tuple[TopicPartition, ...], context: CallbackContext) -> None:
        self._run(CallbackKind.REVOKED, partitions, context)

    def on_partitions_lost(self, partitions: tuple[TopicPartition, ...], context: CallbackContext) -> None:
        self._run(CallbackKind.LOST, partitions, context)

    def _run(self, kind: CallbackKind, partitions: tuple[TopicPartition, ...], context: CallbackContext) -> None:
        if (callback := self._callbacks.get(kind)) is None:
            return
        # During a hold another thread runs the callback, and does the jobs that the callback posts.
        self._jobs = self._actor.jobs if self._actor.is_current() else Jobs()
        outcome: list[BaseException | None] = []
        ended = functools.partial(_note, outcome, self._jobs)
        self._call = LoopCall(self._loop, functools.partial(callback, partitions, context), context, ended)
        self._call.start()
        while not outcome:
            self._jobs.serve(_SLICE_S)
            self._watch(self._call, lost=context.lost and kind is not CallbackKind.LOST)
        if outcome[0] is not None:
            raise outcome[0]

    def _watch(self, call: LoopCall, *, lost: bool) -> None:
        call.end_with_loop()
        if lost:
            call.give_up(LOST)


def _note(outcome: list[BaseException | None], jobs: Jobs, error: BaseException | None) -> None:
    """Note how the callback ended, and wake the thread that waits for it. Any thread."""
    outcome.append(error)
    jobs.post(nothing)
