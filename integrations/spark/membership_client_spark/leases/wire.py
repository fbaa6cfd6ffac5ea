"""What goes over the line between a slot and the driver: one JSON object per line, after both proved they know the secret."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from typing import Any

LONGEST_LINE = 1024 * 1024
"""A report of tens of thousands of partitions fits; nothing honest is longer."""

_SIZE = 32


class NotOursError(ValueError):
    """The other side does not know the secret of this run, or speaks something else."""


def new_secret() -> bytes:
    """For one run; it travels to executors inside the task, as the configuration does."""
    return secrets.token_bytes(_SIZE)


def challenge() -> str:
    return secrets.token_hex(_SIZE)


def proof(secret: bytes, role: str, driver: str, slot: str) -> str:
    """Each side proves itself over both challenges; the role keeps one side from echoing the other's proof."""
    return hmac.digest(secret, f"{role}:{driver}:{slot}".encode(), hashlib.sha256).hex()


def check_proof(given: object, expected: str) -> None:
    if not isinstance(given, str) or not hmac.compare_digest(given.encode(), expected.encode()):
        raise NotOursError("wrong proof: not a slot or driver of this run")


def line(message: dict[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def parsed(received: bytes) -> dict[str, Any]:
    """NotOursError for everything that is not one whole object."""
    if not received.endswith(b"\n"):
        raise NotOursError("the line ended in the middle of a message")
    try:
        message = json.loads(received)
    except ValueError as error:
        raise NotOursError("not a message of ours") from error
    if not isinstance(message, dict):
        raise NotOursError("not a message of ours")
    return message
