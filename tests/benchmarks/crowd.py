"""Very many members in one process, in one group, against one broker.

They are started as fast as they are let in, and no faster: a thousand threads that all want the interpreter at once spend
the machine on waking each other up.
"""

from __future__ import annotations

import resource
import threading
import time

from membership_client import GroupMember, LeaveMode, MemberState
from tests.benchmarks.figures import Figure, Limit
from tests.benchmarks.stage import Sizes, Stage
from tests.peers.group import PeerGroup, eventually

_PATIENCE_S = 600.0
_LOOK_S = 0.2
_JOINING_AT_ONCE = 40
_FILES_PER_MEMBER = 8
"""A connection and a wakeup take three; a bootstrap connection comes on top for a moment."""


def measure(stage: Stage, sizes: Sizes) -> list[Figure]:
    _allow_files(_FILES_PER_MEMBER * sizes.crowd)
    stage.say(f"a topic of {sizes.crowd} partitions")
    group = stage.group("crowd", partitions=sizes.crowd, **sizes.group_settings)
    members: list[GroupMember] = []
    began_at = time.monotonic()
    try:
        _join_all(stage, group, members, sizes.crowd)
        return _watch(stage, sizes, members, began_at)
    finally:
        _leave(members)


def _join_all(stage: Stage, group: PeerGroup, members: list[GroupMember], count: int) -> None:
    joining: list[GroupMember] = []
    for number in range(count):
        member = GroupMember({"bootstrap.servers": stage.bootstrap_servers, "group.id": group.id})
        member.subscribe([group.id])
        members.append(member)
        joining = _await_room([*joining, member])
        if number % 100 == 99:
            stage.say(f"{number + 1} members started")


def _await_room(joining: list[GroupMember]) -> list[GroupMember]:
    """Those that have not been let in yet, once they are few enough."""
    while len(waiting := [member for member in joining if not member.snapshot.epoch]) >= _JOINING_AT_ONCE:
        time.sleep(0.02)
    return waiting


def _watch(stage: Stage, sizes: Sizes, members: list[GroupMember], began_at: float) -> list[Figure]:
    _await_stable(stage, members)
    seconds = time.monotonic() - began_at
    cpu_s = time.process_time()
    time.sleep(2 * sizes.interval_s)
    cpu_s = time.process_time() - cpu_s
    unstable = len(members) - _stable(members)
    how = f"after {seconds:.0f} s, still so two intervals later; {threading.active_count()} threads; "
    how += f"{100 * cpu_s / (2 * sizes.interval_s):.0f} % of a core once stable"
    name = f"{sizes.crowd} members in one process, not stable"
    return [Figure(name=name, unit="members", values={"ours": unstable}, how=how, limit=Limit(0))]


def _await_stable(stage: Stage, members: list[GroupMember]) -> None:
    def all_stable() -> bool:
        time.sleep(_LOOK_S)
        count = _stable(members)
        stage.say(f"{count} of {len(members)} members own a partition")
        return count == len(members)

    eventually(all_stable, lambda: f"all of {len(members)} members are stable", _PATIENCE_S)


def _stable(members: list[GroupMember]) -> int:
    snapshots = (member.snapshot for member in members)
    return sum(snapshot.state is MemberState.STABLE and len(snapshot.owned) == 1 for snapshot in snapshots)


def _leave(members: list[GroupMember]) -> None:
    """All at once: one by one, each leave would be a rebalance of the rest."""
    threads = [threading.Thread(target=member.close, args=(LeaveMode.LEAVE,)) for member in members]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _allow_files(count: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count + 1000
    if wanted > soft:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
