"""What is done when the call returns, and may be awaited all the same: programs written for AIOConsumer await everything."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any


class Done:
    """Nothing, at once."""

    def __await__(self) -> Generator[Any, None, None]:
        yield from ()


class ReadyBytes(bytes):
    """These bytes; awaited, the same."""

    def __await__(self) -> Generator[Any, None, bytes]:
        yield from ()
        return self
