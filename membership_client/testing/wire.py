"""Sends one Kafka request over one blocking socket, for test helpers."""

from __future__ import annotations

import io
import socket
import struct
from typing import TYPE_CHECKING, TypeVar

from kio.serial import entity_reader, entity_writer
from kio.static.primitive import i32

from membership_client.config import parse_bootstrap

if TYPE_CHECKING:
    from kio.static.protocol import RequestPayload, ResponsePayload

    Answer = TypeVar("Answer", bound=ResponsePayload)

Address = tuple[str, int]


def ask(address: Address, request: RequestPayload, answer_type: type[Answer], timeout_s: float = 10) -> Answer:
    """The broker's answer to `request`. OSError if the broker cannot be reached, does not answer, or closes the connection."""
    with socket.create_connection(address, timeout=timeout_s) as connection, connection.makefile("rwb") as stream:
        stream.write(_frame(request))
        stream.flush()
        (size,) = struct.unpack(">i", _read(stream, 4))
        return _parse(_read(stream, size), answer_type)


def parse_addresses(bootstrap_servers: str) -> list[Address]:
    """The addresses of a list such as "host:9092,host:9093"."""
    return [(node.host, node.port) for node in parse_bootstrap(bootstrap_servers)]


def _frame(request: RequestPayload) -> bytes:
    header = request.__header_schema__(
        request_api_key=request.__api_key__,
        request_api_version=request.__version__,
        correlation_id=i32(0),
        client_id="membership-client-testing",
    )
    body = io.BytesIO()
    entity_writer(type(header))(body, header)
    entity_writer(type(request))(body, request)
    return struct.pack(">i", body.tell()) + body.getvalue()


def _read(stream: io.BufferedRWPair, size: int) -> bytes:
    received = stream.read(size)
    if len(received) < size:
        raise ConnectionResetError("the broker closed the connection instead of answering")
    return received


def _parse(payload: bytes, answer_type: type[Answer]) -> Answer:
    _, offset = entity_reader(answer_type.__header_schema__)(payload, 0)
    answer, _ = entity_reader(answer_type)(payload, offset)
    return answer
