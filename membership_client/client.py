"""GroupMember: membership without a fetcher."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from membership_client.arguments import (
    P,
    PartitionLike,
    checked_instance,
    checked_items,
    checked_offsets,
    checked_partition,
    checked_partitions,
    checked_text,
    checked_timeout_s,
    checked_topic,
    optional,
    reason_text,
)
from membership_client.config import MemberConfig
from membership_client.core.events import (
    Budget,
    CallbackDelayed,
    CallbackReturned,
    LookAtCallback,
    Rebalance,
    Subscribe,
    Tick,
    Unsubscribe,
    Warn,
)
from membership_client.core.machine import Step
from membership_client.core.member import Member
from membership_client.core.view import error_of, health_of, snapshot_of
from membership_client.errors import (
    CallbackFailedError,
    ConfigError,
    ForkedMemberError,
    Identity,
    MemberClosedError,
    MembershipError,
    OffsetError,
    Problem,
    ProblemKind,
    WaitTimeoutError,
    error_for,
    may_resubscribe,
)
from membership_client.rebalance_report import RebalanceReport
from membership_client.runtime import forked
from membership_client.runtime.busy_thread import busy_thread, place_text, warning_of
from membership_client.runtime.listener import CallbackRunner, ThreadRunner, callbacks_of, warned_of
from membership_client.runtime.log import StepLog, log_warning, logger
from membership_client.runtime.member_setup import (
    checked_config,
    checked_observer,
    checked_runner,
    keeper_of,
    metrics_push_of,
    new_member_id,
    trace_file_of,
    transport_of,
)
from membership_client.runtime.membership_thread import Closing, MembershipThread, close_timeout_s
from membership_client.runtime.offsets import MemberOffsets
from membership_client.runtime.ownership import Ownership, OwnershipNumbers, being_assigned
from membership_client.runtime.rebalance_history import RebalanceHistory
from membership_client.runtime.siblings import siblings_of_process
from membership_client.runtime.topic_names import NamedPartitions, TopicNames
from membership_client.runtime.waiting import Condition, Tell, Waiter, not_met
from membership_client.runtime.worker import Observer, Worker
from membership_client.security import Security
from membership_client.security.settings import warn_of_weaknesses, with_password
from membership_client.trace import Journal
from membership_client.trace.journal import CommitTally
from membership_client.trace.values import encode
from membership_client.types import (
    CloseReport,
    Health,
    LeaveMode,
    MemberState,
    Offset,
    Snapshot,
    TopicPartition,
)

_TOPIC_NAMES = TopicNames()


class GroupMember:
    """Keeps this process in a consumer group, on a thread of its own. It reads no records: Consumer does.

        with GroupMember({"bootstrap.servers": "localhost:9092", "group.id": "tills"}) as member:
            member.subscribe(["orders"])
            snapshot = member.wait_until(MemberState.STABLE, timeout_s=30)
            print(snapshot.owned)

    Every method may be called from any thread. `subscribe` and `unsubscribe` return at once; `wait_until` waits for the
    outcome. `close` is bounded, idempotent and may be called in a signal handler.
    Heartbeats depend on nothing the application does: they go on while callbacks block and while it works.
    Each observer is called with every `Step`, on the membership thread, and must be quick; one that raises is dropped.
    Callbacks run on a thread of their own, unless a `runner` runs them elsewhere.
    A mapping may also hold the keys of `Security`. A `MemberConfig` holds no secrets, because it is written to traces:
    give them as `security`.
    """

    def __init__(
        self,
        config: MemberConfig | Mapping[str, Any],
        *,
        listener: object | None = None,
        observers: Sequence[Observer] = (),
        runner: CallbackRunner | None = None,
        security: Security | None = None,
    ) -> None:
        self._config, security = checked_config(config, security)
        if runner is not None and listener is not None:
            raise ConfigError("Give a listener, or a runner that brings its own callbacks, not both.")
        callbacks = callbacks_of(listener) if listener is not None else {}
        optional(checked_runner, "runner", runner)
        observers = checked_items("observers", observers, checked_observer)
        self._transport = transport_of(self._config, security)
        warn_of_weaknesses(security)
        member = Member(config=self._config, member_id=new_member_id())
        self._journal = Journal(member, trace_file_of(member))
        self._tally = CommitTally(self._journal)
        from membership_client.telemetry import Telemetry  # noqa: PLC0415 - takes long: it loads opentelemetry

        self._telemetry = Telemetry(member)
        ownership = OwnershipNumbers()
        self._history = history = RebalanceHistory()
        ours = (ownership.on_step, history.on_step, StepLog(history).on_step, self._journal.on_step)
        self._metrics_push = metrics_push_of(member)
        pushed = () if self._metrics_push is None else (self._metrics_push.on_step,)
        observers = (*ours, self._telemetry.on_step, *pushed, *observers, self._on_step)
        self._worker = Worker(member, self._transport, observers=observers, names=_TOPIC_NAMES)
        self._worker.side_task = self._metrics_push
        self._siblings = siblings_of_process()
        self._siblings.add(self._worker)
        self._worker.keeper = keeper_of(self._config, self._transport)
        self._offsets = MemberOffsets(self._worker, ownership)
        self._telemetry.watch(self._worker)
        self._runner = runner or ThreadRunner(callbacks, f"{self._config.group_id}-callbacks", warned_of(listener))
        self._worker.runner = self._runner
        self._thread = MembershipThread(self._run, f"{self._config.group_id}-membership")
        poll_interval_s = self._config.max_poll_interval_ms / 1000
        self._closing = Closing(self._worker, self._thread, self._runner, self._telemetry.asked, poll_interval_s)
        self._polled_by: int | None = None
        self._poller = threading.get_ident
        self._waiters: list[Waiter] = []
        self._unraised: queue.SimpleQueue[MembershipError] = queue.SimpleQueue()
        self._forgiven: Problem | None = None
        self._forked = False
        self._is_subscribed = False
        """True after subscribe(), False after unsubscribe(). The membership thread may not have processed it yet."""
        self._owned = NamedPartitions()
        forked.register(self)
        forked.refuse_in_forked_children(self, GroupMember._forked_error)

    # --- asking for membership ---------------------------------------------------------------------------------------

    def subscribe(self, topics: Iterable[str]) -> None:
        """Join with these topics, or change them while a member. Returns at once.

        In FATAL this starts over where the cause allows it (a full group that was enlarged, an ACL that was granted),
        and raises the error where it does not. A name that no topic can have is a ConfigError; a topic that does not
        exist is in `snapshot.missing_topics` some seconds later, until it does.
        """
        if isinstance(topics, str):
            raise ConfigError(f"subscribe() takes a list of topics; did you mean [{topics!r}]?")
        names = checked_items("topics", topics, checked_topic)
        if not names:
            raise ConfigError("subscribe() needs at least one topic; see unsubscribe().")
        self._subscribe(Subscribe(topics=frozenset(names)))

    def subscribe_pattern(self, regex: str) -> None:
        """Like subscribe(), for all topics whose whole name matches. The brokers evaluate the pattern, as RE2/J."""
        self._subscribe(Subscribe(regex=checked_text("subscribe_pattern(): the regular expression", regex)))

    def _subscribe(self, event: Subscribe) -> None:
        self._check_usable()
        member = self._worker.member
        if member.state is MemberState.FATAL and member.problem and not may_resubscribe(member.problem):
            raise error_for(member.problem, member.identity)
        self._forgiven = member.problem if member.state is MemberState.FATAL else None
        self._is_subscribed = True
        self._worker.post(self._telemetry.asked(event))
        if self._thread.may_start():
            self._thread.start()

    def unsubscribe(self, leave: LeaveMode = LeaveMode.DEFAULT, *, reason: str | None = None) -> None:
        """Give the partitions back and leave; stays usable. Returns at once: wait_until(UNSUBSCRIBED) waits."""
        self._check_usable()
        self._check_mode(leave)
        self._is_subscribed = False
        self._worker.post(self._telemetry.asked(Unsubscribe(mode=leave, reason=reason_text(reason))))

    def enforce_rebalance(self, reason: str | None = None) -> None:
        """Have a classic group rebalance; the broker logs the reason. Returns at once.

        Under KIP-848 the coordinator alone decides; the member only sends it a full heartbeat.
        """
        self._check_usable()
        self._worker.post(Rebalance(reason=reason_text(reason)))

    def poll(self) -> None:
        """Tell the member that the application is alive; raise what went wrong since the last call.

        Optional: the clock of `max.poll.interval.ms` starts with the first poll. Raises the error of a callback that
        raised (each once, under `callback_errors="raise"`), and the fatal error for as long as the member is FATAL.
        Cheap enough for every record.
        """
        worker = self._worker
        self._polled_by = self._poller()
        first, worker.polled_at = worker.polled_at is None, time.monotonic()
        if first or worker.member.state is MemberState.STALE:
            worker.post(Tick())
        self._check_usable()
        if not self._unraised.empty():
            raise self._unraised.get()
        if self._is_fatal() and (error := self.error):
            raise error

    def set_sasl_credentials(self, username: str, password: str) -> None:
        """Replace the user and password (PLAIN, SCRAM). Any thread.

        New connections and renewed sessions use them; open connections stay. ConfigError, which shows neither, if the
        configuration has no password. A member whose old password was refused starts over with subscribe().
        """
        self._check_usable()
        self._set_sasl_credentials(username, password)

    def _set_sasl_credentials(self, username: object, password: object) -> None:
        """Like `set_sasl_credentials`, also for a member that a bug has ended, because its Consumer still fetches."""
        self._transport.use(with_password(self._transport.security, username, password))

    # --- offsets -----------------------------------------------------------------------------------------------------

    def commit(self, offsets: Mapping[P, Offset | int], *, timeout_s: float = 10.0) -> None:
        """Commit as this member: each offset is that of the next record to read.

        Blocks until the coordinator has accepted all of them. A commit belongs to the ownership under which it was called.
        While that lasts, a commit that is refused for a stale epoch is repeated with the newest one. Once it is over,
        NotOwnedError is raised, mostly without a request, also if this member owns the partition again by then. An assigned
        or revoked callback can commit its partitions, a lost one cannot. Commits are carried out in the order of the calls.
        """
        whole = checked_offsets(offsets)
        self._commit(whole, self._ownership_of(whole), checked_timeout_s(timeout_s))

    def _delayed(self, call_id: int, since: float, why: str) -> None:
        """Report that a callback cannot begin yet, and why. Any thread."""
        self._worker.post(CallbackDelayed(call_id, since, why))

    def _ownership_of(self, partitions: Collection[TopicPartition]) -> Ownership:
        """The ownership of this moment, for a `_commit` that may come later. Any thread."""
        member = self._worker.known
        given = being_assigned(member).of_names({partition.topic for partition in partitions}, member.names)
        assigning = frozenset(given.named(member.names))
        return self._offsets.ownership.of(
            partitions, lambda partition: self.epoch > 0 and (partition in assigning or self.owns(partition))
        )

    def _commit(self, offsets: Mapping[TopicPartition, Offset], ownership: Ownership, timeout_s: float) -> None:
        """Like `commit`; the arguments are checked already."""
        self._check_usable()
        self._check_may_wait()
        if offsets:
            pushed = contextlib.nullcontext() if self._metrics_push is None else self._metrics_push.commit()
            with self._tally.commit(len(offsets)), self._telemetry.commit(), pushed:
                self._offsets.commit(offsets, ownership, timeout_s)

    def committed(
        self, partitions: Iterable[PartitionLike], *, timeout_s: float = 10.0
    ) -> dict[TopicPartition, Offset | None]:
        """The offsets that the group last committed; None where it committed none. Needs a subscription, which need not have the partitions."""
        timeout_s = checked_timeout_s(timeout_s)
        wanted = frozenset(checked_partitions("partitions", partitions))
        self._check_usable()
        self._check_may_wait()
        return self._offsets.committed(wanted, timeout_s) if wanted else {}

    # --- looking -----------------------------------------------------------------------------------------------------

    @property
    def snapshot(self) -> Snapshot:
        """The state of the member at this moment. Any thread, at any time, also after close()."""
        return snapshot_of(self._worker.known, time.monotonic())

    @property
    def epoch(self) -> int:
        """The member epoch; not positive while the member is not in its group. Cheap enough for every record."""
        return self._worker.member.epoch

    def assignment(self) -> frozenset[TopicPartition]:
        """The partitions that this member owns now: their assigned callback has returned, and no revoked or lost one has."""
        member = self._worker.known
        self._owned = owned = self._owned.changed_to(member.owned, member.names)
        return owned.named

    def owns(self, partition: PartitionLike) -> bool:
        """Does this member own the partition now? Cheap enough for every record, because it is a look-up in a set."""
        try:
            if partition in self.assignment():
                return True
        except TypeError:  # The argument cannot be hashed.
            pass
        # Checked only now, because what was found in the set is a partition. One of confluent-kafka's has another type.
        return checked_partition(partition) in self.assignment()

    @property
    def error(self) -> MembershipError | None:
        """The current problem, or None; fatal errors stay."""
        return error_of(self._worker.member)

    @property
    def trace(self) -> Journal:
        """The last steps of the member. `trace.save(path)` writes them for `membership-client diagnose`; any thread."""
        return self._journal

    def health(self) -> Health:
        """Whether the member is live and ready, and why, for probes. Any thread, at any time, also after close()."""
        if self._forked:
            return forked.child_health()
        return health_of(self._worker.member, time.monotonic())

    @property
    def last_rebalance(self) -> RebalanceReport | None:
        """The last rebalance of this member that has ended; None before the first. Any thread, also after close()."""
        return self._history.last

    def explain(self) -> str:
        """What this member does now, what it waits for and since when, its last rebalance, and what to do. For people; any thread."""
        return self._explain(waits_for_poll=False, callback_began_at=None)

    def _explain(self, *, waits_for_poll: bool, callback_began_at: float | None) -> str:
        """The text for a Consumer. `waits_for_poll`: the callback that is wanted has not begun, because no thread polls."""
        if self._forked:
            return forked.child_explanation()
        from membership_client.runtime.explanation import Circumstances, explanation  # noqa: PLC0415 - few programs ask

        history, worker = self._history, self._worker
        circumstances = Circumstances(
            now=time.monotonic(),
            state_since=history.state_since,
            last=history.last,
            last_ended_at=history.ended_at,
            polled_at=worker.polled_at,
            waits_for_poll=waits_for_poll,
            callback_began_at=callback_began_at,
            is_subscribed=self._is_subscribed,
            busy=place_text(self._runner.thread()),
        )
        return explanation(worker.known, circumstances)

    def wait_until(self, condition: Condition, timeout_s: float | None = None) -> Snapshot:
        """Wait for a state, or until a function of the snapshot returns True.

        Raises WaitTimeoutError when time is up, and the fatal error at once if the member ends FATAL instead.
        """
        outcomes: queue.SimpleQueue[Snapshot | Exception] = queue.SimpleQueue()
        with self._waiting(condition, outcomes.put) as waiter:
            try:
                outcome = outcomes.get(timeout=None if timeout_s is None else checked_timeout_s(timeout_s))
            except queue.Empty:
                raise self._too_late(condition, timeout_s) from None
        return self._verdict(waiter, outcome)

    @contextlib.contextmanager
    def _waiting(self, condition: Condition, tell: Tell) -> Iterator[Waiter]:
        """Inside the block, `tell` is called with the outcome of the wait, at once or later."""
        waiter = Waiter(condition, tell)
        self._check_usable(closing_is_fine=True)
        self._waiters.append(waiter)
        try:
            if self._is_fatal() or self._worker.member.state is not MemberState.FATAL:
                waiter.offer(self.snapshot)
            if self._worker.stopped:
                tell(self.snapshot)  # The member has ended, so no thread will call `tell`.
            yield waiter
        finally:
            self._waiters.remove(waiter)

    def _too_late(self, condition: Condition, timeout_s: float | None) -> WaitTimeoutError:
        detail = f"{not_met(condition)} within {timeout_s} s: {self.health().why}."
        return WaitTimeoutError(detail, self._identity)

    def _verdict(self, waiter: Waiter, outcome: Snapshot | Exception) -> Snapshot:
        if isinstance(outcome, Exception):
            raise outcome
        if not waiter.wanted(outcome):
            ended = outcome.error if outcome.state is MemberState.FATAL else None
            raise ended or MemberClosedError("The member was closed meanwhile.", self._identity)
        return outcome

    # --- closing -----------------------------------------------------------------------------------------------------

    def close(
        self, leave: LeaveMode = LeaveMode.DEFAULT, *, reason: str | None = None, timeout_s: float | None = None
    ) -> CloseReport:
        """Give the partitions back, leave, and end the thread, within `timeout_s`. A second call does nothing.

        Without a timeout the coordinator has 10 s, and each callback `max.poll.interval.ms`, as the group grants it. With
        one, the membership ends in time even if a callback still runs; its commits are refused then. The report says what
        was done and how it ended. Inside a callback or an observer close() cannot wait for the thread that calls it: it
        returns at once, and the close goes on when the callback or observer has returned.
        """
        reason, timeout_s = self._close_arguments(leave, reason, timeout_s)
        return forked.child_close() if self._forked else self._closing.close(leave, reason, timeout_s)

    def _close_arguments(
        self, leave: LeaveMode, reason: object, timeout_s: float | None
    ) -> tuple[str | None, float | None]:
        """The reason and the timeout. Checks all arguments before anything is done."""
        self._check_mode(leave)
        return reason_text(reason), close_timeout_s(timeout_s)

    def _begin_close(self, leave: LeaveMode, reason: str | None, timeout_s: float | None) -> None:
        """Begin to close without waiting, so that several members leave at the same time; close() waits for the end."""
        self._closing.begin(leave, reason, timeout_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(reason=f"closed after an exception: {kind.__name__}" if kind else None)

    # --- on the membership thread, and checks ------------------------------------------------------------------------

    def _run(self) -> None:
        """The membership thread: runs the member until it has ended."""
        try:
            if self._worker.keeper is not None:
                self._worker.keeper.link.prepare()
            self._worker.run()
        except BaseException:  # noqa: BLE001 - the member is FATAL with this error as its problem
            logger.exception("[%s] the membership thread ended by a bug; please report it", self._config.group_id)
        finally:
            self._siblings.remove(self._worker)
            self._tally.sum_up()
            self._journal.close()
            self._telemetry.end()
            self._offer_last()

    def _on_step(self, step: Step) -> None:
        """The last observer, called on the membership thread after every step."""
        self._siblings.tell(self._worker, step)
        for effect in step.effects:
            if isinstance(effect, Warn):
                self._warn(effect, step.after)
            elif isinstance(effect, LookAtCallback):
                busy = busy_thread(self._runner.thread())
                facts = {"call": effect.call_id, "spent": effect.spent_s, "thread": busy.name}
                self._journal.note("stack", **facts, stack=list(busy.stack))
        if isinstance(step.event, CallbackReturned) and step.event.error and self._config.callback_errors == "raise":
            self._unraised.put(CallbackFailedError(f"A callback raised {step.event.error}.", step.before.identity))
        if self._waiters:
            snapshot = snapshot_of(step.after, step.at)
            for waiter in tuple(self._waiters):
                waiter.offer(snapshot)

    def _warn(self, effect: Warn, member: Member) -> None:
        """Write the warning to the log and the trace, and pass it to the listener."""
        # A close may wait for the coordinator only, while no thread is busy.
        called_by = self._runner.thread() if member.call is not None else None
        warning = warning_of(effect, self._polled_by if effect.budget is Budget.POLL else called_by)
        log_warning(member, warning)
        facts = {"spent": warning.spent_s, "limit": warning.limit_s, "thread": warning.thread}
        self._journal.note(
            "warning", budget=encode(effect.budget), call=effect.call_id, **facts, stack=list(warning.stack)
        )
        self._runner.warn(warning)

    def _offer_last(self) -> None:
        snapshot = self.snapshot
        for waiter in tuple(self._waiters):
            waiter.tell(snapshot)

    @property
    def _identity(self) -> Identity:
        return self._worker.member.identity

    def _is_fatal(self) -> bool:
        """Has the member ended FATAL? False while the membership thread has not yet processed a subscribe() that starts over."""
        member = self._worker.member
        return member.state is MemberState.FATAL and (member.problem is None or member.problem is not self._forgiven)

    def _check_may_wait(self) -> None:
        if self._thread.is_current:
            raise MembershipError(
                "An observer runs on the membership thread, which cannot wait for itself.", self._identity
            )
        if not self._thread.was_started:
            # Without a subscription there is no thread yet, so the call would wait for its whole timeout.
            raise OffsetError("Offsets are committed and read as a member: call subscribe() first.", self._identity)

    def _check_mode(self, leave: LeaveMode) -> None:
        checked_instance("leave", leave, LeaveMode)
        if leave is LeaveMode.TEMPORARY and self._config.group_instance_id is None:
            raise ConfigError("Only static members can leave temporarily: set group.instance.id, or use another mode.")

    def _check_usable(self, *, closing_is_fine: bool = False) -> None:
        if self._forked:
            raise self._forked_error()
        problem = self._worker.member.problem
        if problem is not None and problem.kind is ProblemKind.CRASHED:
            raise error_for(problem, self._identity)
        if self._worker.stopped and not closing_is_fine:
            raise MemberClosedError("This member is closed.", self._identity)

    def _forked_error(self) -> ForkedMemberError:
        return ForkedMemberError(forked.BELONGS_TO_PARENT, self._identity)

    def _after_fork(self) -> None:
        """In a forked child: close the copies of sockets and files, without sending anything."""
        self._forked = True
        self._worker.stopped = True
        if self._worker.keeper is not None:
            self._worker.keeper.link.abandon()
        self._transport.abandon()
        self._journal.after_fork()
