"""The first exchange on every connection: which versions of which APIs does this broker offer?"""

from __future__ import annotations

import functools
import importlib.metadata
import re
import struct

from kio.schema.api_versions import v0, v3

from membership_client.core.error_codes import Code
from membership_client.net.codec import API_KEYS, Offer, frame, read_answer
from membership_client.net.reader import Undecodable

NEWEST = 3
OLDEST = 0
_API_KEY = 18
_START = struct.Struct(">ih")
_OF_USE = API_KEYS | {17, 36}
"""The APIs of our requests, SaslHandshake (17) and SaslAuthenticate (36)."""


class Refusal(Exception):  # noqa: N818 - it is an answer
    """The broker answered with this error code."""

    def __init__(self, code: int) -> None:
        super().__init__(f"it refuses ApiVersions with error {code}")


def ask(version: int, correlation_id: int, client_id: str) -> bytes:
    """The request, size prefix included. `version` is NEWEST or OLDEST."""
    if version == OLDEST:
        return frame(v0.ApiVersionsRequest(), correlation_id, client_id)
    request = v3.ApiVersionsRequest(
        client_software_name="membership-client", client_software_version=_software_version()
    )
    return frame(request, correlation_id, client_id)


def understand(version: int, payload: bytes) -> Offer | None:
    """Versions that the broker offers of the APIs that we use; None if it must be asked in the oldest version.

    All other APIs are dropped, because a process may hold a thousand connections.

    Raises:
        Undecodable: these bytes are no answer.
        Refusal: the broker answered with an error.
    """
    # A broker that does not know the version answers in the oldest one (KIP-511), but the error comes first in all.
    error = _error_code(payload)
    if error == Code.UNSUPPORTED_VERSION and version != OLDEST:
        return None
    if error:
        raise Refusal(error)
    offered = read_answer(_API_KEY, version, payload).api_keys
    return {api.api_key: (api.min_version, api.max_version) for api in offered if api.api_key in _OF_USE}


def _error_code(payload: bytes) -> int:
    try:
        code: int = _START.unpack_from(payload)[1]
    except struct.error as error:
        raise Undecodable("it ends before its error code does") from error
    return code


@functools.cache
def _software_version() -> str:
    try:
        version = importlib.metadata.version("membership-client")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"
    # Brokers accept letters, digits, dots and dashes: not the plus sign of a local version.
    return re.sub(r"[^a-zA-Z0-9.-]", "-", version)
