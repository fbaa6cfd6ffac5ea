"""One process with one member in it: what a worker thread, a callback thread and an application do, in virtual time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from membership_client.config import MemberConfig
from membership_client.core.events import (
    CallbackReturned,
    Close,
    Disconnect,
    Effect,
    Event,
    Polled,
    RunCallback,
    Send,
    Stop,
    Subscribe,
    Tick,
    Unsubscribe,
)
from membership_client.core.machine import Step, deadline, step
from membership_client.core.member import Member
from membership_client.runtime.keeper_control import KeeperControl
from membership_client.testing.fake_coordinator import CoordinatorSettings
from membership_client.types import MemberState
from tests.simulation.chance import Chance
from tests.simulation.keeper import SimulatedKeeper
from tests.simulation.network import Network
from tests.simulation.script import KeeperTrouble, Mood, Plan

POLLS_PER_INTERVAL = 4


class Surroundings(Protocol):
    """The parts of the world that a process uses."""

    now: float
    network: Network
    chance: Chance
    moods: list[Mood]
    keeper_troubles: list[KeeperTrouble]
    callback_s: tuple[float, float]
    settings: CoordinatorSettings

    def at(self, time: float, action: Callable[[], None]) -> None: ...
    def show(self, process: Process, taken: Step) -> None: ...


@dataclass(eq=False)
class Process:
    world: Surroundings
    plan: Plan
    incarnation: int
    name: str = field(init=False)
    member_id: str = field(init=False)
    member: Member = field(init=False)
    alive: bool = True
    """True while the process is neither killed nor closed."""
    stalled_until: float | None = None
    is_held: bool = False
    """True if it stalls because an extension holds the interpreter, so that its keeper goes on."""
    held_at: float = 0.0
    kept_until: float = float("-inf")
    """Until when its keeper should keep the session, by the order at the beginning of the hold."""
    keeper: SimulatedKeeper | None = None
    control: KeeperControl | None = None
    idle_until: float = float("-inf")
    wish: Subscribe | None = None
    """The application's last subscription; None after it left the group."""
    asked_at: float = 0.0
    ended_at: float | None = None
    """When the member became FATAL."""
    unseen: list[Event] = field(default_factory=list)
    """The answers that arrived while it was stalled."""
    polled_at: float | None = None
    noted_poll: float | None = None
    due: float | None = None
    """When its worker must be woken at the latest."""
    wakes_at: float | None = None

    def __post_init__(self) -> None:
        self.name = self.plan.name
        self.member_id = f"{self.name}{self.incarnation}"
        self.member = Member(config=_config(self.plan, self.world.settings), member_id=self.member_id)
        if self.plan.keeper:
            self.keeper = SimulatedKeeper(self.world, self.name, self.member_id, self._runs)
            self.control = KeeperControl(self.keeper, lambda: self.world.now)
        if self.plan.polls:
            self._poll()

    # --- what the application does -----------------------------------------------------------------------------------

    def ask(self, event: Subscribe | Unsubscribe | Close) -> None:
        self.asked_at, self.wish = self.world.now, event if isinstance(event, Subscribe) else None
        self.receive(event)

    def _poll(self) -> None:
        if not self.alive:
            return
        world = self.world
        if world.now >= self.idle_until and self.stalled_until is None:
            first, self.polled_at = self.polled_at is None, world.now
            if first or self.member.state is MemberState.STALE:
                self.receive(Tick())
        world.at(world.now + self.plan.poll_interval_s / POLLS_PER_INTERVAL, self._poll)

    def kill(self) -> None:
        self.alive = False
        self.world.network.forget(self)
        if self.keeper is not None:
            self.keeper.close()

    def _runs(self) -> bool:
        """The member as its keeper sees it."""
        return self.alive and (self.stalled_until is None or self.is_held)

    def stall(self, until: float, *, held: bool = False) -> None:
        self.stalled_until, self.is_held = until, held
        self.held_at = self.world.now
        self.kept_until = self.keeper.until if held and self.keeper is not None else float("-inf")
        self.world.at(until, partial(self._resume, until))

    def _resume(self, until: float) -> None:
        if self.stalled_until != until or not self.alive:
            return
        self.stalled_until = None
        unseen, self.unseen = self.unseen, []
        for event in (*unseen, Tick()):
            self.receive(event)

    # --- what its worker does ----------------------------------------------------------------------------------------

    def receive(self, event: Event) -> None:
        if self.stalled_until is not None:
            self.unseen.append(event)
            return
        if self.polled_at is not None and self.polled_at != self.noted_poll:
            self.noted_poll = self.polled_at
            self._take(Polled(self.polled_at))
        if self.control is not None and (report := self.control.news(self.member.request_timeout_s)):
            self._take(report)
        self._take(event)
        self._arm()

    def _take(self, event: Event, *, again: bool = False) -> None:
        if not self.alive:
            return
        before, now = self.member, self.world.now
        after, effects = step(before, event, now)
        report = self.control.before(event, after, effects, held=False) if self.control is not None else None
        if report is not None and again:
            self.world.at(now, partial(self.receive, report))
        elif report is not None:
            self._take(report)
            self._take(event, again=True)
            return
        self.member = after
        self.due = deadline(self.member)
        if self.member.state is MemberState.FATAL and before.state is not MemberState.FATAL:
            self.ended_at = now
        self.world.show(self, Step(now, before, event, effects, self.member))
        for effect in effects:
            self._perform(effect)

    def _arm(self) -> None:
        at = self.due if self.alive else None
        if at is not None and at != self.wakes_at:
            self.world.at(at, partial(self._wake, at))
        self.wakes_at = at

    def _wake(self, at: float) -> None:
        if self.wakes_at == at and self.alive and self.stalled_until is None:
            self.receive(Tick())

    def _perform(self, effect: Effect) -> None:
        if isinstance(effect, Send):
            self.world.network.send(self, effect)
        elif isinstance(effect, Disconnect):
            self.world.network.disconnect(self, effect.to)
        elif isinstance(effect, RunCallback):
            self._call(effect)
        elif isinstance(effect, Stop):
            self.kill()

    def _call(self, call: RunCallback) -> None:
        world, about = self.world, (self.member_id, call.call_id)
        moods = [m for m in world.moods if m.who in {None, self.name} and m.until > world.now]
        slowest_s = max((m.slow_s for m in moods), default=0.0)
        fails = max((m.fails for m in moods), default=0.0)
        lowest_s, highest_s = world.callback_s
        takes_s = slowest_s or world.chance.between(lowest_s, highest_s, "callback", about)
        error = "RuntimeError: as the script wants it" if world.chance.happens(fails, "raise", about) else None
        world.at(world.now + takes_s, partial(self.receive, CallbackReturned(call.call_id, error)))


def _config(plan: Plan, settings: CoordinatorSettings) -> MemberConfig:
    classic: dict[str, Any] = {
        "partition_assignment_strategy": (plan.strategy,),
        "session_timeout_ms": int(settings.session_timeout_s * 1000),
        "heartbeat_interval_ms": int(settings.heartbeat_interval_s * 1000),
        "metadata_max_age_ms": 3000,
    }
    return MemberConfig(
        bootstrap_servers="b1:9092,b2:9092",
        group_id="g",
        group_protocol="classic" if plan.strategy else "consumer",
        **(classic if plan.strategy else {}),
        client_id=plan.name,
        group_instance_id=plan.instance_id,
        group_instance_id_conflict=plan.conflict,
        callback_errors=plan.callback_errors,
        max_poll_interval_ms=int(plan.poll_interval_s * 1000),
        request_timeout_ms=int(plan.request_timeout_s * 1000),
        retry_when_full_s=plan.retry_when_full_s,
    )
