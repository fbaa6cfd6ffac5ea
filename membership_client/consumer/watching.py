"""poll() as little more than a C method, and for a few calls as a function that can look around.

An object changes its class for it. An attribute of the instance would do the same, but a name that was once in an
instance's dictionary is looked up there for good, which every later call of poll() pays for.
"""

from __future__ import annotations

from time import monotonic
from typing import Protocol, TypeVar

import confluent_kafka
from confluent_kafka import Message

from membership_client.consumer.absence import Absence

_poll = confluent_kafka.Consumer.poll


class Watchable(Protocol):
    _absence: Absence

    def _watched_poll(self, timeout: float = -1) -> Message | None: ...
    def _may_hand_out(self, messages: list[Message]) -> bool: ...


class Checked(confluent_kafka.Consumer):
    """The C method, and one look at the clock: a process that was away must not hand out what it fetched before."""

    def poll(self: Watchable, timeout: float = -1) -> Message | None:
        message = _poll(self, timeout)  # type: ignore[arg-type]  # it is a Consumer
        if message is None or monotonic() < self._absence.until or self._may_hand_out([message]):
            return message
        return _Layer.poll(self, timeout)


T = TypeVar("T", bound=type)


class _Layer(Checked):
    """Behind the application's own subclass, if it has one, and before the C class: `super().poll()` comes here."""

    def poll(self: Watchable, timeout: float = -1) -> Message | None:
        while (message := self._watched_poll(timeout)) is not None and not self._may_hand_out([message]):
            pass
        return message


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
    """That class with the method that is hardly more than the C one."""
    return _PLAIN.get(kind, kind)  # type: ignore[return-value]
