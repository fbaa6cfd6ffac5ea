"""The keys that the installed librdkafka has, as it tells them itself."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import confluent_kafka


class Row(NamedTuple):
    """A line of librdkafka's CONFIGURATION.md."""

    name: str
    of: str
    """`C` for consumers, `P` for producers, `*` for both."""
    values: str
    default: str


def library() -> str:
    """The file that confluent-kafka has loaded; empty where it is linked into the extension module."""
    beside = Path(confluent_kafka.__file__).parent.parent / "confluent_kafka.libs"
    return next((str(file) for file in beside.glob("librdkafka*")), confluent_kafka.cimpl.__file__)


def rows() -> list[Row]:
    """In a process of its own: the library writes to a C stream, and a mistake about that ends the process."""
    with tempfile.NamedTemporaryFile("r") as file:
        subprocess.run([sys.executable, "-m", __name__, library(), file.name], check=True, timeout=60)
        return list(_parsed(file.read()))


def _parsed(page: str) -> Iterator[Row]:
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.split(" | ")]
        if len(cells) > 4 and cells[1] in {"C", "P", "*"}:
            yield Row(cells[0], cells[1], cells[2], cells[3])


def _write(path: str, to: str) -> None:
    found, libc = ctypes.CDLL(path), ctypes.CDLL(None)
    libc.fopen.restype = ctypes.c_void_p
    stream = ctypes.c_void_p(libc.fopen(to.encode(), b"w"))
    found.rd_kafka_conf_properties_show(stream)
    libc.fclose(stream)


if __name__ == "__main__":
    _write(*sys.argv[1:])
