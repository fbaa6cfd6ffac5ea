"""Just enough of a WebSocket (RFC 6455) to talk to a browser on this machine: text, one frame per message or more."""

from __future__ import annotations

import base64
import os
import socket
import struct

_TEXT, _CLOSE = 0x1, 0x8


class WebSocket:
    """Not thread-safe. ConnectionError when the other side is gone, TimeoutError when it says nothing for too long."""

    def __init__(self, port: int, path: str, timeout_s: float) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout_s)
        key = base64.b64encode(os.urandom(16)).decode()
        self._socket.sendall(
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        self._file = self._socket.makefile("rb")
        status = self._file.readline()
        if b" 101 " not in status:
            raise ConnectionError(f"The browser refused: {status!r}")
        while self._file.readline() != b"\r\n":
            pass

    def send(self, text: str) -> None:
        """Masked, as a client must; with zeros, which hide nothing and cost nothing."""
        data = text.encode()
        if len(data) < 126:
            head = struct.pack(">BB", 0x80 | _TEXT, 0x80 | len(data))
        elif len(data) < 65536:
            head = struct.pack(">BBH", 0x80 | _TEXT, 0x80 | 126, len(data))
        else:
            head = struct.pack(">BBQ", 0x80 | _TEXT, 0x80 | 127, len(data))
        self._socket.sendall(head + bytes(4) + data)

    def receive(self) -> str:
        parts, last = [], False
        while not last:
            first, second = self._read(2)
            last, length = bool(first & 0x80), second & 0x7F
            if length >= 126:
                (length,) = struct.unpack(">H" if length == 126 else ">Q", self._read(2 if length == 126 else 8))
            parts.append(self._read(length))
            if first & 0xF == _CLOSE:
                raise ConnectionError("The browser closed the connection.")
        return b"".join(parts).decode()

    def _read(self, length: int) -> bytes:
        data = self._file.read(length)
        if len(data) < length:
            raise ConnectionError("The browser is gone.")
        return data

    def close(self) -> None:
        self._file.close()
        self._socket.close()
