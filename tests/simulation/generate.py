"""A script for every seed: a small group, half a minute of trouble, then calm."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from membership_client.testing.fake_coordinator import CoordinatorSettings
from membership_client.types import LeaveMode
from tests.simulation.script import (
    Action,
    Crash,
    Doubt,
    Drop,
    Evict,
    Grow,
    Hold,
    Idle,
    KeeperTrouble,
    Leave,
    Lose,
    Mood,
    Move,
    Plan,
    Resubscribe,
    Retune,
    Script,
    Shut,
    Stall,
    Start,
    Unname,
    Weather,
)

TOPICS = ("orders", "bills", "ships")
STRATEGIES = ("range", "cooperative-sticky", "sticky", "roundrobin")


def script_of(seed: int) -> Script:
    return _Author(seed).write()


class _Author:
    """Writes one script. Numbers are chosen so that a session lasts a few intervals and a run a few sessions."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._random = random.Random(seed)
        self._topics = TOPICS[: self._random.randint(1, 3)]
        self._interval_s = self._random.choice((2.0, 3.0, 4.0))
        self._calm_at = self._random.uniform(20.0, 40.0)
        self._plans: list[Plan] = []

    def write(self) -> Script:
        names = "abcde"[: self._random.choice((2, 3, 3, 4, 5))]
        for name in names:
            self._plans.append(self._plan(name))
        settings = self._settings()
        actions: list[Action] = [Start(self._random.uniform(0.0, 10.0), plan.name) for plan in self._plans]
        if self._happens(0.5):
            actions.append(Weather(at=0.0, until=self._calm_at, silence=0.02, reset=0.02, repeat=0.1, slow_s=0.15))
        for _ in range(self._random.randint(6, 18)):
            actions += self._trouble()
        keepers, held = self._holds()
        shares, late_s, lost = self._siblings()
        actions += held
        return Script(
            seed=self._seed,
            topics=tuple((topic, self._random.randint(1, 7)) for topic in self._topics),
            plans=tuple(
                replace(plan, strategy=self._strategy(), keeper=plan.name in keepers, shares=shares.get(plan.name))
                for plan in self._plans
            ),
            siblings_late_s=late_s,
            siblings_lost=lost,
            actions=tuple(sorted(actions, key=lambda action: action.at)),
            calm_at=self._calm_at,
            settings=settings,
            # Watching a group that does nothing is a fifth of the work, and finds what it finds soon: a quarter of each kind.
            stays=self._seed // (3 * len(STRATEGIES)) % 4 == 0,
        )

    def _holds(self) -> tuple[frozenset[str], list[Action]]:
        """Processes with keepers, and what happens to these. Drawn from chances of its own, so that all else stays the same."""
        chances = random.Random(f"keepers {self._seed}")
        if chances.random() < 0.4:
            return frozenset(), []
        names = [plan.name for plan in self._plans if chances.random() < 0.7]
        actions: list[Action] = []
        for _ in range(chances.randint(1, 4) if names else 0):
            at, who = chances.uniform(1.0, self._calm_at - 1.0), chances.choice(names)
            until = min(self._calm_at, at + chances.uniform(2.0, 25.0))
            actions.append(Hold(at, who, until))
            if chances.random() < 0.3:
                late_s, dies = chances.choice((0.5, 3.0, 15.0)), chances.random() < 0.4
                actions.append(KeeperTrouble(at=at - 1.0, until=until + 1.0, who=who, late_s=late_s, dies=dies))
        return frozenset(names), actions

    def _siblings(self) -> tuple[dict[str, str], float, float]:
        """Members that share a process, and how well they hear of each other. Drawn from chances of its own, like `_holds`."""
        chances = random.Random(f"siblings {self._seed}")
        if chances.random() < 0.4:
            return {}, 0.0, 0.0
        processes = chances.choice(("p", "p", "pq"))
        shares = {plan.name: chances.choice(processes) for plan in self._plans if chances.random() < 0.8}
        return shares, chances.choice((0.0, 0.01, 0.3, 1.0)), chances.choice((0.0, 0.0, 0.3))

    def _strategy(self) -> str | None:
        """Every third seed is a classic group. Only the protocol of its script differs."""
        return STRATEGIES[self._seed // 3 % len(STRATEGIES)] if self._seed % 3 == 2 else None

    def _settings(self) -> CoordinatorSettings:
        return CoordinatorSettings(
            heartbeat_interval_s=self._interval_s,
            session_timeout_s=self._interval_s * self._random.choice((3.0, 4.0)),
            assignment_interval_s=self._random.choice((0.0, 0.5, 1.0, 2.0)),
            max_size=len(self._plans) - 1 if self._happens(0.15) else None,
            exempts_instances=self._happens(0.5),
            rejoins_in_place=self._happens(0.75),
        )

    def _plan(self, name: str) -> Plan:
        holders = [plan.instance_id for plan in self._plans if plan.instance_id]
        static = self._happens(0.45)
        rival = static and holders and self._happens(0.2)
        return Plan(
            name=name,
            topics=self._some_topics(),
            regex=self._random.choice(("orders|bills", ".*s")) if self._happens(0.1) else None,
            instance_id=self._random.choice(holders) if rival else f"i-{name}" if static else None,
            conflict=self._random.choice(("wait", "takeover", "takeover", "fail")),
            callback_errors=self._random.choice(("raise", "raise", "raise", "continue", "leave")),
            polls=self._happens(0.3),
            poll_interval_s=self._random.choice((6.0, 9.0, 15.0)),
            request_timeout_s=self._random.choice((1.5, 2.0, 4.0)),
            retry_when_full_s=1.0 if self._happens(0.5) else None,
        )

    def _some_topics(self) -> frozenset[str]:
        if self._happens(0.7):
            return frozenset(self._topics)
        return frozenset(self._random.sample(self._topics, self._random.randint(1, len(self._topics))))

    # --- trouble -----------------------------------------------------------------------------------------------------

    def _trouble(self) -> list[Action]:
        makers = (
            self._crash,
            self._crash,
            self._lost_join,
            self._stall,
            self._resubscribe,
            self._leave,
            self._leave_slowly,
            self._shut,
            self._idle,
            self._weather,
            self._weather,
            self._weather,
            self._mood,
            self._mood,
            self._move,
            self._shut_in_a_move,
            self._grow,
            self._drop,
            self._unname,
            self._unname_in_bad_weather,
            self._evict,
            self._doubt,
            self._retune,
        )
        make: Callable[[], list[Action]] = self._random.choice(makers)
        return make()

    def _happens(self, probability: float) -> bool:
        return self._random.random() < probability

    def _when(self) -> float:
        return self._random.uniform(1.0, self._calm_at - 1.0)

    def _until(self, at: float, longest_s: float) -> float:
        return min(self._calm_at, at + self._random.uniform(0.2, longest_s))

    def _who(self) -> str:
        return self._random.choice(self._plans).name

    def _who_or_all(self) -> str | None:
        return self._who() if self._happens(0.7) else None

    def _crash(self) -> list[Action]:
        at, who = self._when(), self._who()
        back = [Start(self._until(at, 20.0), who)] if self._happens(0.8) else []
        return [Crash(at, who), *back]

    def _lost_join(self) -> list[Action]:
        at, who = self._when(), self._who()
        kind = "JoinGroup" if self._strategy() else "Heartbeat"
        return [Crash(at, who), Lose(at=at + 1.0, who=who, kind=kind), Start(at + 1.0, who)]

    def _shut_in_a_move(self) -> list[Action]:
        at, who = self._when(), self._who()
        move = Move(at=at, to=self._random.randint(1, 2), gap_s=0.3, loading_s=0.3)
        return [move, Shut(at + self._random.uniform(0.0, 0.6), who, self._mode(), timeout_s=5.0)]

    def _stall(self) -> list[Action]:
        at = self._when()
        return [Stall(at, self._who(), self._until(at, 25.0))]

    def _resubscribe(self) -> list[Action]:
        regex = ".*s" if self._happens(0.15) else None
        return [Resubscribe(self._when(), self._who(), frozenset() if regex else self._some_topics(), regex)]

    def _mode(self) -> LeaveMode:
        return self._random.choice(list(LeaveMode))

    def _leave(self) -> list[Action]:
        at, who = self._when(), self._who()
        leave = Leave(at, who, self._mode())
        if not self._happens(0.7):
            return [leave]
        return [leave, Resubscribe(self._until(at, 5.0), who, self._some_topics())]

    def _leave_slowly(self) -> list[Action]:
        at, who = self._when(), self._who()
        mood = Mood(at=at, until=self._until(at, 4.0), who=who, slow_s=self._random.choice((8.0, 16.0)))
        return [mood, Leave(at, who, self._mode()), Resubscribe(self._until(at, 25.0), who, self._some_topics())]

    def _shut(self) -> list[Action]:
        at, who = self._when(), self._who()
        shut = Shut(at, who, self._mode(), timeout_s=self._random.choice((0.2, 2.0, 5.0)))
        return [shut, Start(self._until(at, 8.0), who)] if self._happens(0.7) else [shut]

    def _idle(self) -> list[Action]:
        at = self._when()
        pollers = [plan.name for plan in self._plans if plan.polls]
        return [Idle(at, self._random.choice(pollers), self._until(at, 25.0))] if pollers else []

    def _weather(self) -> list[Action]:
        at = self._when()
        weather = Weather(
            at=at,
            until=self._until(at, 15.0),
            who=self._who_or_all(),
            silence=self._random.choice((0.0, 0.1, 0.3, 1.0)),
            reset=self._random.choice((0.0, 0.1, 0.3)),
            repeat=self._random.choice((0.0, 0.2)),
            mistaken=self._random.choice((0.0, 0.0, 0.2)),
            slow_s=self._random.choice((0.0, 0.1, 0.7)),
            throttle_s=self._random.choice((0.0, 0.0, 0.0, 0.4)),
        )
        return [weather]

    def _mood(self) -> list[Action]:
        at = self._when()
        slow_s = self._random.choice((0.0, 0.3, 1.0, 4.0, 12.0))
        fails = self._random.choice((0.0, 0.0, 0.5))
        return [Mood(at=at, until=self._until(at, 15.0), who=self._who_or_all(), slow_s=slow_s, fails=fails)]

    def _move(self) -> list[Action]:
        gap_s, loading_s = self._random.choice((0.0, 0.5)), self._random.choice((0.0, 0.3, 2.0))
        return [
            Move(
                at=self._when(),
                to=self._random.randint(1, 2),
                gap_s=gap_s,
                loading_s=loading_s,
                crash=self._happens(0.5),
            )
        ]

    def _grow(self) -> list[Action]:
        return [Grow(self._when(), self._random.choice(TOPICS), self._random.randint(2, 9))]

    def _drop(self) -> list[Action]:
        at, topic = self._when(), self._random.choice(self._topics)
        return [Drop(at, topic), Grow(self._until(at, 6.0), topic, self._random.randint(1, 5))]

    def _unname(self) -> list[Action]:
        at = self._when()
        return [Unname(at, self._random.choice(self._topics), self._until(at, 5.0))]

    def _unname_in_bad_weather(self) -> list[Action]:
        at, who = self._when(), self._who()
        weather = Weather(at=at, until=self._until(at, 8.0), reset=0.3, silence=0.1)
        return [Unname(at, self._random.choice(self._topics), self._until(at, 8.0)), weather, Start(at, who)]

    def _evict(self) -> list[Action]:
        return [Evict(self._when(), self._who())]

    def _doubt(self) -> list[Action]:
        """Mostly a commit is refused because the member was removed; sometimes the broker is wrong."""
        at, who = self._when(), self._who()
        removed = [Evict(at, who)] if self._happens(0.7) else []
        return [*removed, Doubt(at + self._random.uniform(0.0, 1.0), who)]

    def _retune(self) -> list[Action]:
        return [Retune(self._when(), heartbeat_interval_s=self._random.choice((1.5, 2.0, 4.0)))]
