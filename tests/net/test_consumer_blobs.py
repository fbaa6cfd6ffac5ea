"""What classic members write to each other: ours, older and newer versions, and bytes that are neither."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from membership_client.net.consumer_blobs import (
    SubscriptionReader,
    decode_assignment,
    encode_assignment,
    encode_subscription,
)
from membership_client.net.reader import Undecodable
from membership_client.subscriptions import MemberSubscription
from membership_client.types import TopicPartition

HELD = frozenset({TopicPartition("bills", 7), TopicPartition("orders", 0), TopicPartition("orders", 2)})
MEMBER = MemberSubscription(
    member_id="m", instance_id="i", topics=frozenset({"orders", "bills"}), owned=HELD, generation=5, rack="r1"
)
NAMES = ["range", "roundrobin", "sticky", "cooperative-sticky", "custom"]

# What a member of librdkafka 2.16.1 in rack r1 said under cooperative-sticky: when it was new, and when it held two partitions.
LIBRDKAFKA_NEW = bytes.fromhex("00030000000100066f72646572730000000000000000ffffffff00027231")
LIBRDKAFKA_HOLDING = bytes.fromhex(
    "00030000000100066f7264657273"
    "0000001c0000000100066f7264657273000000020000000200000003"
    "00000003"
    "0000000100066f7264657273000000020000000200000003"
    "0000000300027231"
)


def _read(data: bytes, assignor: str = "cooperative-sticky") -> MemberSubscription:
    return SubscriptionReader(assignor).read("m", "i", data)


@pytest.mark.parametrize("assignor", NAMES)
def test_what_we_write_we_read(assignor: str) -> None:
    """Under every assignor, be what is held in a field or in the user data."""
    assert _read(encode_subscription(MEMBER, assignor), assignor) == MEMBER


def test_an_assignment_in_any_order() -> None:
    """Partitions come back as a set."""
    assert decode_assignment(encode_assignment(sorted(HELD, reverse=True))) == HELD
    assert decode_assignment(encode_assignment([])) == frozenset()


def test_a_leader_that_forgot_us_gives_us_nothing() -> None:
    """The broker hands out no bytes at all then."""
    assert decode_assignment(b"") == frozenset()


@pytest.mark.parametrize("assignor", NAMES)
def test_newer_versions_are_read_as_the_newest_known(assignor: str) -> None:
    """They only add fields at the end."""
    subscription, assignment = encode_subscription(MEMBER, assignor), encode_assignment(HELD)
    assert _read(_newer(subscription), assignor) == MEMBER
    assert decode_assignment(_newer(assignment)) == HELD


def _newer(data: bytes) -> bytes:
    return struct.pack(">h", 9) + data[2:] + b"more"


def test_the_oldest_version_has_topics_only() -> None:
    """Nothing held, no generation, no rack."""
    data = struct.pack(">hih6si", 0, 1, 6, b"orders", -1)
    assert _read(data) == MemberSubscription(member_id="m", instance_id="i", topics=frozenset({"orders"}))


@pytest.mark.parametrize("assignor", ["sticky", "cooperative-sticky"])
@pytest.mark.parametrize("user_data", [b"", b"\x00", b"\xff" * 9, struct.pack(">ii", 1 << 30, 1)])
def test_user_data_that_cannot_be_read_mean_nothing(assignor: str, user_data: bytes) -> None:
    """A member of another client, or of a later version: it joins as one that held nothing."""
    data = struct.pack(">hih6si", 0, 1, 6, b"orders", len(user_data)) + user_data
    subscription = _read(data, assignor)
    assert (subscription.owned, subscription.generation) == (frozenset(), -1)


def test_user_data_without_a_generation() -> None:
    """The first version of the sticky assignor's."""
    held = struct.pack(">ih6sii", 1, 6, b"orders", 1, 4)
    data = struct.pack(">hih6si", 0, 1, 6, b"orders", len(held)) + held
    subscription = _read(data, "sticky")
    assert (subscription.owned, subscription.generation) == ({TopicPartition("orders", 4)}, -1)


def test_an_old_cooperative_member_tells_its_generation_in_user_data() -> None:
    """Java's as a number alone, librdkafka's behind what it holds."""
    alone, behind = struct.pack(">i", 8), struct.pack(">ih6siii", 1, 6, b"orders", 1, 4, 8)
    for user_data in (alone, behind):
        data = struct.pack(">hih6si", 1, 1, 6, b"orders", len(user_data)) + user_data + struct.pack(">i", 0)
        assert _read(data).generation == 8


def test_members_of_librdkafka() -> None:
    """It writes empty user data where Java writes none, and says twice what it holds."""
    new = MemberSubscription(member_id="m", instance_id="i", topics=frozenset({"orders"}), rack="r1")
    assert _read(LIBRDKAFKA_NEW) == new
    held = frozenset({TopicPartition("orders", 2), TopicPartition("orders", 3)})
    assert _read(LIBRDKAFKA_HOLDING) == replace(new, owned=held, generation=3)
    assert _read(LIBRDKAFKA_HOLDING, "sticky") == replace(new, owned=held, generation=3)


def test_members_that_want_the_same_share_one_set() -> None:
    """A leader of a thousand of them reads and compares it once; others are not mistaken for them."""
    reader = SubscriptionReader("range")
    same = [reader.read(f"m{n}", None, encode_subscription(MEMBER, "range")) for n in range(3)]
    other = MemberSubscription(member_id="o", topics=frozenset({"bills"}))
    assert reader.read("o", None, encode_subscription(other, "range")) == other
    assert same[0].topics is same[1].topics is same[2].topics
    assert same[2].owned == HELD


@pytest.mark.parametrize(("others", "is_shared"), [(15, True), (16, False)])
def test_only_so_many_different_subscriptions_are_remembered(others: int, is_shared: bool) -> None:
    """Members that all want something else would make a leader compare each with each."""
    reader = SubscriptionReader("range")
    first = reader.read("m", None, encode_subscription(MEMBER, "range"))
    for number in range(others):
        other = MemberSubscription(member_id="o", topics=frozenset({f"topic-{number}"}))
        reader.read("o", None, encode_subscription(other, "range"))
    again = reader.read("m", None, encode_subscription(MEMBER, "range"))
    assert again == first
    assert (again.topics is first.topics) is is_shared


def test_unknown_topics_and_absurd_partitions() -> None:
    """An assignment may name unknown topics; a negative number is no partition."""
    data = struct.pack(">hih7siiii", 1, 1, 7, b"nowhere", 2, 3, -3, -1)
    assert decode_assignment(data) == {TopicPartition("nowhere", 3)}


@pytest.mark.parametrize("assignor", NAMES)
def test_what_is_cut_off_is_undecodable(assignor: str) -> None:
    """At every byte, with the one exception that says so."""
    subscription, assignment = encode_subscription(MEMBER, assignor), encode_assignment(HELD)
    for end in range(len(subscription)):
        with pytest.raises(Undecodable):
            _read(subscription[:end], assignor)
    for end in range(1, len(assignment)):
        with pytest.raises(Undecodable):
            decode_assignment(assignment[:end])


@given(st.binary(max_size=60))
def test_garbage_is_undecodable_at_worst(data: bytes) -> None:
    """No bytes of a peer make the leader, or a member, fail in another way."""
    for assignor in NAMES:
        try:
            _read(data, assignor)
            decode_assignment(data)
        except Undecodable:
            pass


def _with_user_data(generation: int, user_data: bytes | None) -> bytes:
    """Version 2, which has a field for the generation, beside user data."""
    rest = struct.pack(">i", -1) if user_data is None else struct.pack(">i", len(user_data)) + user_data
    return struct.pack(">hih6s", 2, 1, 6, b"orders") + rest + struct.pack(">ii", 0, generation)


@pytest.mark.parametrize(
    ("assignor", "told", "generation"),
    [
        ("cooperative-sticky", 5, 5),
        ("cooperative-sticky", 0, 0),
        ("cooperative-sticky", -1, 9),
        ("cooperative-sticky", -7, 9),
        ("range", -1, -1),
        ("range", 0, 0),
    ],
)
def test_a_generation_in_its_field_counts_more_than_one_in_user_data(assignor: str, told: int, generation: int) -> None:
    """User data of members that share no assignor with us may look like a generation, and is none."""
    assert _read(_with_user_data(told, struct.pack(">i", 9)), assignor).generation == generation


@pytest.mark.parametrize(
    ("assignor", "generation", "user_data"),
    [
        ("range", 5, None),
        ("custom", -1, None),
        ("sticky", -1, None),
        ("cooperative-sticky", 5, struct.pack(">i", 5)),
        ("cooperative-sticky", -1, struct.pack(">i", -1)),
    ],
)
def test_user_data_are_written_for_the_assignor_that_reads_them(
    assignor: str, generation: int, user_data: bytes | None
) -> None:
    """As Java's members do: under `sticky` none before the first assignment, under `cooperative-sticky` a number."""
    member = MemberSubscription(member_id="m", topics=frozenset({"orders"}), generation=generation)
    written = encode_subscription(member, assignor)
    at = len(struct.pack(">hih6s", 3, 1, 6, b"orders"))
    (length,) = struct.unpack_from(">i", written, at)
    assert (None if length == -1 else written[at + 4 : at + 4 + length]) == user_data
