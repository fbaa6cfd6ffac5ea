"""The simulated world, on one clock and in one thread: brokers, processes, the network between them, and a queue.

The same script gives the same run, event by event.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from functools import partial

from membership_client.core.events import Heartbeat, LeaveGroup, Request, Response, Send, Subscribe
from membership_client.core.machine import Step
from membership_client.core.siblings import announced, are_siblings, concerns
from membership_client.testing.fake_cluster import FakeCluster
from tests.simulation.chance import Chance
from tests.simulation.keeper import SimulatedKeeper
from tests.simulation.network import Endpoint, Network
from tests.simulation.process import Process
from tests.simulation.record import Record
from tests.simulation.script import KeeperTrouble, Mood, Plan, Script

GROUP = "g"


class ViolationError(AssertionError):
    """A rule was broken; the text names the rule, the member and the time."""


class Checker:
    """Watches a run and raises ViolationError; overrides what it needs to see. It changes nothing."""

    def stepped(self, world: World, process: Process, taken: Step) -> None:
        """A member took a step."""

    def handled(self, world: World, process: Process, send: Send, response: Response) -> None:
        """A broker answered a request; the answer has not arrived yet."""

    def happened(self, world: World) -> None:
        """Something happened, anywhere, and everything it caused at this instant has happened too."""


class World:
    """Processes stay in `processes` when they end: `alive` tells."""

    def __init__(self, script: Script, checkers: Sequence[Checker] = ()) -> None:
        self.script = script
        self.now = 0.0
        self.chance = Chance(script.seed)
        self.cluster = FakeCluster(dict(script.topics), script.settings)
        if script.too_old:
            self.cluster.lacks = frozenset({Heartbeat})
        self.network = Network(self.cluster, self.chance, script.latency_s, self.at, self._handled)
        self.settings = script.settings
        self.moods: list[Mood] = []
        self.keeper_troubles: list[KeeperTrouble] = []
        self.callback_s = script.callback_s
        self.moved_at = float("-inf")
        """When the coordinator last moved, by which sessions become longer than the settings say."""
        self.processes: list[Process] = []
        self.record = Record(self.cluster)
        self._plans = {plan.name: plan for plan in script.plans}
        self._on_stepped = [c.stepped for c in checkers if type(c).stepped is not Checker.stepped]
        self._on_handled = [c.handled for c in checkers if type(c).handled is not Checker.handled]
        self._on_happened = [c.happened for c in checkers if type(c).happened is not Checker.happened]
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._queued = 0

    # --- time --------------------------------------------------------------------------------------------------------

    def at(self, time: float, action: Callable[[], None]) -> None:
        self._queued += 1
        heapq.heappush(self._queue, (max(time, self.now), self._queued, action))

    def run_until(self, end: float) -> None:
        """Process all events up to and including that time."""
        while self._queue and self._queue[0][0] <= end:
            time, _, action = heapq.heappop(self._queue)
            self._set_clock(time)
            action()
            for happened in self._on_happened:
                happened(self)
        self._set_clock(end)

    def _set_clock(self, time: float) -> None:
        self.now = self.network.now = time
        self.cluster.advance(time)

    # --- processes ---------------------------------------------------------------------------------------------------

    def start(self, name: str) -> None:
        """A new incarnation; the one before it, if it still runs, is killed."""
        if (running := self.running(name)) is not None:
            running.kill()
        earlier = [process for process in self.processes if process.name == name]
        process = Process(self, self._plans[name], len(earlier) + 1)
        self.processes.append(process)
        process.ask(Subscribe(process.plan.topics, process.plan.regex))

    def running(self, name: str) -> Process | None:
        return next((process for process in self.processes if process.name == name and process.alive), None)

    @property
    def alive(self) -> list[Process]:
        return [process for process in self.processes if process.alive]

    def plan(self, name: str) -> Plan:
        return self._plans[name]

    # --- watching ----------------------------------------------------------------------------------------------------

    def show(self, process: Process, taken: Step) -> None:
        self.record.add_step(process.member_id, taken)
        for stepped in self._on_stepped:
            stepped(self, process, taken)
        self._tell_siblings(process, taken)

    def _tell_siblings(self, process: Process, taken: Step) -> None:
        """Tell siblings, as `runtime/siblings.py` does, but late, in any order, or not at all."""
        event = announced(taken.before, taken.effects, taken.after)
        for other in self.alive if event is not None and process.plan.shares else ():
            if other is process or other.plan.shares != process.plan.shares:
                continue
            about = (process.member_id, other.member_id, taken.after.ids)
            heard = not self.chance.happens(self.script.siblings_lost, "not told", about)
            if (
                event is not None
                and heard
                and are_siblings(taken.after, other.member)
                and concerns(other.member, event)
            ):
                late_s = self.chance.between(0.0, self.script.siblings_late_s, "told", about)
                self.at(self.now + late_s, partial(other.receive, event))

    def _handled(self, endpoint: Endpoint, send: Send, response: Response) -> None:
        if isinstance(endpoint, SimulatedKeeper):
            return  # No request of the member: the rules about those are not about it.
        assert isinstance(endpoint, Process)
        for handled in self._on_handled:
            handled(self, endpoint, send, response)


def is_leave_request(request: Request) -> bool:
    """Does it take a member out of the group, for good or for a while?"""
    return isinstance(request, LeaveGroup) or (isinstance(request, Heartbeat) and request.epoch < 0)
