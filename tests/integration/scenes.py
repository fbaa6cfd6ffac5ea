"""One member in each state in which its network may fail: scenes that are played while a test breaks the network.

A scene is a generator. It goes on to its first `yield` while all is well, to its second one while the network fails, and
to its end when it works again.
"""

from __future__ import annotations

import threading
import uuid
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

from membership_client import LeaveMode, MemberConfig, MemberState, NotOwnedError, Offset
from membership_client.testing import ClusterAdmin
from tests.integration.members import PATIENCE_S, Call, RecordingListener, WatchedMember, eventually

Scene = Generator[None, None, None]

PARTITIONS = 4
PROTOCOLS: dict[str, dict[str, Any]] = {
    "consumer": {"group_protocol": "consumer"},
    # A join on a connection that died without a word is given up when the group cannot be waiting any more.
    "classic": {"group_protocol": "classic", "heartbeat_interval_ms": 200, "max_poll_interval_ms": 8000},
}
_QUICK = {"request_timeout_ms": 600, "socket_connection_setup_timeout_ms": 600, "retry_backoff_max_ms": 300}


class Cast:
    """The members of one scene, in a group of their own."""

    def __init__(self, servers: str, group: str, topic: str, settings: dict[str, Any], *, notices: bool) -> None:
        self.members: list[WatchedMember] = []
        self.notices = notices
        """Is the fault one that makes requests fail?"""
        self._topic = topic
        self._settings = {"bootstrap_servers": servers, "group_id": group, **_QUICK, **settings}

    def join(self, **actions: Callable[[Call], None]) -> WatchedMember:
        member = WatchedMember(MemberConfig(**self._settings), RecordingListener(**actions))
        self.members.append(member)
        member.subscribe([self._topic])
        return member

    def owner(self, **actions: Callable[[Call], None]) -> WatchedMember:
        member = self.join(**actions)
        self.settle()
        return member

    def settle(self) -> None:
        """Wait until all members are stable, without an error, and share the topic."""
        eventually(self._is_settled, f"settled members: {[member.snapshot for member in self.members]}")

    def _is_settled(self) -> bool:
        now = [member.snapshot for member in self.members]
        calm = all(snapshot.state is MemberState.STABLE and snapshot.error is None for snapshot in now)
        owned = sorted(partition.partition for snapshot in now for partition in snapshot.owned)
        return calm and owned == list(range(PARTITIONS))

    def expel(self, member: WatchedMember) -> None:
        admin = ClusterAdmin(self._settings["bootstrap_servers"])
        admin.remove_member(self._settings["group_id"], member.snapshot.member_id)

    def close(self) -> None:
        for member in self.members:
            member.close(LeaveMode.LEAVE, timeout_s=2)


def joining(cast: Cast) -> Scene:
    yield
    cast.join()
    yield
    cast.settle()


def assigning(cast: Cast) -> Scene:
    """The callback runs all the time."""
    done = threading.Event()
    member = cast.join(assigned=_awaiting(done))
    eventually(lambda: member.listener.of("assigned"), "an assignment that has begun")
    yield
    yield
    done.set()
    cast.settle()


def revoking(cast: Cast) -> Scene:
    """The callback runs all the time."""
    done = threading.Event()
    yield from _revoke(cast, done)
    yield
    done.set()
    cast.settle()


def losing(cast: Cast) -> Scene:
    """The coordinator has dropped it, and the callback runs all the time."""
    done = threading.Event()
    member = cast.owner(lost=_awaiting(done))
    cast.expel(member)
    eventually(lambda: member.listener.of("lost"), "a loss that is told")
    assert member.snapshot.state is MemberState.FENCED
    yield
    yield
    done.set()
    cast.settle()


def acknowledging(cast: Cast) -> Scene:
    """The callback returns while no broker can be reached."""
    done = threading.Event()
    yield from _revoke(cast, done)
    done.set()
    yield
    cast.settle()


def _revoke(cast: Cast, done: threading.Event) -> Scene:
    owner = cast.owner(revoked=_awaiting(done))
    cast.join()
    eventually(lambda: owner.listener.of("revoked"), "a revoke that has begun")
    yield


def _awaiting(done: threading.Event) -> Callable[[Call], None]:
    return lambda _: (done.wait(PATIENCE_S), None)[1]


def stable(cast: Cast) -> Scene:
    """The member notices the fault."""
    member = cast.owner()
    before = len(member.steps)
    yield
    yield
    # A connection that died without a word is missed a little later.
    eventually(lambda: not cast.notices or any(step.after.problem for step in member.steps[before:]), "a failure")
    cast.settle()


def committing(cast: Cast) -> Scene:
    """Asked for while the network fails; accepted when it works again, unless others have the partition by then."""
    member = cast.owner()
    yield
    partition = min(member.assignment())
    with ThreadPoolExecutor(1) as pool:
        commit = pool.submit(member.commit, {partition: Offset(7)}, timeout_s=3 * PATIENCE_S)
        yield
        try:
            commit.result(3 * PATIENCE_S)
            assert member.committed([partition], timeout_s=PATIENCE_S) == {partition: Offset(7)}
        except NotOwnedError:
            # The refusal of a commit may come before that of a heartbeat, which ends the ownership.
            eventually(lambda: member.listener.of("lost"), "lost, after a commit was refused")
    cast.settle()


def leaving(cast: Cast) -> Scene:
    """Asked for while the network fails; it has left when it works again, because it had the time."""
    member = cast.owner()
    yield
    with ThreadPoolExecutor(1) as pool:
        close = pool.submit(member.close, timeout_s=3 * PATIENCE_S)
        yield
        report = close.result(4 * PATIENCE_S)
    cast.members.remove(member)
    assert report.clean, report


SCENES: tuple[Callable[[Cast], Scene], ...] = (
    joining,
    assigning,
    revoking,
    acknowledging,
    stable,
    losing,
    committing,
    leaving,
)


class Stage:
    """All scenes at once, in both protocols, each in a group of its own; `settings` of members by protocol.

    One broker, `coordinator`, has all the groups, so that who kills it strikes every scene.
    `notices`: what happens is bad enough that stable members must see a request fail.
    """

    def __init__(
        self,
        servers: str,
        topic: str,
        settings: Mapping[str, dict[str, Any]] | None = None,
        *,
        notices: bool = True,
    ) -> None:
        more = settings or {}
        names = [f"cast-{uuid.uuid4().hex}" for _ in range(100)]
        coordinators = ClusterAdmin(servers).coordinators(names)
        # The coordinator of most of a hundred groups has more of them than there are scenes.
        ((self.coordinator, _),) = Counter(coordinators.values()).most_common(1)
        groups = (name for name in names if coordinators[name] == self.coordinator)
        self._casts = [
            Cast(servers, next(groups), topic, base | more.get(protocol, {}), notices=notices)
            for protocol, base in PROTOCOLS.items()
            for _ in SCENES
        ]
        self._scenes = [scene(cast) for scene, cast in zip(SCENES * len(PROTOCOLS), self._casts, strict=True)]
        self._pool = ThreadPoolExecutor(len(self._scenes))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._pool:
            list(self._pool.map(Cast.close, self._casts))

    def prepare(self) -> None:
        """Play all scenes to their first `yield`, while the network works."""
        list(self._pool.map(next, self._scenes))

    def act(self) -> None:
        """Play all scenes to their second `yield`, while the network fails."""
        list(self._pool.map(next, self._scenes))

    def finish(self) -> None:
        """Play all scenes to their end, when the network works again: all do what they wanted, and none has ended."""
        assert set(self._pool.map(lambda scene: next(scene, "ended"), self._scenes)) == {"ended"}
        members = [member for cast in self._casts for member in cast.members]
        assert not [member.error for member in members if MemberState.FATAL in member.states]
