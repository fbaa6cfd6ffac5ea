"""`explore` and `play`: stories from seeds can be repeated, made shorter, and printed as code."""

from __future__ import annotations

import re
import textwrap
import time
from typing import Any

import pytest

import membership_client.testing
from membership_client import ConfigError
from membership_client.testing import (
    Crash,
    ExpireSession,
    Fence,
    Join,
    Leave,
    LoseAnswer,
    MoveCoordinator,
    Stall,
    StoryError,
    What,
    callbacks_within,
    explore,
    nothing_raised,
    play,
)
from membership_client.testing.kit import scheduler
from tests.testing.kit.programs import CONFIG, automatic, careful, careless

_NAMES = {name: getattr(membership_client.testing, name) for name in membership_client.testing.__all__}
EVERYTHING = [
    Join("b", at=1.0),
    Fence("a", at=3.0),
    ExpireSession("b", at=4.0),
    MoveCoordinator(at=5.0),
    LoseAnswer("a", at=6.0),
    Stall("b", for_s=9.0, at=7.0),
    Crash("a", at=8.0),
    Join("c", at=9.0),
    Leave("c", at=12.0),
]


def test_the_same_seed_is_the_same_run() -> None:
    """The history is the same line by line, with threads and crashes."""
    assert str(play(careful, EVERYTHING, seed=3)) == str(play(careful, EVERYTHING, seed=3))


def test_another_seed_is_another_run() -> None:
    """The seed decides what the story does not."""
    assert str(play(careful, EVERYTHING, seed=3)) != str(play(careful, EVERYTHING, seed=4))


@pytest.mark.parametrize("program", [careful, automatic])
def test_right_programs_pass(program: Any) -> None:
    """They commit themselves or leave it to the consumer; the runs contain rebalances."""
    explored = explore(program, seeds=15)
    assert explored.runs == 15
    assert explored.rebalances > 50


def test_a_failing_story_is_made_shorter_and_can_be_played_again() -> None:
    """The text has its code, which fails in the same way."""
    with pytest.raises(StoryError, match="is missing in the output") as found:
        explore(careless, events=[Join, Crash, MoveCoordinator])
    code = re.search(r"^    play\(.*?^    \)", str(found.value), re.MULTILINE | re.DOTALL)
    assert code is not None
    assert len(found.value.story) <= 2
    with pytest.raises(StoryError) as again:
        exec(textwrap.dedent(code[0]), {**_NAMES, "careless": careless})
    assert str(again.value) == str(found.value)


def test_a_story_has_its_code_and_what_happened_to_the_partition() -> None:
    """Other partitions, and later entries, are left out."""
    with pytest.raises(StoryError) as found:
        explore(careless, events=[Crash], seeds=range(5, 60), partitions=2, records=20, checks=[nothing_raised, _fails])
    text = str(found.value)
    assert "checks=[nothing_raised, _fails]" in text
    assert "partitions=2" in text
    assert "orders-0" not in text


def _fails(history: Any) -> None:
    """A check that always fails, for partition 1."""
    partition = next(record.partition for record in history.records if record.partition.partition == 1)
    raise membership_client.testing.CheckError("It fails.", partition=partition)


def test_every_event_happens() -> None:
    """Each is in the history under the name that makes it."""
    told = [entry.text for entry in play(careful, EVERYTHING).of(What.EVENT)]
    assert told == [repr(event) for event in EVERYTHING]
    assert told[5] == "Stall('b', for_s=9.0, at=7.0)"


def test_virtual_time_takes_no_time() -> None:
    """A program sleeps for a minute: this counts for the callback's budget, and takes no real time."""

    def sleepy(instance: Any) -> None:
        consumer = instance.consumer(CONFIG)
        consumer.subscribe(["orders"], on_assign=lambda *_: time.sleep(60))
        try:
            while True:
                consumer.poll(1.0)
        finally:
            consumer.close()

    before = time.monotonic()
    with pytest.raises(StoryError, match=r"A callback took 60\.000 s; its budget is 5 s"):
        play(sleepy, checks=[callbacks_within(5)])
    assert time.monotonic() - before < 50


def test_a_program_that_fails_by_kafka_is_started_again() -> None:
    """Platforms do the same; the next instance processes the records that are left."""

    def fragile(instance: Any) -> None:
        """A program that ends when its commit is refused after a fence."""
        careful(instance)

    history = play(fragile, [Fence("a", at=0.5)], records=60)
    assert [entry.instance for entry in history.of(What.STARTED)] == ["a", "a.2"]


def test_a_bug_of_the_program_is_told_with_its_traceback() -> None:
    """It is not a failed check, and a restart would not mend it."""

    def buggy(instance: Any) -> None:
        raise KeyError("orders")

    with pytest.raises(StoryError, match=r"(?s)a raised KeyError\('orders'\).*raise KeyError\(\"orders\"\)"):
        play(buggy)


def test_what_happened_ends_with_what_the_program_raised() -> None:
    """The last 40 lines were once of other instances that had gone on, without the important line."""

    def buggy(instance: Any) -> None:
        if instance.name == "b":
            time.sleep(1.0)
            raise KeyError("orders")
        careful(instance)

    with pytest.raises(StoryError) as caught:
        play(buggy, [Join("b", at=1.0)], records=100)
    headline, *_, last = str(caught.value).splitlines()
    assert headline == "b raised KeyError('orders') at 2.000 s:"
    assert last == "   2.000 s  b    raises KeyError('orders')"


def test_a_program_that_does_not_end_is_told() -> None:
    """KeyboardInterrupt must end it."""

    def stubborn(instance: Any) -> None:
        consumer = instance.consumer(CONFIG)
        while True:
            try:
                consumer.poll(1.0)
            except KeyboardInterrupt:
                continue

    with pytest.raises(StoryError, match=r"does not end within 60 s .* it goes on after KeyboardInterrupt"):
        play(stubborn)


def test_a_program_that_waits_outside_virtual_time_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test does not hang."""
    monkeypatch.setattr(scheduler, "REAL_TIMEOUT_S", 0.2)
    sleep = time.sleep

    with pytest.raises(StoryError, match="waits for something outside virtual time"):
        play(lambda _: sleep(0.5))


@pytest.mark.parametrize("events", [[], ["Join"], [Join, int]])
def test_events_are_classes(events: Any) -> None:
    """There must be at least one, of the classes that exist."""
    with pytest.raises(ConfigError, match="events"):
        explore(careful, events=events)


@pytest.mark.parametrize("seeds", [0, -1, 1.5, True, None, "7", [None], [-1], 2**40])
def test_seeds_are_numbers(seeds: Any) -> None:
    """They are a count, or a list of seeds."""
    with pytest.raises(ConfigError, match="seeds"):
        explore(careful, seeds=seeds)


def test_own_records() -> None:
    """Keys decide the partition; values are checked in the output."""
    history = play(careful, records=[("k", "one"), ("k", b"two"), (b"other", "three")])
    assert sorted(record.value for record in history.processed) == [b"one", b"three", b"two"]
    assert history.committed
    assert sum(history.committed.values()) == 3


def test_a_program_begins_with_the_earliest_record() -> None:
    """This is as on kafka_group, unless it is configured: the same program once passed there, and missed records here."""

    def program(instance: Any) -> None:
        consumer = instance.consumer({"enable.auto.commit": False})
        consumer.subscribe(["orders"])
        try:
            while True:
                if (message := consumer.poll(1.0)) is not None:
                    instance.processed(message)
                    consumer.commit(message, asynchronous=False)
        finally:
            consumer.close()

    explore(program, seeds=10)
