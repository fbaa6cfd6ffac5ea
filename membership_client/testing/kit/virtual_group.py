"""`VirtualGroup`: a group for tests in virtual time, step by step, without a broker."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, Self

from membership_client.arguments import (
    checked_function,
    checked_seconds,
    checked_text,
    checked_topic,
    checked_whole,
)
from membership_client.errors import ConfigError
from membership_client.testing.arguments import checked_program
from membership_client.testing.embedded.kafka import is_true
from membership_client.testing.kit.checks import CHECKS, Check, checked_checks, told_what_happened
from membership_client.testing.kit.events import (
    Crash,
    ExpireSession,
    Fence,
    Join,
    Leave,
    LoseAnswer,
    MoveCoordinator,
    Stall,
    StoryEvent,
)
from membership_client.testing.kit.history import History, What
from membership_client.testing.kit.instance import Instance
from membership_client.testing.kit.records import Records, checked_records
from membership_client.testing.kit.world import SETTLE_S, World

_TIMEOUT_S = 60.0


class VirtualGroup:
    """Instances of programs in one group, in virtual time, which passes only when the test lets it pass.

        def test_orders(virtual_group):
            virtual_group.produce(20)
            virtual_group.join("a", program)
            virtual_group.wait_processed(20)
            virtual_group.join("b", program)
            virtual_group.wait_assigned("a", "b")
            virtual_group.crash("a")
            virtual_group.advance(7.0)
            virtual_group.check()

    `program(instance)` is a program as for `explore`, plain or `async`. All methods are for the thread of the test, inside the
    `with` statement, whose end kills instances that still run. Time passes in `advance`, in the waits, and while a method waits
    for the end of a program. These methods raise AssertionError if a program, or one of its threads, has raised. A program that
    ends by a KafkaException or a MembershipError is started again after a second. The same test with the same `seed` is the
    same run.
    """

    def __init__(self, *, seed: int = 0, topic: str = "orders", partitions: int = 4) -> None:
        self.topic = checked_topic("topic", topic)
        number = checked_whole("seed", seed)
        count = checked_whole("partitions", partitions, least=1, most=1000)
        self._world = World(_no_program, number, self.topic, count, ())
        self._virtual_time: contextlib.AbstractContextManager[None] | None = None

    def __enter__(self) -> Self:
        entering = self._world.in_virtual_time()
        entering.__enter__()
        self._virtual_time = entering
        return self

    def __exit__(self, *_: object) -> None:
        if self._virtual_time is not None:
            ending, self._virtual_time = self._virtual_time, None
            try:
                self._world.scheduler.end()
            finally:
                ending.__exit__(None, None, None)

    @property
    def history(self) -> History:
        """The history up to now."""
        return self._world.history

    @property
    def now(self) -> float:
        """Seconds since the group was made."""
        return self._world.scheduler.now

    # --- events ------------------------------------------------------------------------------------------------------

    def produce(self, records: Records) -> None:
        """Produce this number of records, or these keys and values. They can be read at once."""
        for key, value in checked_records(records, first=len(self.history.records)):
            self._world.add_record(key, value, self.now)

    def join(self, name: str, program: Callable[[Any], object]) -> None:
        """Start an instance of the program. It begins when time passes."""
        checked_program(program)
        event = Join(name, at=self._at)
        if self._world.running(name) is not None:
            raise ConfigError(
                f"An instance {name!r} runs already: choose another name, or let it leave or crash first."
            )
        self._world.programs[name] = program
        self._do(event)

    def leave(self, name: str) -> None:
        """The program's next poll raises KeyboardInterrupt. Returns when it has ended."""
        instance = self._instance(name)
        self._do(Leave(name, at=self._at))
        self._raising(lambda: self._world.end([instance]))

    def crash(self, name: str) -> None:
        """The instance ends at once, as with `kill -9`. The group notices when its session ends, 6 s after its last heartbeat."""
        self._do_to(Crash(name, at=self._at))

    def fence(self, name: str) -> None:
        """The coordinator removes the instance's member: its next heartbeat gets FENCED_MEMBER_EPOCH."""
        self._do_to(Fence(name, at=self._at))

    def expire_session(self, name: str) -> None:
        """The coordinator removes the instance's member as if its session had ended."""
        self._do_to(ExpireSession(name, at=self._at))

    def stall(self, name: str, seconds: float) -> None:
        """The whole process stands still for this many seconds, from now on, and then goes on without knowing it."""
        self._do_to(Stall(name, for_s=checked_seconds("seconds", seconds), at=self._at))

    def lose_answer(self, name: str) -> None:
        """The next request of the instance is handled, but its answer never arrives."""
        self._do_to(LoseAnswer(name, at=self._at))

    def move_coordinator(self) -> None:
        """Another broker becomes the coordinator; for half a second there is none."""
        self._do(MoveCoordinator(at=self._at))

    def _do_to(self, event: Crash | Fence | ExpireSession | Stall | LoseAnswer) -> None:
        self._instance(event.name)
        self._do(event)

    def _do(self, event: StoryEvent) -> None:
        self._check_entered()
        self._world.do(event)

    def _instance(self, name: str) -> Instance:
        instance = self._world.running(checked_text("name", name))
        if instance is None:
            running = sorted(one.name for one in self._world.instances if one.alive)
            raise LookupError(f"There is no instance {name!r}; these instances run: {running}.")
        return instance

    # --- time --------------------------------------------------------------------------------------------------------

    def advance(self, seconds: float) -> None:
        """Let this many seconds pass."""
        until = self.now + checked_seconds("seconds", seconds)
        self._raising(lambda: self._world.scheduler.run(until))

    def wait_for(self, condition: Callable[[], object], timeout_s: float = _TIMEOUT_S) -> None:
        """Let time pass until the condition is true. If it raises LookupError, it counts as not true yet.

        Raises TimeoutError, with the history, after `timeout_s` of virtual time.
        """
        checked_function("condition", condition, "nothing")
        patience_s = checked_seconds("timeout_s", timeout_s)
        until = self.now + patience_s
        self._raising(lambda: self._world.scheduler.run(until, lambda: bool(self._world.errors) or is_true(condition)))
        if not is_true(condition):
            raise TimeoutError(
                f"The condition was not true within {patience_s:g} s of virtual time. What happened:\n{self.history}"
            )

    def wait_processed(self, count: int, timeout_s: float = _TIMEOUT_S) -> None:
        """Let time pass until the instances have processed `count` different records."""
        wanted = checked_whole("count", count)
        self.wait_for(
            lambda: len({(one.partitions, one.offset) for one in self.history.of(What.PROCESSED)}) >= wanted, timeout_s
        )

    def wait_assigned(self, *names: str, timeout_s: float = _TIMEOUT_S) -> None:
        """Let time pass until exactly these instances share the topic's partitions, and all callbacks for that have returned."""
        wanted = {checked_text("name", name) for name in names}
        self.wait_for(lambda: self._world.owners() == wanted, timeout_s)

    def wait_settled(self, timeout_s: float = SETTLE_S) -> None:
        """Let time pass until every partition has an owner, all records are read, and nothing has happened for a while."""
        self.wait_for(self._world.has_settled, timeout_s)

    def _raising(self, step: Callable[[], None]) -> None:
        """Do the step. If a program has raised, raise that error instead of the step's, because it may be the cause."""
        self._check_entered()
        try:
            step()
        finally:
            if self._world.errors:
                raise self._world.errors.pop(0)

    @property
    def _at(self) -> float:
        """The time of an event that happens now."""
        return round(self.now, 3)

    def _check_entered(self) -> None:
        if self._virtual_time is None:
            raise RuntimeError("Use the virtual group in a `with` statement, or the fixture `virtual_group`.")
        if self._world.scheduler.current() is not None:
            raise ConfigError("A program that is played cannot let time pass; only the test can.")

    # --- the end -----------------------------------------------------------------------------------------------------

    def check(self, *checks: Check) -> History:
        """End all instances and apply the checks; without any, those of `explore`. Returns the history."""
        given = checked_checks(checks)
        self.stop()
        with told_what_happened(self.history):
            for check in given or CHECKS:
                check(self.history)
        return self.history

    def stop(self) -> None:
        """End all instances, as `leave` does."""
        self._raising(self._world.close)
        self._world.is_closing = False


def _no_program(_: Instance) -> None:
    """Takes the place of the run's program, because each instance has a program of its own."""
