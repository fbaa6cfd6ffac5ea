"""Groups with members of both protocols on an embedded cluster: members change their protocol while the group runs."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from membership_client import GroupMember, GroupTypeError, LeaveMode, MemberState
from membership_client.testing import EmbeddedKafka
from membership_client.types import TopicPartition
from tests.testing.embedded_groups import PATIENCE_S, QUICK, Heard, member

ALL = frozenset(TopicPartition("orders", number) for number in range(4))
Join = Callable[..., GroupMember]


@pytest.fixture
def embedded() -> Iterator[EmbeddedKafka]:
    with EmbeddedKafka(topics={"orders": 4}, settings=QUICK) as cluster:
        yield cluster


@pytest.fixture
def join(embedded: EmbeddedKafka) -> Iterator[Join]:
    """A member of the group with that protocol, which leaves at the end of the block."""
    with contextlib.ExitStack() as stack:
        yield lambda protocol, **more: stack.enter_context(member(embedded, protocol, Heard(), **more))


def wait_shared(embedded: EmbeddedKafka, *members: GroupMember) -> None:
    """Wait until exactly these members share the partitions evenly."""

    def shared() -> bool:
        shares = [one.snapshot.owned for one in members]
        is_whole = frozenset[Any]().union(*shares) == ALL and sum(map(len, shares)) == len(ALL)
        return is_whole and {len(share) for share in shares} == {len(ALL) // len(members)}

    embedded.wait_for(shared, PATIENCE_S)


@pytest.mark.parametrize("strategies", [["range"], ["cooperative-sticky"]], ids=str)
def test_a_group_moves_to_the_consumer_protocol_and_back(
    embedded: EmbeddedKafka, join: Join, strategies: list[str]
) -> None:
    """Members restart one after the other; the group is a KIP-848 group while it has a KIP-848 member."""
    classic = functools.partial(join, "classic", partition_assignment_strategy=strategies)
    first, second = classic(), classic()
    wait_shared(embedded, first, second)
    for speaks in ("consumer", "classic"):
        for _ in range(2):
            first.close()
            first, second = second, join("consumer") if speaks == "consumer" else classic()
            wait_shared(embedded, first, second)


@pytest.mark.parametrize("protocols", [("classic", "consumer"), ("consumer", "classic")], ids=str)
def test_a_static_member_changes_its_protocol(embedded: EmbeddedKafka, join: Join, protocols: tuple[str, str]) -> None:
    """It gets its partitions again under another member id, and the other member keeps its own."""
    before, after = protocols
    other, one = join(before), join(before, group_instance_id="one")
    wait_shared(embedded, other, one)
    one.close(LeaveMode.TEMPORARY)
    wait_shared(embedded, other, join(after, group_instance_id="one"))


def test_commits_of_both_kinds_of_members(embedded: EmbeddedKafka, join: Join) -> None:
    """Each commits with its own epoch or generation."""
    members = join("classic"), join("consumer")
    wait_shared(embedded, *members)
    for one in members:
        one.commit(dict.fromkeys(one.assignment(), 0))
    assert embedded.committed("shop") == dict.fromkeys(ALL, 0)


def test_a_session_of_a_classic_member_ends_in_a_mixed_group(embedded: EmbeddedKafka, join: Join) -> None:
    """The other members get its partitions, and it joins again."""
    members = join("classic"), join("consumer")
    wait_shared(embedded, *members)
    embedded.expire_session(members[0].snapshot.member_id)
    embedded.wait_for(lambda: members[0].snapshot.owned == frozenset(), PATIENCE_S)
    wait_shared(embedded, *members)


@pytest.mark.parametrize("policy", ["disabled", "downgrade"])
def test_a_policy_that_allows_no_upgrade(policy: str) -> None:
    """The first KIP-848 member is refused while the classic group has members."""
    settings: dict[str, str | int] = {**QUICK} | {"group.consumer.migration.policy": policy}
    with (
        EmbeddedKafka(topics={"orders": 4}, settings=settings) as embedded,
        member(embedded, "classic", Heard()) as one,
    ):
        one.wait_until(lambda snapshot: snapshot.owned == ALL, PATIENCE_S)
        with member(embedded, "consumer", Heard()) as refused:
            embedded.wait_for(lambda: refused.snapshot.state is MemberState.FATAL, PATIENCE_S)
            assert isinstance(refused.error, GroupTypeError)
