"""A script for every seed: a few members that mostly behave as clients do, and now and then do not."""

from __future__ import annotations

import random
from collections.abc import Callable

from membership_client.testing.fake_assignor import hash_of_text
from tests.conformance.buckets import apart
from tests.conformance.script import (
    GHOSTS,
    TOPICS,
    Actor,
    Beat,
    Describe,
    Epoch,
    GroupName,
    Leave,
    Omission,
    Owned,
    Script,
    Step,
    Subscription,
)

LENGTH = 100
_PATTERNS = ("orders|bills", "o.*", ".*s", "[bs].*")
_LETTERS = "abcdefghijklmnopqrstuvwxyz-0123456789"


def script_of(seed: int, length: int = LENGTH) -> Script:
    return _Author(seed).write(length)


class _Author:
    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._random = random.Random(seed)
        self._alike = self._happens(0.5)
        self._usual = self._subscription()
        self._actors = self._cast(self._random.randint(2, 6))

    def write(self, length: int) -> Script:
        steps: list[Step] = []
        while len(steps) < length:
            steps += self._steps()
        return Script(f"{self._seed}", self._actors, tuple(steps[:length]))

    # --- who ---------------------------------------------------------------------------------------------------------

    def _cast(self, size: int) -> tuple[Actor, ...]:
        instances = [None, None, None, "i-1", "i-1", "i-2", "i-3"]
        return tuple(
            Actor(name, self._usual if self._alike else self._subscription(), self._random.choice(instances))
            for name in self._names(size)
        )

    def _names(self, count: int) -> list[str]:
        """Whose order in the broker's tables is certain."""
        names: list[str] = []
        while len(names) < count:
            length = self._random.choice((1, 2, 8, 36, 300))
            name = "".join(self._random.choices(_LETTERS, k=length))
            if apart([hash_of_text(other) for other in (*names, name)]):
                names.append(name)
        return names

    def _subscription(self) -> Subscription:
        if self._happens(0.12):
            return Subscription(pattern=self._random.choice(_PATTERNS))
        if self._happens(0.06):
            return Subscription(self._some_topics(), self._random.choice(_PATTERNS))
        return Subscription(self._some_topics())

    def _some_topics(self) -> tuple[str, ...]:
        if self._happens(0.05):
            return ()
        topics = self._random.sample(sorted(TOPICS), self._random.randint(1, len(TOPICS)))
        return (*topics, GHOSTS) if self._happens(0.1) else tuple(topics)

    def _who(self) -> str:
        return self._random.choice(self._actors).name

    def _happens(self, probability: float) -> bool:
        return self._random.random() < probability

    # --- what --------------------------------------------------------------------------------------------------------

    def _steps(self) -> list[Step]:
        makers: dict[Callable[[], list[Step]], int] = {
            self._proper: 60,
            self._everybody: 4,
            self._resubscribe: 5,
            self._full: 4,
            self._go: 6,
            self._come_back: 3,
            self._describe: 3,
            self._odd_epoch: 5,
            self._odd_owned: 8,
            self._odd_join: 3,
            self._odd_name: 3,
            self._odd_instance: 3,
            self._odd_assignor: 2,
            self._odd_pattern: 1,
        }
        (make,) = self._random.choices(list(makers), list(makers.values()))
        return make()

    def _proper(self) -> list[Step]:
        return [Beat(self._who())]

    def _everybody(self) -> list[Step]:
        """Twice each, so that what one gives up the next one gets."""
        return [Beat(actor.name) for actor in (*self._actors, *self._actors)]

    def _resubscribe(self) -> list[Step]:
        return [Beat(self._who(), says=self._usual if self._happens(0.3) else self._subscription())]

    def _full(self) -> list[Step]:
        owned = self._random.choice((Owned.PROPER, Owned.ALL, Owned.PART, Owned.NONE, Owned.BEFORE))
        return [Beat(self._who(), owned=owned, full=True)]

    def _go(self) -> list[Step]:
        who = self._who()
        return [self._random.choice((Beat(who, Epoch.LEAVE), Beat(who, Epoch.PAUSE), Leave(who)))]

    def _come_back(self) -> list[Step]:
        """An instance goes for a while, and somebody, perhaps another holder, comes in its place."""
        who = self._who()
        rivals = [actor.name for actor in self._actors if actor.instance_id == _instance_of(self._actors, who)]
        return [Beat(who, Epoch.PAUSE), Beat(self._random.choice(rivals), Epoch.JOIN)]

    def _describe(self) -> list[Step]:
        return [Describe(GroupName.UNKNOWN if self._happens(0.2) else GroupName.OWN)]

    # --- nonsense ----------------------------------------------------------------------------------------------------

    def _odd_epoch(self) -> list[Step]:
        epoch = self._random.choice(
            (Epoch.PREVIOUS, Epoch.PREVIOUS, Epoch.OLDER, Epoch.NEWER, Epoch.JOIN, Epoch.INVALID)
        )
        owned = self._random.choice((Owned.PROPER, Owned.ALL, Owned.PART, Owned.NONE))
        return [Beat(self._who(), epoch, owned, full=self._happens(0.3))]

    def _odd_owned(self) -> list[Step]:
        return [Beat(self._who(), owned=self._random.choice([owned for owned in Owned if owned is not Owned.PROPER]))]

    def _odd_join(self) -> list[Step]:
        if self._happens(0.3):
            return [Beat(self._who(), Epoch.JOIN, Owned.FOREIGN)]
        return [Beat(self._who(), Epoch.JOIN, omits=self._random.choice(list(Omission)))]

    def _odd_name(self) -> list[Step]:
        group = self._random.choice((GroupName.EMPTY, GroupName.UNKNOWN))
        step: Step = self._random.choice(
            (
                Beat("", self._random.choice((Epoch.JOIN, Epoch.NEWER))),
                Beat("stranger", self._random.choice((Epoch.NEWER, Epoch.LEAVE, Epoch.PAUSE))),
                # Nobody may join the group that is to stay unknown.
                Beat("stranger", self._random.choice((Epoch.NEWER, Epoch.LEAVE)), group=group),
                Beat(self._who(), rack_id=self._random.choice(("", "r"))),
                Leave("stranger"),
            )
        )
        return [step]

    def _odd_instance(self) -> list[Step]:
        """Another instance id than its own, or none; but never in a join that is valid: see the known differences."""
        who, instance_id = self._who(), self._random.choice((None, "", "i-1", "i-2", "i-9"))
        if self._happens(0.2):
            return [Leave(who, instance_id, named=self._happens(0.5))]
        joins = (Epoch.JOIN,) if instance_id == "" else ()
        return [
            Beat(who, self._random.choice((Epoch.INSIDE, Epoch.PAUSE, Epoch.LEAVE, *joins)), instance_id=instance_id)
        ]

    def _odd_assignor(self) -> list[Step]:
        epoch = self._random.choice((Epoch.PROPER, Epoch.JOIN))
        return [Beat(self._who(), epoch, assignor=self._random.choice(("uniform", "range", "range", "mine", "")))]

    def _odd_pattern(self) -> list[Step]:
        return [Beat(self._who(), says=Subscription(pattern=self._random.choice(("or(", "[", "*"))))]


def _instance_of(actors: tuple[Actor, ...], who: str) -> str | None:
    return next(actor.instance_id for actor in actors if actor.name == who)
