"""One ownership of a partition is told from a later one."""

from __future__ import annotations

from uuid import UUID

from membership_client.config import MemberConfig
from membership_client.core.events import CallbackKind, Tick
from membership_client.core.machine import Step
from membership_client.core.member import Member, RunningCall
from membership_client.partitions import NOTHING, Partitions
from membership_client.runtime.ownership import OwnershipNumbers
from membership_client.types import TopicPartition
from membership_client.values import replace

ORDERS = UUID(int=1)
A, B = TopicPartition("orders", 0), TopicPartition("orders", 1)
NOBODY = Member(config=MemberConfig(bootstrap_servers="b:9092", group_id="g"), member_id="m", names={ORDERS: "orders"})


def owner(*numbers: int) -> Member:
    return replace(NOBODY, owned=Partitions.of({ORDERS: numbers}) if numbers else NOTHING)


def assigning(member: Member, number: int) -> Member:
    given = Partitions.of({ORDERS: [number]})
    return replace(member, call=RunningCall(call_id=1, kind=CallbackKind.ASSIGNED, partitions=given, began_at=0.0))


def change(numbers: OwnershipNumbers, before: Member, after: Member) -> None:
    numbers.on_step(Step(0.0, before, Tick(), (), after))


def owns_all(_: TopicPartition) -> bool:
    return True


def test_an_ownership_that_ended_is_over_also_when_the_partition_is_back() -> None:
    """And that of a partition that stayed is not."""
    numbers = OwnershipNumbers()
    first = numbers.of([A, B], owns_all)
    change(numbers, owner(0, 1), owner(1))
    change(numbers, owner(1), owner(0, 1))
    assert numbers.is_over(A, first[A])
    assert not numbers.is_over(B, first[B])
    assert not numbers.is_over(A, numbers.of([A], owns_all)[A])


def test_what_was_not_owned_stays_so() -> None:
    """A commit that was asked for before its partition was assigned is not good after it."""
    numbers = OwnershipNumbers()
    asked = numbers.of([A], lambda partition: False)
    change(numbers, owner(), owner(0))
    assert numbers.is_over(A, asked[A])


def test_the_ownership_of_a_callback_that_assigns_goes_on_after_it() -> None:
    """What the callback committed asynchronously is still good when it has returned."""
    numbers = OwnershipNumbers()
    in_callback = numbers.of([A], owns_all)
    change(numbers, owner(1), assigning(owner(1), 0))
    change(numbers, assigning(owner(1), 0), owner(0, 1))
    assert not numbers.is_over(A, in_callback[A])


def test_the_ownership_of_a_callback_that_assigns_ends_when_it_fails() -> None:
    """Its partitions may go to another member before it is called again."""
    numbers = OwnershipNumbers()
    in_callback = numbers.of([A], owns_all)
    change(numbers, assigning(owner(1), 0), owner(1))
    assert numbers.is_over(A, in_callback[A])


def test_an_ownership_that_ends_while_it_is_looked_up_is_over() -> None:
    """The number is from before, and nothing can come in between unnoticed."""
    numbers = OwnershipNumbers()

    def ends_and_begins_again(_: TopicPartition) -> bool:
        change(numbers, owner(0), owner())
        return True

    assert numbers.is_over(A, numbers.of([A], ends_and_begins_again)[A])
