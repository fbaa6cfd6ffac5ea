"""`VirtualGroup`: time passes only when the test lets it pass, and the run is the same each time."""

from __future__ import annotations

import time
from typing import Any

import pytest

from membership_client import ConfigError
from membership_client.testing import (
    CheckError,
    VirtualGroup,
    What,
    callbacks_within,
    exactly_once,
    explore,
    play,
)
from membership_client.testing.kit.world import ProgramError
from tests.testing.kit.programs import CONFIG, async_member, careful, careful_async, careless, member_alone

PROGRAMS = [careful, careful_async, member_alone, async_member]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_story_with_everything(virtual_group: VirtualGroup, program: Any) -> None:
    """It has records, joins, a fence, a crash, a stall, a lost answer, a coordinator that moves, the end of a session, and a leave."""
    virtual_group.produce(20)
    virtual_group.join("a", program)
    virtual_group.wait_processed(20)
    virtual_group.join("b", program)
    virtual_group.wait_assigned("a", "b")
    virtual_group.produce(10)
    virtual_group.wait_settled()
    virtual_group.fence("a")
    virtual_group.wait_for(lambda: any(virtual_group.history.of(What.LOST)))
    virtual_group.wait_assigned("a", "b")
    virtual_group.crash("a")
    virtual_group.advance(7.0)
    virtual_group.wait_assigned("b")
    virtual_group.stall("b", 9.0)
    virtual_group.join("c", program)
    virtual_group.advance(10.0)
    virtual_group.wait_assigned("b", "c")
    virtual_group.lose_answer("b")
    virtual_group.move_coordinator()
    virtual_group.produce(10)
    virtual_group.wait_processed(40)
    virtual_group.expire_session("c")
    virtual_group.leave("b")
    virtual_group.wait_assigned("c")
    history = virtual_group.check()
    events = [entry.text.partition("(")[0] for entry in history.of(What.EVENT)]
    assert events[:6] == ["Join", "Join", "Fence", "Crash", "Stall", "Join"]
    assert events[6:] == ["LoseAnswer", "MoveCoordinator", "ExpireSession", "Leave"]


def test_time_stands_still_between_two_steps(virtual_group: VirtualGroup) -> None:
    """No session ends, and nothing is read, however long the test works."""
    virtual_group.produce(1)
    virtual_group.join("a", careful)
    assert virtual_group.now == 0.0
    assert not virtual_group.history.processed
    virtual_group.advance(3600.0)
    assert virtual_group.now == 3600.0
    assert [record.value for record in virtual_group.history.processed] == [b"value-0"]


def test_the_same_story_is_the_same_run() -> None:
    """This holds for one seed; another seed gives another run."""
    first, again, other = (str(_story(seed)) for seed in (7, 7, 8))
    assert first == again != other


def _story(seed: int) -> Any:
    with VirtualGroup(seed=seed, partitions=6, topic="payments") as group:
        group.produce([(f"key-{number}", "x") for number in range(20)])
        for name in ("a", "b"):
            group.join(name, _payments)
        group.wait_assigned("a", "b")
        group.crash("a")
        group.wait_assigned("b")
        return group.check()


def _payments(instance: Any) -> None:
    with instance.consumer(CONFIG) as consumer:
        consumer.subscribe(["payments"])
        for message in consumer:
            instance.processed(message)
            consumer.commit(message, asynchronous=False)


def test_what_the_group_told_can_be_played_again(virtual_group: VirtualGroup) -> None:
    """Its events are those of `play`, with their times."""
    virtual_group.join("b", careful)
    virtual_group.advance(1.5)
    virtual_group.crash("b")
    assert [entry.text for entry in virtual_group.history.of(What.EVENT)] == [
        "Join('b', at=0.0)",
        "Crash('b', at=1.5)",
    ]


def test_a_check_that_fails_shows_what_happened(virtual_group: VirtualGroup) -> None:
    """The history is a note, which pytest prints below the error."""

    def sleepy(instance: Any) -> None:
        with instance.consumer(CONFIG) as consumer:
            consumer.subscribe(["orders"], on_assign=lambda *_: time.sleep(30))
            for message in consumer:
                instance.processed(message)

    virtual_group.join("a", sleepy)
    virtual_group.wait_assigned("a")
    with pytest.raises(CheckError, match=r"A callback took 30\.000 s") as raised:
        virtual_group.check(callbacks_within(5))
    (note,) = raised.value.__notes__
    assert "What happened:" in note
    assert "on_assign begins orders-0" in note


def test_a_crash_at_the_worst_moment(virtual_group: VirtualGroup) -> None:
    """The test can stop time between a commit and the record's effect."""
    virtual_group.produce(20)
    virtual_group.join("a", careless)
    virtual_group.wait_for(lambda: any(virtual_group.history.of(What.COMMITTED)))
    virtual_group.crash("a")
    virtual_group.join("b", careless)
    virtual_group.wait_settled()
    with pytest.raises(CheckError, match="is missing in the output"):
        virtual_group.check(exactly_once)


def test_what_a_program_raises_is_raised_by_the_next_step(virtual_group: VirtualGroup) -> None:
    """It is raised once, with the line of the program."""

    def buggy(instance: Any) -> None:
        time.sleep(2.0)
        raise KeyError("orders")

    virtual_group.join("a", buggy)
    virtual_group.advance(1.0)
    with pytest.raises(ProgramError, match=r'(?s)a raised KeyError.*raise KeyError\("orders"\)'):
        virtual_group.wait_processed(1)
    virtual_group.advance(1.0)


def test_a_wait_in_vain_shows_what_happened(virtual_group: VirtualGroup) -> None:
    """The error comes after a minute of virtual time by default. A LookupError of the condition means that it is not true yet."""
    virtual_group.join("a", careful)
    with pytest.raises(TimeoutError, match=r"(?s)within 60 s of virtual time.*on_assign begins"):
        virtual_group.wait_processed(1)
    with pytest.raises(TimeoutError, match="within 2 s"):
        virtual_group.wait_for(lambda: virtual_group.history.records[0], timeout_s=2)
    assert virtual_group.now == 62.0


def test_a_member_that_has_not_given_up_its_partitions_yet_is_waited_for(virtual_group: VirtualGroup) -> None:
    """A new member is stable without partitions until the others have revoked theirs."""
    virtual_group.join("a", careful)
    virtual_group.wait_assigned("a")
    virtual_group.join("b", careful)
    virtual_group.wait_assigned("a", "b")
    owned = {one.name: len(member.owned()) for one in virtual_group._world.instances for member in one.memberships()}
    assert owned == {"a": 2, "b": 2}


def test_instances_by_their_names(virtual_group: VirtualGroup) -> None:
    """A running instance cannot join; the name of no instance is a LookupError that names the others."""
    virtual_group.join("a", careful)
    with pytest.raises(ConfigError, match="'a' runs already"):
        virtual_group.join("a", careful)
    for name in ("leave", "crash", "fence", "expire_session", "lose_answer"):
        with pytest.raises(LookupError, match=r"no instance 'b'.*\['a'\]"):
            getattr(virtual_group, name)("b")
    virtual_group.crash("a")
    virtual_group.join("a", careful)
    virtual_group.wait_assigned("a")


def test_instances_join_after_a_check(virtual_group: VirtualGroup) -> None:
    """This includes an instance that is started again after an error of Kafka."""
    virtual_group.join("a", careful)
    virtual_group.wait_assigned("a")
    virtual_group.check()
    virtual_group.produce(60)
    virtual_group.join("b", careful)
    virtual_group.wait_processed(5)
    virtual_group.fence("b")
    virtual_group.wait_processed(60)
    assert [entry.instance for entry in virtual_group.history.of(What.STARTED)] == ["a", "b", "b.2"]


def test_one_virtual_time(virtual_group: VirtualGroup) -> None:
    """A second group in the same thread would wait for the first for ever, and a program must not let time pass."""
    for nested in (lambda: explore(careful, seeds=1), lambda: play(careful), VirtualGroup().__enter__):
        with pytest.raises(ConfigError, match="one virtual time per process"):
            nested()

    def program(_: Any) -> None:
        with pytest.raises(ConfigError, match="only the test can"):
            virtual_group.advance(1.0)

    virtual_group.join("a", program)
    virtual_group.advance(1.0)


def test_it_is_used_in_a_with_statement() -> None:
    """Otherwise its programs would sleep by the real clock."""
    group = VirtualGroup()
    for step in (lambda: group.join("a", careful), lambda: group.advance(1.0), group.move_coordinator, group.check):
        with pytest.raises(RuntimeError, match="`with` statement"):
            step()


def test_the_end_leaves_no_thread_and_no_virtual_clock() -> None:
    """This holds even if the test has failed in the middle of a story."""

    def fail() -> None:
        with VirtualGroup() as group:
            group.join("a", member_alone)
            group.wait_assigned("a")
            raise AssertionError("the test's own")

    before = time.monotonic
    with pytest.raises(AssertionError, match="the test's own"):
        fail()
    assert time.monotonic is before
    play(careful, records=1)
