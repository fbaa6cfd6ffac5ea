"""A seeded monkey: it kills and pauses brokers and members, cuts networks, and rolls deployments."""

from __future__ import annotations

import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.benchmarks.soak_cluster import BROKERS, SoakCluster
from tests.benchmarks.soak_fleet import SESSION_S, Fleet, Slot
from tests.integration.proxy import CLASSIC_HEARTBEAT, HEARTBEAT, OFFSET_COMMIT

Act = Callable[[], object]


@dataclass(slots=True)
class Monkey:
    """One act after the other, except that members sleep while it goes on. No outage is as long as a session.

    The first acts are one of each kind, so that a short run has them all, and the very first is a sleep: of members that
    are in their group, while the others act.
    """

    cluster: SoakCluster
    fleet: Fleet
    slots: list[Slot]
    random: random.Random
    say: Callable[[str], None]
    acts: Counter[str] = field(default_factory=Counter)
    _asleep: dict[Slot, float] = field(default_factory=dict)
    """Who is stopped, and until when."""

    def run(self, seconds: float, stop: threading.Event) -> None:
        until = time.monotonic() + seconds
        deck = self._deck()
        while time.monotonic() < until and not stop.is_set():
            act = deck.pop() if deck else self.random.choice(self._choices())
            name = act.__name__.strip("_").replace("_", " ")
            self.acts[name] += 1
            self.say(f"monkey: {name}")
            act()
            self._wake(time.monotonic())
            self.fleet.revive()
            stop.wait(self.random.uniform(0.2, 3.0))
        self.calm()

    def calm(self) -> None:
        """Everything runs and flows again."""
        self._wake(float("inf"))
        for proxy in self.cluster.proxies.values():
            proxy.mend()
        self.fleet.revive()

    def _deck(self) -> list[Act]:
        """The last one is drawn first."""
        one_of = self.random.choice
        deck: list[Act] = [self.kill_a_process, self.roll_a_group, one_of(self._brokers()), one_of(self._networks())]
        self.random.shuffle(deck)
        return [*deck, self.sleep]

    def _choices(self) -> list[Act]:
        members = [self.kill_a_process, self.kill_a_process, self.nap, self.sleep, self.sleep, self.roll_a_group]
        return [*members, *self._brokers(), *self._networks()]

    def _brokers(self) -> list[Act]:
        """One at a time: those that are killed together may lose what they have acknowledged, groups and all."""
        return [self.kill_a_broker, self.stop_a_broker, self.pause_a_broker]

    def _networks(self) -> list[Act]:
        return [self.cut, self.stall, self.one_way, self.reset, self.forget, self.slow, self.spoil, self.cut]

    # --- members -----------------------------------------------------------------------------------------------------

    def _awake(self) -> Slot:
        return self.random.choice([slot for slot in self.slots if slot not in self._asleep])

    def kill_a_process(self) -> None:
        slot = self._awake()
        self.fleet.end(slot, signal.SIGKILL)
        time.sleep(self.random.choice([0.0, 0.0, 2.0]))
        self.fleet.start(slot)

    def nap(self) -> None:
        self._stop(SESSION_S / 4)

    def sleep(self) -> None:
        """Longer than the session: others get the partitions."""
        self._stop(SESSION_S * 2.5)

    def _stop(self, seconds: float) -> None:
        if len(self._asleep) < 2:
            slot = self._awake()
            self.fleet.send(slot, signal.SIGSTOP)
            self._asleep[slot] = time.monotonic() + seconds

    def _wake(self, now: float) -> None:
        for slot in [slot for slot, at in self._asleep.items() if at <= now]:
            self.fleet.wake(slot)
            del self._asleep[slot]

    def roll_a_group(self) -> None:
        group = self.random.choice(sorted({slot.group for slot in self.slots}))
        for slot in [slot for slot in self.slots if slot.group == group and slot not in self._asleep]:
            self.fleet.end(slot, signal.SIGTERM)
            self.fleet.start(slot)
            time.sleep(self.random.uniform(0.0, 1.0))

    # --- brokers -----------------------------------------------------------------------------------------------------

    def _broker(self) -> int:
        return self.random.randint(1, BROKERS)

    def kill_a_broker(self) -> None:
        number = self._broker()
        self.cluster.kill(number)
        time.sleep(self.random.uniform(0.0, 2.0))
        self.cluster.restart(number)

    def stop_a_broker(self) -> None:
        number = self._broker()
        self.cluster.terminate(number)
        self.cluster.restart(number)

    def pause_a_broker(self) -> None:
        number = self._broker()
        self.cluster.pause(number)
        time.sleep(self.random.uniform(0.5, SESSION_S / 3))
        self.cluster.resume(number)

    # --- networks ----------------------------------------------------------------------------------------------------

    def _for_a_while(self) -> None:
        time.sleep(self.random.choice([0.05, 0.5, SESSION_S / 3]))

    def cut(self) -> None:
        proxy = self.cluster.proxies[self._broker()]
        proxy.cut()
        self._for_a_while()
        proxy.mend()

    def stall(self) -> None:
        proxy = self.cluster.proxies[self._broker()]
        proxy.stall()
        self._for_a_while()
        proxy.mend()

    def one_way(self) -> None:
        proxy, lost = self.cluster.proxies[self._broker()], self.random.random() < 0.5
        proxy.stall(requests=lost, answers=not lost)
        self._for_a_while()
        proxy.mend()

    def reset(self) -> None:
        self.cluster.proxies[self._broker()].reset()

    def forget(self) -> None:
        self.cluster.proxies[self._broker()].forget()

    def slow(self) -> None:
        proxy = self.cluster.proxies[self._broker()]
        proxy.slow_down(latency_s=0.02, jitter_s=0.2, bytes_per_s=1e6)
        self._for_a_while()
        proxy.mend()

    def spoil(self) -> None:
        proxy = self.cluster.proxies[self._broker()]
        spoil = self.random.choice([proxy.truncate_answers, proxy.garble_answers, proxy.swallow_answers])
        for api_key in (HEARTBEAT, CLASSIC_HEARTBEAT, OFFSET_COMMIT):
            spoil(api_key, self.random.randint(1, 5))
        self._for_a_while()
        proxy.mend()
