"""MACs of messages: a relay between slot and driver can neither make, change, repeat, reorder nor leave out a message."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

from membership_client_spark.leases.wire import NotOursError, line, parsed

_MAC = 64
"""Hexadecimal digits of SHA-256."""


def session_key(secret: bytes, sender: str, driver: str, slot: str) -> bytes:
    """The key of one direction of one connection, from the challenges of both sides; `sender` is "driver" or "slot"."""
    return hmac.digest(secret, f"session:{sender}:{driver}:{slot}".encode(), hashlib.sha256)


class Sealer:
    """Writes the messages of one direction. Belongs to one thread at a time; results must be sent in order."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._number = 0

    def seal(self, message: dict[str, Any]) -> bytes:
        """One line: a MAC over its number and its text, then the text."""
        text = line(message)
        mac = _mac(self._key, self._number, text)
        self._number += 1
        return mac + text


class Opener:
    """Reads the messages of the Sealer with the same key, all of them and in order. Belongs to one thread."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._number = 0

    def open(self, received: bytes) -> dict[str, Any]:
        """The message. NotOursError for every line that is not the next one; such a line is not parsed."""
        mac, text = received[:_MAC], received[_MAC:]
        if not hmac.compare_digest(mac, _mac(self._key, self._number, text)):
            raise NotOursError(f"message {self._number} of the line was forged, changed, repeated or left out")
        self._number += 1
        return parsed(text)


def _mac(key: bytes, number: int, text: bytes) -> bytes:
    return hmac.digest(key, number.to_bytes(8, "big") + text, hashlib.sha256).hex().encode()
