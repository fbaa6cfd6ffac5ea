"""Consume, transform, produce: every input has exactly one output, whatever happens to the processes in between."""

from __future__ import annotations

import random
import uuid
from collections import Counter
from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer

from membership_client import MemberState
from tests.consumer.conftest import NewWorld
from tests.consumer.helpers import World
from tests.consumer.transforming import Halt, Process, Transforming
from tests.integration.members import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.deep]

SESSION_MS = 3000
SLOTS = 3
KILLS = 6
SEED = 1
"""Of where in their transactions processes die."""

PHASES = ("begun", "produced", "sent", "committed")


@pytest.fixture
def transforming(new_world: NewWorld) -> Iterator[Transforming]:
    """Six partitions; members that fall silent are given up soon."""
    found = Transforming(new_world(6, consumer_session_timeout_ms=SESSION_MS))
    yield found
    found.close()


def test_processes_are_killed_in_the_middle_of_their_transactions(transforming: Transforming) -> None:
    """Replacements join and go on from what was committed, until all input is done: nothing is lost or doubled."""
    chance = random.Random(SEED)
    halts = [(chance.choice(PHASES), chance.randrange(3)) for _ in range(KILLS)]
    slots = {f"slot-{number}-{uuid.uuid4().hex}": halts.pop() for number in range(SLOTS)}
    running = {slot: transforming.start(halt, slot) for slot, halt in slots.items()}
    transforming.feed(50)
    eventually(lambda: any(process.all("begun") for process in running.values()), "a transaction")
    eventually(lambda: kill_and_replace(transforming, running, halts), f"{KILLS} kills", timeout_s=100)
    assert transforming.await_outputs() == Counter(transforming.inputs)


def kill_and_replace(transforming: Transforming, running: dict[str, Process], halts: list[Halt]) -> bool:
    """Those that are where they should die; True when it was the last. There is always something to do meanwhile."""
    if transforming.left < 500:
        transforming.feed(25)
    for slot, process in running.items():
        if process.halted:
            process.kill()
            running[slot] = transforming.start(halts.pop() if halts else None, slot)
    return sum(process.killed for process in transforming.processes) == KILLS


def test_a_process_that_sleeps_through_its_session_is_refused(transforming: Transforming) -> None:
    """Others have done its work when it wakes up in its transaction, so that is aborted, and it joins again."""
    transforming.feed(20)
    sleeper = transforming.start(halt=("produced", 1))
    eventually(lambda: sleeper.halted, "it is in its second transaction")
    sleeper.suspend()
    transforming.start()
    transforming.await_all_done()
    sleeper.go_on()
    eventually(lambda: sleeper.all("refused"), "its offsets are refused")
    (refused,) = sleeper.all("refused")
    assert refused["code"] in {"UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION"}
    eventually(lambda: goes_on(transforming, sleeper), "it goes on")
    assert transforming.await_outputs() == Counter(transforming.inputs)


def goes_on(transforming: Transforming, process: Process) -> bool:
    """With something to do that the others have not done before it came."""
    transforming.feed(1)
    return len(process.all("committed")) > 1


# --- who may commit --------------------------------------------------------------------------------------------------


def commit_in_transaction(world: World, metadata: bytes, number: int, offset: int) -> str:
    """What the broker says to that offset in that member's name: `accepted`, or the error's name."""
    producer = Producer(
        {"bootstrap.servers": world.bootstrap_servers, "transactional.id": uuid.uuid4().hex, "log_level": 0}
    )
    producer.init_transactions()
    producer.begin_transaction()
    try:
        producer.send_offsets_to_transaction([world.place(number, offset)], metadata)
    except KafkaException as error:
        producer.abort_transaction()
        refusal: KafkaError = error.args[0]
        return refusal.name()
    producer.commit_transaction()
    return "accepted"


def test_a_member_commits_in_its_producers_transaction(world: World) -> None:
    """In its present epoch it is who it says."""
    owner = world.owner()
    assert commit_in_transaction(world, owner.consumer.consumer_group_metadata(), 0, 7) == "accepted"
    assert world.committed() == {0: 7}


def test_an_earlier_epoch_is_refused_for_a_partition_that_has_moved(world: World) -> None:
    """The group has changed since, and the partition is another's."""
    first = world.owner()
    before = first.consumer.consumer_group_metadata()
    second = world.join()
    world.settle(first, second)
    assert commit_in_transaction(world, before, min(second.owned), 7) == "ILLEGAL_GENERATION"
    assert not world.committed()


def test_a_member_that_left_is_refused_before_and_after_it_knows(world: World) -> None:
    """Also once the group is empty, in which brokers accept commits of clients without a membership."""
    owner = world.owner()
    before = owner.consumer.consumer_group_metadata()
    owner.consumer.close()
    assert commit_in_transaction(world, before, 0, 7) == "UNKNOWN_MEMBER_ID"
    assert not world.committed()


def test_a_member_that_was_removed_is_refused_until_it_has_polled_and_joined_again(world: World) -> None:
    """Its records in hand are others' work by now; it comes back only after it was told of the loss."""
    owner = world.owner()
    world.group.remove(owner.consumer.snapshot.member_id)
    eventually(lambda: owner.consumer.snapshot.state is MemberState.FENCED, "it knows")
    assert commit_in_transaction(world, owner.consumer.consumer_group_metadata(), 0, 7) == "UNKNOWN_MEMBER_ID"
    assert not owner.events("lost")
    world.settle(owner)
    assert owner.events("lost")
    assert commit_in_transaction(world, owner.consumer.consumer_group_metadata(), 0, 7) == "accepted"


def test_without_a_subscription_every_client_may_commit(world: World) -> None:
    """As with confluent-kafka: a consumer with its own assignment has no membership to be checked."""
    reader = world.reader()
    reader.consumer.assign([world.place(0, 0)])
    assert commit_in_transaction(world, reader.consumer.consumer_group_metadata(), 0, 7) == "accepted"
