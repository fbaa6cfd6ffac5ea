"""Reading bytes that cannot be trusted: agreement with kio on good ones, one exception for bad ones."""

from __future__ import annotations

import random
import struct
import tracemalloc
from typing import Any
from uuid import UUID

import pytest
from kio.serial import entity_reader

from membership_client.core import events
from membership_client.net import codec, opening
from membership_client.net.reader import MOST_ITEMS, Undecodable, read
from membership_client.partitions import Partitions
from membership_client.types import Node, Offset, TopicPartition
from tests.net import answers

A, B = UUID("00000000-0000-0000-0000-00000000000a"), UUID("00000000-0000-0000-0000-00000000000b")
KEY = "consumer.session.timeout.ms"
ASSIGNMENT = [(A, [0, 1, 2, 200]), (B, [7])]

FIND = events.FindCoordinator(group_id="g")
HEARTBEAT = events.Heartbeat(group_id="g", member_id="m", epoch=4)
RESOLVE = events.ResolveTopics(topic_ids=frozenset({A, B}))
DESCRIBE = events.DescribeGroup(group_id="g")
TIMEOUT = events.DescribeSessionTimeout(group_id="g")

P = TopicPartition("orders", 3)
COMMIT = events.CommitOffsets(group_id="g", member_id="m", epoch=4, instance_id=None, offsets={P: Offset(5)})
FETCH = events.FetchOffsets(group_id="g", member_id="m", epoch=4, partitions=frozenset({P}))

SAMPLES: list[tuple[events.Request, int, Any]] = [
    *[(FIND, version, answers.coordinator(version)) for version in range(7)],
    (HEARTBEAT, 1, answers.heartbeat()),
    (HEARTBEAT, 1, answers.heartbeat(assignment=ASSIGNMENT)),
    (HEARTBEAT, 1, answers.heartbeat(error=110)),
    (events.LeaveGroup(group_id="g", member_id="m", instance_id=None, reason="r"), 5, answers.group_left()),
    *[(RESOLVE, version, answers.metadata(version, [(A, "a", 0), (B, None, 100)])) for version in (12, 13)],
    *[(DESCRIBE, version, answers.group_described(version, topic=A)) for version in (0, 1)],
    (COMMIT, 9, answers.offsets_committed({P: 0, TopicPartition("bills", 0): 25})),
    (FETCH, 9, answers.offsets_fetched({P: (5, 2, "so far", 0), TopicPartition("bills", 0): (-1, -1, "", 88)})),
    *[(TIMEOUT, version, answers.configs(version, {KEY: "45000", "other": None})) for version in range(1, 5)],
]
NAMES = [f"{type(answer).__name__}-v{version}" for _, version, answer in SAMPLES]


@pytest.mark.parametrize(("request_", "version", "answer"), SAMPLES, ids=NAMES)
def test_our_reader_agrees_with_kio(request_: events.Request, version: int, answer: Any) -> None:
    """On well-formed bytes with known error codes both readers give equal messages."""
    payload = answers.payload(answer)
    header, offset = entity_reader(answer.__header_schema__)(payload, 0)
    expected, _ = entity_reader(type(answer))(payload, offset)
    assert read(answer.__header_schema__, payload) == (header, offset)
    assert read(type(answer), payload, offset) == (expected, len(payload))


WHOLE = events.Heartbeat(
    group_id="g",
    member_id="m",
    epoch=0,
    topics=("a", "b"),
    regex="",
    owned=Partitions.of({A: [0, 1], B: [7]}),
)


@pytest.mark.parametrize("request_", [HEARTBEAT, WHOLE], ids=["null", "whole"])
def test_our_reader_agrees_with_kio_on_lists_that_may_be_null(request_: events.Heartbeat) -> None:
    """No answer that we read today has one, and requests do."""
    payload = codec.encode(request_, 1, 7, "tester")[4:]
    message = answers.read_request(payload).message
    _, start = entity_reader(message.__header_schema__)(payload, 0)
    assert read(type(message), payload, start) == (message, len(payload))


def test_an_entry_of_a_list_is_never_null() -> None:
    """Bytes that are no text must not reach code that compares names."""
    payload = answers.payload(answers.group_described(1))
    names = b"\x02\x07orders"
    assert payload.count(names) == 1
    with pytest.raises(Undecodable):
        codec.decode(DESCRIBE, 1, payload.replace(names, b"\x02\x00"))


def test_only_a_negative_marker_stands_for_no_message() -> None:
    """KIP-893: Kafka writes 1 for one that is there, and reads every other number as that."""
    payload = answers.payload(answers.heartbeat(assignment=[]))
    # The marker, the count of topics, then the tag counts of the assignment and of the answer.
    assert payload.endswith(b"\x01\x01\0\0")
    for marker in (b"\x00", b"\x01", b"\x7f"):
        response, _ = codec.decode(HEARTBEAT, 1, payload[:-4] + marker + payload[-3:])
        assert isinstance(response, events.HeartbeatAccepted)
        assert response.assignment is not None


@pytest.mark.parametrize(("count", "is_read"), [(2, True), (64, True), (65, False)])
def test_there_may_be_so_many_tagged_fields_and_no_more(count: int, is_read: bool) -> None:
    """Each of them is skipped, whatever its length."""
    answer = answers.heartbeat(epoch=9)
    payload = answers.payload(answer)
    _, start = read(answer.__header_schema__, payload)
    extended = payload[:-1] + varint(count) + b"".join(b"%c\x02ab" % (99,) for _ in range(count))
    if is_read:
        assert read(type(answer), extended, start)[1] == len(extended)
    else:
        with pytest.raises(Undecodable, match="announces 65 tagged fields"):
            read(type(answer), extended, start)


def test_a_number_of_more_than_five_bytes_is_none() -> None:
    """A peer could make it as long as its frame."""
    payload = answers.payload(answers.heartbeat(epoch=9))
    with pytest.raises(Undecodable, match="does not end"):
        codec.decode(HEARTBEAT, 1, payload[:-1] + b"\xff" * 5 + b"\x01")


def test_a_tagged_field_that_ends_too_early_is_undecodable() -> None:
    """Its length is not believed either."""
    payload = answers.payload(answers.heartbeat(epoch=9))
    with pytest.raises(Undecodable):
        codec.decode(HEARTBEAT, 1, payload[:-1] + b"\x01\x63\x05abc")


def test_unknown_tagged_fields_are_skipped() -> None:
    """A newer broker may add fields that we have never heard of."""
    payload = answers.payload(answers.heartbeat(epoch=9))
    assert payload.endswith(b"\0")
    extended = payload[:-1] + b"\x01\x63\x03abc"
    assert codec.decode(HEARTBEAT, 1, extended)[0] == events.HeartbeatAccepted(epoch=9, interval_s=3.0)


@pytest.mark.parametrize(("request_", "version", "answer"), SAMPLES, ids=NAMES)
def test_a_truncated_answer_is_undecodable(request_: events.Request, version: int, answer: Any) -> None:
    """Wherever it was cut."""
    payload = answers.payload(answer)
    for end in range(len(payload)):
        with pytest.raises(Undecodable):
            codec.decode(request_, version, payload[:end])


@pytest.mark.parametrize(("request_", "version", "answer"), SAMPLES, ids=NAMES)
def test_mutated_answers_decode_or_are_undecodable(request_: events.Request, version: int, answer: Any) -> None:
    """Two thousand broken versions of each real answer: a response or Undecodable, nothing else, ever."""
    seed = f"{type(answer).__name__} {version}"
    chance = random.Random(seed)
    payload = answers.payload(answer)
    for number in range(2000):
        mutant = mutate(payload, chance)
        try:
            codec.decode(request_, version, mutant)
        except Undecodable:
            continue
        except Exception as error:  # noqa: BLE001 - the point of the test
            pytest.fail(f"seed {seed!r}, mutant {number}: {mutant.hex()}: {error!r}")


def test_only_versions_of_use_are_kept() -> None:
    """A process may hold a thousand connections, and brokers have a hundred APIs."""
    offer = {key: (0, key) for key in (3, 17, 36, 68, 1, 99)}
    for version in (0, 3):
        payload = answers.payload(answers.api_versions(version, offer))
        assert opening.read_versions(version, payload) == {key: (0, key) for key in (3, 17, 36, 68)}


def test_a_broker_that_refuses_the_oldest_version_too_is_of_no_use() -> None:
    """Asked again and again in the same way it would refuse again and again."""
    refusal = answers.payload(answers.api_versions(0, {}, error=35))
    assert opening.read_versions(3, refusal) is None
    with pytest.raises(opening.Refusal, match="error 35"):
        opening.read_versions(0, refusal)


def test_mutated_version_lists_decode_or_are_undecodable() -> None:
    """The first answer on a connection is the one that a stranger gives most often."""
    chance = random.Random(1)
    offer = dict.fromkeys(range(80), (0, 9))
    for version in (0, 3):
        payload = answers.payload(answers.api_versions(version, offer))
        for _ in range(2000):
            try:
                opening.read_versions(version, mutate(payload, chance))
            except (Undecodable, opening.Refusal):
                continue


INTERESTING = (
    b"\xff" * 5,
    b"\xff\xff\xff\xff\x0f",
    b"\xff\xff\xff\xff\x07",
    b"\x7f\xff\xff\xff",
    b"\0" * 4,
    b"\x80",
    b"\x01",
)


def mutate(payload: bytes, chance: random.Random) -> bytes:
    """Change, remove, insert or repeat bytes at a few random places."""
    mutant = bytearray(payload)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(mutant) + 1)
        until = at + chance.randrange(6)
        match chance.randrange(4):
            case 0:
                mutant[at : at + 1] = bytes([chance.randrange(256)])
            case 1:
                mutant[at:until] = chance.choice(INTERESTING)
            case 2:
                del mutant[at:until]
            case 3:
                mutant[at:at] = mutant[at : at + chance.randrange(40)]
    return bytes(mutant)


HOSTILE_COUNTS = [100, 2**14, 2**21, 2**28, 2**31 - 1, 2**31, 2**32 - 1, 2**35 - 1]


@pytest.mark.parametrize("count", HOSTILE_COUNTS)
def test_an_announced_length_is_not_believed(count: int) -> None:
    """Counts without content are refused before memory is reserved; kio's own reader aborts the process on some of them."""
    empty = answers.payload(answers.heartbeat(assignment=[]))
    # The count of topics, then the tag counts of the assignment and of the answer.
    assert empty.endswith(b"\x01\0\0")
    topics = empty[:-3] + varint(count)
    partitions = empty[:-3] + varint(2) + A.bytes + varint(count)
    for hostile in (topics, partitions, topics + b"\0" * 50, partitions + b"\0" * 50):
        assert peak_bytes_of_refusing(HEARTBEAT, 1, hostile) < 100_000


@pytest.mark.parametrize("count", [-2, -(2**31), 2**31 - 1, 2**20])
def test_an_announced_length_of_an_old_array_is_not_believed(count: int) -> None:
    """Neither in the format with fixed-width lengths, where it may also be negative."""
    hostile = struct.pack(">iii", 7, 0, count) + b"\0" * 20
    assert peak_bytes_of_refusing(TIMEOUT, 1, hostile) < 100_000


@pytest.mark.parametrize("length", [0, 1, 126, 127, 128, 254, 255, 256, 300, 20_000])
def test_a_text_may_be_of_any_length(length: int) -> None:
    """Lengths of the flexible versions take one byte, two or three."""
    text = "x" * length
    found = answers.payload(answers.coordinator(6, host=text))
    assert codec.decode(FIND, 6, found)[0] == events.CoordinatorFound(Node(text, 9092, 1))


@pytest.mark.parametrize("length", [-1, -2, -(2**15)])
def test_a_text_that_must_be_there_is_there(length: int) -> None:
    """A host without a name, or with a length below nothing, is no host."""
    # Correlation id, error code, node id, the length of the host, and bytes that could be read as one.
    payload = struct.pack(">ihih", 7, 0, 1, length) + b"\0" * 20
    with pytest.raises(Undecodable):
        codec.decode(FIND, 0, payload)


def test_lists_of_numbers_may_be_long_and_lists_of_messages_not() -> None:
    """A number takes no time to speak of; a hundred thousand messages take the membership thread a second."""
    many = [(A, range(MOST_ITEMS + 1))]
    response, _ = codec.decode(HEARTBEAT, 1, answers.payload(answers.heartbeat(assignment=many)))
    assert isinstance(response, events.HeartbeatAccepted)
    assert response.assignment == Partitions.of(dict(many))
    empty = answers.payload(answers.heartbeat(assignment=[]))
    topics = empty[:-3] + varint(MOST_ITEMS + 2) + (A.bytes + b"\x01\0") * (MOST_ITEMS + 1) + b"\0\0"
    with pytest.raises(Undecodable, match="announces 100001 elements"):
        codec.decode(HEARTBEAT, 1, topics)


def peak_bytes_of_refusing(request: events.Request, version: int, payload: bytes) -> int:
    tracemalloc.start()
    try:
        with pytest.raises(Undecodable):
            codec.decode(request, version, payload)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def varint(number: int) -> bytes:
    octets = bytearray()
    while number > 0x7F:
        octets.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*octets, number])
