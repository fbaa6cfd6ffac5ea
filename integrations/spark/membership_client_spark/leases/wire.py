"""The protocol between a slot and the driver: one JSON object per line, and proofs that both know the secret."""

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
