"""An executor is killed with SIGKILL: how long until its slot has its partitions again, a peer's slot as many?"""

from __future__ import annotations

import os
import signal
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from membership_client.testing.admin import ClusterAdmin
from tests.benchmarks.figures import Figure, Limit
from tests.benchmarks.spark.setting import Setting
from tests.benchmarks.spark.slots import Diary, Note, run_ours, run_peers
from tests.integration.members import eventually
from tests.spark.clusters.executors import Executor, executors_in
from tests.spark.clusters.processes import send
from tests.spark.consume.fleet import PARTITIONS, Source

_PATIENCE_S = 180.0
_SLOTS = 2


class _Kind(NamedTuple):
    run: Callable[..., Callable[[], None]]
    protocol: str


_KINDS = {
    "ours": _Kind(run_ours, "consumer"),
    "confluent, KIP-848": _Kind(run_peers, "consumer"),
    "confluent, classic": _Kind(run_peers, "classic"),
}


_TRIAL_SESSIONS: Mapping[Callable[..., Callable[[], None]], Mapping[str, int]] = {
    # Longer than a starving machine may need to replace an executor: without its session ours may get other partitions back.
    run_ours: {"consumer_session_timeout_ms": 300_000, "consumer_heartbeat_interval_ms": 500},
    # They have to wait for its end.
    run_peers: {"consumer_session_timeout_ms": 5_000, "consumer_heartbeat_interval_ms": 200},
}


def measure(setting: Setting) -> list[Figure]:
    """Ours against both of confluent-kafka's protocols, one after the other on the same executors."""
    seconds = {name: _recover(setting, name, kind) for name, kind in _KINDS.items()}
    return [
        Figure(
            name=f"executor killed, slot has its share again, {protocol}",
            unit="s",
            values={"ours": seconds["ours"], "confluent": seconds[f"confluent, {protocol}"]},
            how="ours under KIP-848; from SIGKILL to the first record, Spark's own recovery included",
            limit=limit,
        )
        for protocol, limit in (("KIP-848", Limit(1.0, of_confluent=True)), ("classic", None))
    ]


def _recover(setting: Setting, name: str, kind: _Kind) -> float:
    group = f"recovery-{uuid.uuid4().hex[:8]}"
    admin = ClusterAdmin(setting.bootstrap_servers)
    admin.create_topic(group, PARTITIONS)
    if setting.is_trial:
        admin.set_group_config(group, **_TRIAL_SESSIONS[kind.run])
    source = Source(setting.bootstrap_servers, group)
    diary = Diary(setting.directory / group)
    end = kind.run(setting.spark, _config(setting, group, kind), group, _SLOTS, diary)
    try:
        setting.say(f"{name}: waiting for the slots")
        eventually(lambda: _shares(diary), "both slots have a share", _PATIENCE_S)
        return _kill(setting, name, diary, _is_same if kind.run is run_ours else _is_as_much)
    finally:
        source.stop()
        end()


def _config(setting: Setting, group: str, kind: _Kind) -> Mapping[str, Any]:
    common = {"bootstrap.servers": setting.bootstrap_servers, "group.id": group, "auto.offset.reset": "earliest"}
    return common if kind.run is run_ours else common | {"group.protocol": kind.protocol, "log_level": 0}


def _shares(diary: Diary) -> bool:
    """Whether each slot's newest notes tell of its half, and of nothing else."""
    newest = [diary.notes(slot)[-1:] for slot in range(_SLOTS)]
    return all(notes and len(notes[0].partitions) == PARTITIONS // _SLOTS for notes in newest)


def _is_same(before: Note, now: Note) -> bool:
    return now.partitions == before.partitions


def _is_as_much(before: Note, now: Note) -> bool:
    """After a rebalance, which ours does not have, they need not be the same."""
    return len(now.partitions) == len(before.partitions)


def _kill(setting: Setting, name: str, diary: Diary, is_back: Callable[[Note, Note], bool]) -> float:
    found = eventually(lambda: _at_work(diary), "a slot whose executor lives", _PATIENCE_S)
    assert found is not None
    before, executor = found
    setting.say(f"{name}: killing an executor")
    killed_at = time.time()
    send(executor.pid, signal.SIGKILL)

    def again() -> float | None:
        later = (now for now in diary.notes(0) if now.at > killed_at and now.pid != before.pid)
        return next((now.at for now in later if is_back(before, now)), None)

    seconds = eventually(again, "the slot with its share", _PATIENCE_S)
    assert seconds is not None
    setting.say(f"{name}: back after {seconds - killed_at:.2f} s")
    return seconds - killed_at


def _at_work(diary: Diary) -> tuple[Note, Executor] | None:
    """The first slot's newest note, and the executor of who wrote it; on a busy machine that may have ended meanwhile."""
    newest = diary.notes(0)[-1]
    found = (one for one in executors_in(os.getsid(0)) if newest.pid in one.python_workers)
    return next(((newest, one) for one in found if _shares(diary)), None)
