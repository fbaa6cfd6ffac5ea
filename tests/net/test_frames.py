"""A stream of bytes becomes frames, or a guess at what the peer is."""

from __future__ import annotations

import struct

import pytest

from membership_client.net.channel import Frames, NotKafka

PAYLOADS = [b"abcd", b"abcd" * 1000, b"last"]
STREAM = b"".join(struct.pack(">i", len(payload)) + payload for payload in PAYLOADS)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 4096, len(STREAM)])
def test_frames_do_not_depend_on_how_bytes_arrive(size: int) -> None:
    """One byte at a time or all at once: the same payloads in the same order."""
    frames, taken = Frames(), []
    for start in range(0, len(STREAM), size):
        frames.feed(STREAM[start : start + size])
        taken += list(frames)
    assert taken == PAYLOADS


@pytest.mark.parametrize("length", [-1, -(2**31), 0, 3, 1001, 2**31 - 1])
def test_a_senseless_length_is_not_kafka(length: int) -> None:
    """Negative, too short for a correlation id, or longer than the limit: refused before anything is collected."""
    frames = Frames(max_frame_bytes=1000)
    frames.feed(struct.pack(">i", length))
    with pytest.raises(NotKafka, match="another service, or a TLS port"):
        list(frames)


def test_the_longest_frame_is_of_32_mebibytes() -> None:
    """A million partitions take an eighth of it; what other protocols say first is more."""
    longest = 32 * 2**20
    frames = Frames()
    frames.feed(struct.pack(">i", longest))
    assert list(frames) == []
    beyond = Frames()
    beyond.feed(struct.pack(">i", longest + 1))
    with pytest.raises(NotKafka, match="it announces 33554433 bytes"):
        list(beyond)


def test_frames_before_a_senseless_length_are_taken() -> None:
    """A broker that goes mad has still answered what it answered before."""
    frames = Frames()
    taken: list[bytes] = []
    frames.feed(STREAM + b"\xff" * 4)
    with pytest.raises(NotKafka):
        taken.extend(frames)
    assert taken == PAYLOADS


@pytest.mark.parametrize(
    ("received", "guess"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n", "HTTP server"),
        (b"\x15\x03\x03\x00\x02\x02\x46", "TLS alert"),
        (b"SSH-2.0", "another"),
    ],
)
def test_strangers_are_recognised(received: bytes, guess: str) -> None:
    """What other services say first, read as a length, is out of bounds, and tells who they are."""
    frames = Frames()
    frames.feed(received)
    with pytest.raises(NotKafka, match=guess):
        list(frames)
