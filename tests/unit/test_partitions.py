"""Sets of partitions: their algebra beside Python's own sets, and which parts of them are shared."""

from __future__ import annotations

import random
from uuid import UUID

import pytest

from membership_client.partitions import NOTHING, SHARED_LENGTH, Partitions, counted, in_order
from membership_client.runtime.topic_names import NamedPartitions
from membership_client.types import TopicPartition

A, B, C, D = (UUID(int=number) for number in range(1, 5))
NAMES = {A: "a", B: "b", C: "c", D: "d"}


def _any(chance: random.Random) -> Partitions:
    """Few topics and numbers, so that two of them often have something in common; topics in any order."""
    topics = chance.sample([A, B, C, D], chance.randrange(5))
    return Partitions.of({topic: chance.sample(range(4), chance.randrange(1, 5)) for topic in topics})


@pytest.mark.parametrize("seed", range(300))
def test_the_algebra_is_that_of_sets(seed: int) -> None:
    """Differences, unions, parts and lengths, for any two, with shared sets and without."""
    chance = random.Random(seed)
    one, other = _any(chance), _any(chance)
    if chance.random() < 0.5:
        other = other.sharing(one)
    assert set(one - other) == set(one) - set(other)
    assert set(one.without(other)) == set(one) - set(other)
    assert set(one | other) == set(one) | set(other)
    assert len(one) == len(set(one))
    wanted = chance.sample([A, B, C, D], 2)
    assert set(one.of_topics(wanted)) == {part for part in one if part[0] in wanted}
    assert one.of_names({NAMES[topic] for topic in wanted}, NAMES) == one.of_topics(wanted)


@pytest.mark.parametrize("seed", range(100))
def test_results_are_equal_to_the_same_content_made_anew(seed: int) -> None:
    """Topics that lost everything are gone, so equality stays equality of content."""
    chance = random.Random(seed)
    one, other = _any(chance), _any(chance)
    for result in (one - other, one.without(other), one | other, one.sharing(other)):
        assert result == Partitions.of({topic: set(numbers) for topic, numbers in result.by_topic.items()})
    assert one.sharing(other) == one


def test_what_did_not_change_is_shared() -> None:
    """A member compares by identity, so an assignment in which one topic changed shares all others with what it owns."""
    owned = Partitions({A: frozenset(range(9)), B: frozenset(range(9)), C: frozenset({1})})
    target = Partitions({C: frozenset({1, 2}), B: frozenset(range(9)), A: frozenset(range(9))}).sharing(owned)
    assert list(target.by_topic) == [A, B, C]
    assert [target.by_topic[t] is owned.by_topic[t] for t in target.by_topic] == [True, True, False]
    brought = owned | (target - owned)
    assert [brought.by_topic[t] is owned.by_topic[t] for t in (A, B)] == [True, True]
    given_up = target.without(Partitions({C: frozenset({1})}))
    assert given_up.by_topic == {A: owned.by_topic[A], B: owned.by_topic[B], C: frozenset({2})}
    assert list(given_up.by_topic) == [A, B, C]


def test_what_is_new_is_shared_with_what_brought_it() -> None:
    """What a callback has brought is the same object in the target and in what is owned."""
    target = Partitions({A: frozenset(range(9)), B: frozenset({1})})
    owned = NOTHING | (target - NOTHING)
    assert all(owned.by_topic[topic] is target.by_topic[topic] for topic in (A, B))


@pytest.mark.parametrize("count", [0, 3, SHARED_LENGTH, SHARED_LENGTH + 1])
def test_numbers_of_peers(count: int) -> None:
    """Short and long ones alike: in order on the wire, without negative ones and duplicates here."""
    numbers = [*range(count), *range(count), -1, -(2**31)]
    made = Partitions.of({A: numbers})
    assert made == (Partitions({A: frozenset(range(count))}) if count else NOTHING)
    assert in_order(frozenset(range(count))) == tuple(range(count))


@pytest.mark.parametrize("seed", range(100))
def test_names_follow_what_is_owned(seed: int) -> None:
    """After any series of changes the names are those of a fresh start, also when one name has two topics or none."""
    chance = random.Random(seed)
    names = chance.choice([NAMES, {A: "a", B: "a", C: "c"}])
    named = NamedPartitions()
    for _ in range(10):
        owned = _any(chance).sharing(named.partitions)
        named = named.changed_to(owned, names)
        assert named.named == frozenset(owned.named(names))


def test_names_of_what_stays_are_made_once() -> None:
    """The partition that an application holds is the one it was given before."""
    first = NamedPartitions().changed_to(Partitions({A: frozenset({0, 1})}), NAMES)
    second = first.changed_to(Partitions({A: frozenset({0})}), NAMES)
    (kept,) = second.named
    assert kept == TopicPartition("a", 0)
    assert any(kept is partition for partition in first.named)
    assert second.changed_to(second.partitions, NAMES) is second


def test_one_thing_is_no_plural() -> None:
    """Logs said "owned 1 partitions"."""
    assert [counted(count, "partition") for count in (0, 1, 2)] == ["0 partitions", "1 partition", "2 partitions"]
