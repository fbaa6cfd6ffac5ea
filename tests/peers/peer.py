"""A member of a group, whoever wrote the client: joins, remembers its callbacks, leaves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.peers.history import History

PeerKind = Literal["ours", "confluent", "java"]

KINDS: tuple[PeerKind, ...] = ("ours", "confluent", "java")

POLL_S = 0.05
"""How long one poll of those peers lasts whose callbacks run inside polls: as in the examples of their documentation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """Which group to join, for which topic, under which name."""

    bootstrap_servers: str
    group_id: str
    topic: str
    instance_id: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    """Further settings of the client that sits here."""


class Peer(ABC):
    """One incarnation of one member: after `leave` it is over."""

    def __init__(self, seat: Seat) -> None:
        self.seat = seat
        self.history = History()

    @property
    @abstractmethod
    def member_id(self) -> str:
        """As the coordinator knows it; empty before the join."""

    @property
    @abstractmethod
    def error(self) -> str | None:
        """What ended the membership against its will, if anything did."""

    @abstractmethod
    def join(self) -> None:
        """Subscribes and returns at once."""

    @abstractmethod
    def leave_for_good(self) -> None:
        """As `leave`, but a static member gives up its place too, where the client can do that."""

    @abstractmethod
    def leave(self) -> None:
        """Closes the client as its documentation says, and waits for it: static members keep their place. May be repeated."""
