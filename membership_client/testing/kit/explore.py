"""`play` runs one story with a program and checks it. `explore` runs many stories, and reports the shortest that fails."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from membership_client.arguments import (
    checked_instance,
    checked_items,
    checked_topic,
    checked_whole,
    shown,
)
from membership_client.errors import ConfigError
from membership_client.testing.arguments import checked_program
from membership_client.testing.kit.checks import CHECKS, Check, CheckError, checked_checks, told_lines
from membership_client.testing.kit.events import ALL_EVENTS, Crash, Join, MoveCoordinator, Stall, StoryEvent
from membership_client.testing.kit.history import History, What
from membership_client.testing.kit.records import Records, checked_records
from membership_client.testing.kit.scheduler import LateError
from membership_client.testing.kit.world import STORY_S, Program, World

_NAMES = ("a", "b", "c")
_MOST_EVENTS = 5
_MOST_SEEDS = 10_000_000
_MOST_TRIES = 30
"""How long a failing story is made shorter: a quick report is worth more than the shortest story."""


class StoryError(AssertionError):
    """A check failed. The text has the story as code; `seed`, `story` and `history` are its values."""

    def __init__(self, text: str, seed: int, story: tuple[StoryEvent, ...], history: History) -> None:
        super().__init__(text)
        self.seed = seed
        self.story = story
        self.history = history


@dataclass(frozen=True, slots=True)
class Explored:
    """What `explore` has tried without a failure."""

    runs: int
    rebalances: int
    """How often an instance got or lost partitions, over all runs."""


@dataclass(frozen=True, slots=True)
class _RunState:
    """The arguments of a run without its story."""

    program: Program
    checks: tuple[Check, ...]
    topic: str
    partitions: int
    records: int | tuple[tuple[bytes, bytes], ...]
    """The records as they were given, for the code of a story."""

    def run(self, story: Sequence[StoryEvent], seed: int) -> tuple[History, AssertionError | None]:
        world = World(self.program, seed, self.topic, self.partitions, checked_records(self.records))
        try:
            world.run(story)
            for check in self.checks:
                check(world.history)
        except AssertionError as error:
            return world.history, _explained(error, world.unsettled)
        return world.history, None


def _explained(error: AssertionError, unsettled: str) -> AssertionError:
    """The error, with a note if the program had not settled: that may be why something is missing."""
    if unsettled and isinstance(error, CheckError):
        error.args = (f"{error}\n{unsettled}",)
    return error


def play(
    program: Program,
    story: Iterable[StoryEvent] = (),
    *,
    seed: int = 0,
    checks: Iterable[Check] = CHECKS,
    topic: str = "orders",
    partitions: int = 4,
    records: Records = 30,
) -> History:
    """Run the program in virtual time while the story happens to its group; returns what happened.

        def program(instance):
            consumer = instance.consumer({"enable.auto.commit": False})
            consumer.subscribe(["orders"])
            while True:
                message = consumer.poll(1.0)
                if message is not None:
                    instance.processed(message)
                    consumer.commit(message, asynchronous=False)

        print(play(program, [Join("b", at=1.0), Crash("a", at=5.0)]))

    Each instance of the program is a call `program(instance)`. The instance "a" runs from the beginning, and each `Join` starts
    another one. At the end `poll` raises KeyboardInterrupt in all of them. The seed decides what the story does not: how long
    work takes, which partition is read, which of several threads goes first. The same story with the same seed is the same run.
    Raises StoryError if a check fails, a thread raises, or the program raises anything but a KafkaException.
    """
    stage = _stage(program, checks, topic, partitions, records)
    told = checked_items("story", story, _checked_event)
    history, error = stage.run(told, checked_whole("seed", seed))
    if error is not None:
        raise StoryError(_told(stage, told, seed, history, error), seed, told, history) from error
    return history


def explore(
    program: Program,
    *,
    events: Iterable[type[StoryEvent]] = ALL_EVENTS,
    seeds: int | Iterable[int] = 100,
    checks: Iterable[Check] = CHECKS,
    topic: str = "orders",
    partitions: int = 4,
    records: Records = 30,
) -> Explored:
    """Play many stories of these events, one for each seed: `seeds=100` are the seeds 0 to 99.

        def program(instance):
            consumer = instance.consumer({"group.id": "tills", "auto.offset.reset": "earliest"})
            consumer.subscribe(["orders"])
            while True:
                message = consumer.poll(1.0)
                if message is not None and message.error() is None:
                    instance.processed(message)

        explore(program, events=[Join, Fence], checks=[at_least_once], seeds=10)



    The first story that fails is made shorter as long as it fails, and raised as StoryError with the code that plays it again.
    `program`, `checks` and the other arguments are those of `play`.
    """
    stage = _stage(program, checks, topic, partitions, records)
    kinds = _checked_kinds(events)
    runs = rebalances = 0
    for seed in _checked_seeds(seeds):
        story = tuple(_stories(kinds, seed))
        history, error = stage.run(story, seed)
        if error is not None:
            story, history, error = _shortest((story, history, error), stage, seed)
            raise StoryError(_told(stage, story, seed, history, error), seed, story, history) from error
        changes = history.of(What.ASSIGNED, What.REVOKED, What.LOST)
        runs, rebalances = runs + 1, rebalances + sum(bool(entry.partitions) for entry in changes)
    return Explored(runs, rebalances)


def _stage(program: Program, checks: Iterable[Check], topic: str, partitions: int, records: Records) -> _RunState:
    checked_program(program)
    pairs = checked_records(records)
    return _RunState(
        program,
        checked_checks(checks),
        checked_topic("topic", topic),
        checked_whole("partitions", partitions, least=1, most=1000),
        records if isinstance(records, int) else pairs,
    )


def _checked_event(name: str, event: StoryEvent) -> StoryEvent:
    return checked_instance(name, event, StoryEvent)


def _checked_kind(name: str, kind: type[StoryEvent]) -> type[StoryEvent]:
    if not any(kind is known for known in ALL_EVENTS):
        raise ConfigError(
            f"{name} is one of the classes {', '.join(one.__name__ for one in ALL_EVENTS)}, not {shown(kind)}."
        )
    return kind


def _checked_kinds(events: Iterable[type[StoryEvent]]) -> tuple[type[StoryEvent], ...]:
    kinds = checked_items("events", events, _checked_kind)
    if not kinds:
        raise ConfigError("events is empty: name at least one, or leave it out for all of them.")
    return kinds


def _checked_seeds(seeds: int | Iterable[int]) -> Iterable[int]:
    if isinstance(seeds, Iterable):
        return checked_items("seeds", seeds, checked_whole)
    return range(checked_whole("seeds", seeds, least=1, most=_MOST_SEEDS))


# --- stories by seed -------------------------------------------------------------------------------------------------


def _stories(kinds: Sequence[type[StoryEvent]], seed: int) -> Iterator[StoryEvent]:
    """The events of a seed. Half of them come soon after the previous one, because troubles that overlap find most bugs."""
    chance = random.Random(f"story {seed}")  # noqa: S311 - chosen by a seed on purpose
    at = chance.uniform(0.2, STORY_S / 2)
    if Join in kinds:
        yield Join("b", at=round(at, 2))
    for _ in range(chance.randint(1, _MOST_EVENTS)):
        at += chance.uniform(0.0, 0.5) if chance.random() < 0.5 else chance.uniform(0.5, STORY_S / 3)
        kind, name = chance.choice(kinds), chance.choice(_NAMES[:2])
        if kind is MoveCoordinator:
            yield MoveCoordinator(at=round(at, 2))
        elif kind is Stall:
            yield Stall(name, for_s=round(chance.uniform(0.5, 10.0), 1), at=round(at, 2))
        else:
            yield _about(kind, chance.choice(_NAMES) if kind is Join else name, round(at, 2))
        if kind is Crash and Join in kinds and chance.random() < 0.7:
            yield Join(name, at=round(at + chance.uniform(0.1, 3.0), 2))


def _about(kind: Callable[..., StoryEvent], name: str, at: float) -> StoryEvent:
    return kind(name, at=at)


# --- shorter stories -------------------------------------------------------------------------------------------------

_Failure = tuple[tuple[StoryEvent, ...], History, AssertionError]


def _shortest(best: _Failure, stage: _RunState, seed: int) -> _Failure:
    """Leave events out one by one, then round their times, as long as the story fails, and there is time."""
    tried: set[tuple[StoryEvent, ...]] = set()
    while len(tried) < _MOST_TRIES and (candidate := _simpler(best[0], tried)) is not None:
        if isinstance(best[2], LateError):
            break
        tried.add(candidate)
        history, failed = stage.run(candidate, seed)
        if failed is not None:
            best = (candidate, history, failed)
    return best


def _simpler(story: tuple[StoryEvent, ...], tried: set[tuple[StoryEvent, ...]]) -> tuple[StoryEvent, ...] | None:
    """A story with fewer events or rounder times that was not tried yet; None if there is none."""
    shorter = (story[:index] + story[index + 1 :] for index in range(len(story)))
    rounder = (tuple(replace(event, at=round(event.at, digits)) for event in story) for digits in (0, 1))
    return next((one for one in (*shorter, *rounder) if one != story and one not in tried), None)


# --- the text --------------------------------------------------------------------------------------------------------


def _told(stage: _RunState, story: Sequence[StoryEvent], seed: int, history: History, error: AssertionError) -> str:
    return "\n".join(
        [
            str(error),
            "",
            "To play it again:",
            "",
            *_code(stage, story, seed),
            "",
            "What happened:",
            "",
            *told_lines(history, error),
        ]
    )


def _code(stage: _RunState, story: Sequence[StoryEvent], seed: int) -> list[str]:
    """The call of `play` that runs this story, with the arguments that differ from the defaults."""
    defaults = {"topic": "orders", "partitions": 4, "records": 30}
    given = {name: getattr(stage, name) for name in defaults}
    more = {name: repr(value) for name, value in given.items() if value != defaults[name]}
    if stage.checks != CHECKS:
        more["checks"] = f"[{', '.join(getattr(check, '__name__', None) or repr(check) for check in stage.checks)}]"
    name = getattr(stage.program, "__name__", repr(stage.program))
    events = [f"            {event!r}," for event in story]
    listed = ["        [", *events, "        ],"] if events else ["        [],"]
    arguments = [f"        {key}={value}," for key, value in {"seed": seed, **more}.items()]
    return ["    play(", f"        {name},", *listed, *arguments, "    )"]
