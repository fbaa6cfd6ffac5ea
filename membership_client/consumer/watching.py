"""poll() as a C method, and for a few calls as a Python function that can look around.

An object changes its class for it. An attribute of the instance would do the same, but a name that was once in an
instance's dictionary is looked up there for good, which every later call of poll() pays for.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

import confluent_kafka
from confluent_kafka import Message


class Watchable(Protocol):
    def _watched_poll(self, timeout: float = -1) -> Message | None: ...


T = TypeVar("T", bound=type)


class _Layer(confluent_kafka.Consumer):
    """Behind the application's own subclass, if it has one, and before the C class: `super().poll()` comes here."""

    def poll(self: Watchable, timeout: float = -1) -> Message | None:
        return self._watched_poll(timeout)


_WATCHED: dict[type, type] = {}
_PLAIN: dict[type, type] = {}


def watched(kind: T) -> T:
    """That class with a poll() that is watched."""
    if kind in _PLAIN:
        return kind
    if kind not in _WATCHED:
        made = type(kind.__name__, (kind, _Layer), {"__module__": kind.__module__, "__qualname__": kind.__qualname__})
        _PLAIN[made] = kind
        _WATCHED[kind] = made
    return _WATCHED[kind]  # type: ignore[return-value]


def plain(kind: T) -> T:
    """That class with the C method."""
    return _PLAIN.get(kind, kind)  # type: ignore[return-value]
