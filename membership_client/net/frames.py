"""Cut a stream of bytes into Kafka's frames, and notice when the peer is not speaking Kafka."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_FRAME_BYTES = 32 * 1024 * 1024
"""An assignment of a million partitions takes an eighth of it. The first bytes of other protocols, read as a length, are more."""

_SIZE = struct.Struct(">i")
_CORRELATION_ID_BYTES = 4


class NotKafka(Exception):  # noqa: N818 - it says what the peer is
    """The peer cannot be a Kafka broker. The text is a guess at what it is."""


class Frames:
    """Bytes in, payloads out: a payload is a frame without its size prefix, and begins with its correlation id.

    Holds at most one frame's worth of bytes beyond the payloads not yet taken, and next to nothing when idle.
    """

    __slots__ = ("_buffer", "_max_frame_bytes")

    def __init__(self, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        self._max_frame_bytes = max_frame_bytes
        self._buffer = bytearray()

    def feed(self, received: bytes) -> None:
        self._buffer += received

    def __iter__(self) -> Iterator[bytes]:
        """Take the complete payloads, in order.

        Raises:
            NotKafka: a length is negative, too short or too long.
        """
        while len(self._buffer) >= _SIZE.size:
            end = _SIZE.size + self._next_length()
            if len(self._buffer) < end:
                return
            payload = bytes(memoryview(self._buffer)[_SIZE.size : end])
            del self._buffer[:end]
            yield payload

    def _next_length(self) -> int:
        length: int = _SIZE.unpack_from(self._buffer)[0]
        if not _CORRELATION_ID_BYTES <= length <= self._max_frame_bytes:
            raise NotKafka(_guess(bytes(self._buffer[:4]), length))
        return length


def _guess(start: bytes, length: int) -> str:
    if start == b"HTTP":
        return "it answers like an HTTP server"
    # A TLS record of type alert (21), version 3.x.
    if start.startswith(b"\x15\x03"):
        return "it answers with a TLS alert: this is a TLS port, and the connection is plain text; is security.protocol right?"
    return f"it announces {length} bytes: is it another service, or a TLS port?"
