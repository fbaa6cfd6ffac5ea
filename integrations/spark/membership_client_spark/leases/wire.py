"""The protocol between a slot and the driver: one JSON object per line, proofs that both know the secret, and MACs.

With the MACs a relay between slot and driver can neither make, change, repeat, reorder nor leave out a message.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
from typing import Any

LONGEST_GREETING = 512
"""Bytes that are read from a peer before its proof: a challenge and a proof are 160."""

LONGEST_LINE = 1024 * 1024
"""Bytes of a line after that: a report of tens of thousands of partitions fits."""

_SIZE = 32
_CHALLENGE = re.compile(r"[0-9a-f]{64}")


class NotOursError(ValueError):
    """The other side does not know the secret of this run, or speaks another protocol."""


def new_secret() -> bytes:
    """For one run; it is sent to executors with the task, as the configuration is."""
    return secrets.token_bytes(_SIZE)


def challenge() -> str:
    return secrets.token_hex(_SIZE)


def challenge_in(message: dict[str, Any]) -> str:
    """The challenge in a message. NotOursError if it does not have the form of `challenge`, because keys are made of it."""
    given = message.get("challenge")
    if not isinstance(given, str) or not _CHALLENGE.fullmatch(given):
        raise NotOursError("no challenge of ours")
    return given


def proof(secret: bytes, role: str, driver: str, slot: str) -> str:
    """A proof covers both challenges, and the role, so that one side cannot echo the other's proof."""
    return hmac.digest(secret, f"{role}:{driver}:{slot}".encode(), hashlib.sha256).hex()


def check_proof(given: object, expected: str) -> None:
    if not isinstance(given, str) or not given.isascii() or not hmac.compare_digest(given, expected):
        raise NotOursError("wrong proof: not a slot or driver of this run")


def line(message: dict[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def parsed(received: bytes) -> dict[str, Any]:
    """NotOursError for everything that is not one whole object."""
    if not received.endswith(b"\n"):
        raise NotOursError("the line ended in the middle of a message")
    try:
        message = json.loads(received)
    except (ValueError, RecursionError) as error:
        raise NotOursError("not a message of ours") from error
    if not isinstance(message, dict):
        raise NotOursError("not a message of ours")
    return message


# --- MACs of messages ------------------------------------------------------------------------------------------------

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
