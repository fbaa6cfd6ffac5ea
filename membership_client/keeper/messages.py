"""Encodes messages between a process and its keeper, and reads the few fields of Kafka's answers that the keeper needs."""

from __future__ import annotations

import struct

from membership_client.keeper.order_state import KeeperReport, Order
from membership_client.values import dataclass

MOST_BYTES = 2**20
"""The longest message to the keeper: certificates, or a heartbeat with a hundred thousand owned partitions."""

_ORDER = struct.Struct("=qiddd?i")
_STOP = struct.Struct("=q")
_REPORT = struct.Struct("=qid?")
REPORT_BYTES = _REPORT.size
"""The length of a report. Each is written to the pipe in one piece."""
_INT32 = struct.Struct(">i")
_NEVER = float("-inf")


@dataclass(frozen=True, slots=True)
class Frame:
    """The bytes of a heartbeat request."""

    content: bytes
    epoch_at: int
    """The position of the epoch in `content`."""
    tells_epoch: bool
    """Whether the answer has the member epoch (KIP-848)."""

    def with_epoch(self, epoch: int) -> bytes:
        end = self.epoch_at + _INT32.size
        return self.content[: self.epoch_at] + _INT32.pack(epoch) + self.content[end:]


def order_bytes(order: Order, frame: Frame) -> bytes:
    head = _ORDER.pack(
        order.number, order.epoch, order.at, order.interval_s, order.until, frame.tells_epoch, frame.epoch_at
    )
    return b"O" + head + frame.content


def stop_bytes(number: int) -> bytes:
    return b"S" + _STOP.pack(number)


def read_order(message: bytes) -> tuple[Order, Frame] | int:
    """An order and its heartbeat, or the number of a stop."""
    if message[:1] == b"S":
        (number,) = _STOP.unpack_from(message, 1)
        return int(number)
    number, epoch, at, interval_s, until, tells_epoch, epoch_at = _ORDER.unpack_from(message, 1)
    return Order(number, epoch, at, interval_s, until), Frame(message[1 + _ORDER.size :], epoch_at, tells_epoch)


def report_bytes(report: KeeperReport) -> bytes:
    confirmed_at = _NEVER if report.confirmed_at is None else report.confirmed_at
    return _REPORT.pack(report.number, report.epoch, confirmed_at, report.settled)


def read_report(message: bytes) -> KeeperReport:
    number, epoch, confirmed_at, settled = _REPORT.unpack(message)
    return KeeperReport(number, epoch, None if confirmed_at == _NEVER else confirmed_at, settled)


# --- Kafka's answers -------------------------------------------------------------------------------------------------


class UnreadableError(Exception):
    """These bytes are no answer to a heartbeat."""


def read_answer(payload: bytes, *, tells_epoch: bool) -> tuple[int, int | None]:
    """Error code and epoch of the answer to a heartbeat: v0 or v1 of ConsumerGroupHeartbeat, v1 to v4 of Heartbeat.

    Raises:
        UnreadableError: the bytes are no such answer.
    """
    try:
        # Correlation id; in flexible versions an empty list of tagged fields; throttle time; error code.
        flexible = tells_epoch or len(payload) == _V4_BYTES
        (code,) = struct.unpack_from(">h", payload, 9 if flexible else 8)
        if not tells_epoch or code:
            return code, None
        at = _after_text(payload, _after_text(payload, 11))  # The error message, the member id.
        return code, int(_INT32.unpack_from(payload, at)[0])
    except (struct.error, IndexError) as error:
        raise UnreadableError(str(error)) from error


_V4_BYTES = 12
"""The length of a classic answer in version 4. Versions 1 to 3 have 10 bytes."""


def _after_text(payload: bytes, at: int) -> int:
    """The position after a compact string: an unsigned varint of its length plus one (0 for null), then its bytes."""
    length, shift = 0, 0
    while True:
        byte = payload[at]
        at, length, shift = at + 1, length | (byte & 0x7F) << shift, shift + 7
        if not byte & 0x80:
            return at + max(0, length - 1)
