"""What all measurements share: one broker, one JVM for Java consumers, how much to measure, and a voice."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field

from tests.peers.group import PeerGroup
from tests.peers.jvm import PeerJvm


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How much is measured. The defaults are what the promises are about."""

    rounds: int = 10
    """How often starts and joins are measured."""
    warm_ups: int = 3
    """Starts that do not count."""
    static_members: int = 10
    """How many members a rolling restart goes through."""
    beats: int = 1000
    """How many heartbeats are watched while Python burns CPU."""
    idle_members: int = 100
    idle_s: float = 30.0
    siblings: int = 100
    """How many members of one process join at once."""
    crowd: int = 1000
    """How many members one process holds."""
    partitions: tuple[int, ...] = (500, 5_000, 50_000)
    """How many partitions the member has of which one moves."""
    assigned: tuple[int, int, int] = (1000, 1000, 50)
    """How many members, topics, and partitions of each topic the assignors share out."""
    records: int = 400_000
    """How many are read in each round of the consumers' race."""
    group_settings: dict[str, int] = field(default_factory=dict)
    """None are needed: the broker's default intervals are the point. A trial run has no time for them."""

    crash_settings: dict[str, int] = field(default_factory=dict)
    """As above, for the group in which a member is killed: only a trial run shortens its session."""

    @property
    def interval_s(self) -> float:
        """The heartbeat interval that members are told."""
        return self.group_settings.get("consumer_heartbeat_interval_ms", 5000) / 1000


FULL = Sizes()
TRIAL = Sizes(
    rounds=1,
    warm_ups=0,
    static_members=2,
    beats=5,
    idle_members=2,
    idle_s=0.2,
    siblings=3,
    crowd=3,
    partitions=(50, 500),
    assigned=(3, 4, 5),
    records=2_000,
    group_settings={"consumer_heartbeat_interval_ms": 100, "consumer_assignment_interval_ms": 0},
    crash_settings={"consumer_heartbeat_interval_ms": 100, "consumer_session_timeout_ms": 1500},
)
"""Everything once and small: whether it works, not how fast."""


class Stage:
    """Where measurements happen."""

    def __init__(self, bootstrap_servers: str, jvm: PeerJvm) -> None:
        self.bootstrap_servers = bootstrap_servers
        self.jvm = jvm
        self._began_at = time.monotonic()

    def group(self, name: str, partitions: int = 6, **settings: int) -> PeerGroup:
        """A new group with a topic of its own."""
        return PeerGroup(self.bootstrap_servers, self.jvm, name, partitions, **settings)

    def say(self, what: str) -> None:
        """Progress, for whoever waits."""
        sys.stderr.write(f"{time.monotonic() - self._began_at:6.1f} s  {what}\n")
        sys.stderr.flush()
