"""The keeper beside confluent-kafka: `python -m tests.benchmarks.keeper`, five minutes.

What members keep while an extension holds the interpreter, in both protocols, in the clear, over TLS and with SASL; how late
their heartbeats are meanwhile; and what the keeper costs. The exit code is 1 if a promise was not kept.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from membership_client.testing import EmbeddedKafka
from tests.benchmarks.command import parse, tell
from tests.benchmarks.figures import Figure, Limit
from tests.keeper.holding import Holder, children, holding, wait
from tests.peers.peer import PeerKind
from tests.security.secure_kafka import SecureKafka, secure_kafka

_ROOT = Path(__file__).parents[2]
_PROTOCOLS = {"consumer": "KIP-848", "classic": "classic"}
_LIBRARIES: dict[PeerKind, str] = {"ours": "membership_client", "confluent": "confluent_kafka"}
_WAYS = ("in the clear", "TLS", "SCRAM over TLS")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How much is measured. The defaults are what the issue asks for."""

    session_s: int = 10
    holds_s: tuple[int, ...] = (20, 60)
    ways: tuple[str, ...] = _WAYS
    members: int = 10
    idle_s: float = 60.0
    starts: int = 10


FULL = Sizes()
TRIAL = Sizes(session_s=4, holds_s=(6,), ways=_WAYS[:1], members=2, idle_s=1.0, starts=1)

Measure = Callable[[Sizes, SecureKafka], list[Figure]]


def main() -> int:
    """0 if every promise was kept, 1 if not."""
    arguments = parse("tests.benchmarks.keeper", __doc__, MEASUREMENTS)
    sizes = TRIAL if arguments.trial else FULL
    with tempfile.TemporaryDirectory() as directory, secure_kafka(Path(directory)) as kafka:
        figures = [figure for name in arguments.only or MEASUREMENTS for figure in MEASUREMENTS[name](sizes, kafka)]
    return tell(figures, arguments.json)


# --- what is kept ----------------------------------------------------------------------------------------------------


def held(sizes: Sizes, kafka: SecureKafka) -> list[Figure]:
    """The members of one hold are held at the same time, each in a process of its own."""
    return [figure for hold_s in sizes.holds_s for figure in _held(sizes, kafka, hold_s)]


def _held(sizes: Sizes, kafka: SecureKafka, hold_s: int) -> list[Figure]:
    cases = [(protocol, way, kind) for protocol in _PROTOCOLS for way in sizes.ways for kind in _LIBRARIES]
    unkept = [(protocol, _WAYS[0], "off") for protocol in _PROTOCOLS]
    _say(f"{len(cases) + len(unkept)} consumers are held for {hold_s} s")
    with contextlib.ExitStack() as stack:
        holders = {case: stack.enter_context(_holder(sizes, kafka, hold_s, case)) for case in (*cases, *unkept)}
        lost = {case: _lost(holder, hold_s) for case, holder in holders.items()}
    how = f"of 2, session {sizes.session_s} s"
    kept = [
        Figure(
            name=f"lost in a hold of {hold_s} s, {_PROTOCOLS[protocol]}, {way}",
            unit="partitions",
            values={kind: lost[protocol, way, kind] for kind in _LIBRARIES},
            how=how,
            limit=Limit(0),
        )
        for protocol in _PROTOCOLS
        for way in sizes.ways
    ]
    without = [
        Figure(
            name=f"lost in a hold of {hold_s} s, {_PROTOCOLS[protocol]}, no keeper",
            unit="partitions",
            values={"ours": lost[protocol, way, kind]},
            how=how,
        )
        for protocol, way, kind in unkept
    ]
    return kept + without


def _holder(
    sizes: Sizes, kafka: SecureKafka, hold_s: int, case: tuple[str, str, str]
) -> contextlib.AbstractContextManager[Holder]:
    """`case` is a protocol, a way to the broker, and a client; `off` is ours without a keeper."""
    protocol, way, kind = case
    topic = kafka.new_topic(heartbeat_interval_ms=1000 * sizes.session_s // 4)
    kafka.admin.set_group_config(topic, consumer_session_timeout_ms=1000 * sizes.session_s)
    ways = {
        "in the clear": {"bootstrap.servers": kafka.cluster.bootstrap_servers},
        "TLS": kafka.ways_in("")["tls"],
        "SCRAM over TLS": kafka.ways_in("")["scram-512"],
    }
    config = ways[way] | {"group.id": topic, "group.protocol": protocol}
    if protocol == "classic":
        intervals = {"session.timeout.ms": 1000 * sizes.session_s, "heartbeat.interval.ms": 250 * sizes.session_s}
        config |= intervals | {"partition.assignment.strategy": "range"}
    if kind == "confluent":
        return holding(config, topic, hold_s, library="confluent_kafka")
    return holding(config | {"heartbeat.keeper": "process" if kind == "ours" else "off"}, topic, hold_s)


def _lost(holder: Holder, hold_s: int) -> int:
    """Lost partitions, in and after the hold."""
    holder.wait_for("holds")
    holder.wait_for("free", patience_s=hold_s + 60)
    return sum(count for kind, count in holder.wait_for("polled") if kind == "lost")


# --- how late it is --------------------------------------------------------------------------------------------------

_INTERVAL_S = 1.0


def lateness(sizes: Sizes, _: SecureKafka) -> list[Figure]:
    """Seen by a broker of the test kit: the time between two heartbeats, beyond the interval."""
    settings = {
        "group.consumer.heartbeat.interval.ms": int(1000 * _INTERVAL_S),
        "group.consumer.session.timeout.ms": 1000 * sizes.session_s,
        "group.consumer.assignment.interval.ms": 0,
    }
    figures = []
    for protocol, name in _PROTOCOLS.items():
        late_s: dict[PeerKind, list[float]] = {}
        for kind in _LIBRARIES:
            with EmbeddedKafka(topics={"orders": 2}, settings=settings) as kafka:
                late_s[kind] = _late_s(sizes, kafka, protocol, kind)
        ours = late_s["ours"]
        how = f"worst of {len(ours)}, interval {_INTERVAL_S:g} s, held for {sizes.holds_s[0]} s"
        figures.append(
            Figure(
                name=f"heartbeat lateness while held, {name}",
                unit="ms",
                values={kind: 1000 * max(late) for kind, late in late_s.items()},
                how=f"{how}; median of ours {1000 * statistics.median(ours):.1f} ms",
                limit=Limit(500),
            )
        )
    return figures


def _late_s(sizes: Sizes, kafka: EmbeddedKafka, protocol: str, kind: PeerKind) -> list[float]:
    hold_s = sizes.holds_s[0]
    config = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "held", "group.protocol": protocol}
    if protocol == "classic":
        config |= {"session.timeout.ms": str(1000 * sizes.session_s), "heartbeat.interval.ms": "1000"}
    if kind == "ours":
        config["heartbeat.keeper"] = "process"
    _say(f"heartbeats of {_LIBRARIES[kind]} are watched for {hold_s} s, {_PROTOCOLS[protocol]}")
    with holding(config, "orders", hold_s, library=_LIBRARIES[kind]) as holder:
        holder.wait_for("holds")
        at = _heartbeats_at(kafka, "ConsumerGroupHeartbeat" if protocol == "consumer" else "Heartbeat", hold_s)
    return [max(0.0, second - first - _INTERVAL_S) for first, second in itertools.pairwise(at)]


def _heartbeats_at(kafka: EmbeddedKafka, api: str, watched_s: float) -> list[float]:
    """When they came. The hold has begun."""
    seen, at, end = kafka.requests(api), [time.monotonic()], time.monotonic() + watched_s
    while time.monotonic() < end:
        time.sleep(0.002)
        if (now_seen := kafka.requests(api)) > seen:
            seen = now_seen
            at.append(time.monotonic())
    return at


# --- what it costs ---------------------------------------------------------------------------------------------------

_MEMBERS = """\
import ctypes, json, sys, time
from membership_client import GroupMember, RebalanceListener

config, topic, count, hold_s = json.loads(sys.argv[1])
members = []
for number in range(count):
    members.append(GroupMember(config | {"group.id": f"{topic}-{number}"}, listener=RebalanceListener()))
    members[-1].subscribe([topic])
for member in members:
    member.wait_until(lambda snapshot: bool(snapshot.owned), timeout_s=60)
print("ready", flush=True)
sys.stdin.readline()
ctypes.PyDLL(None).sleep(hold_s)
print("free", flush=True)
sys.stdin.readline()
"""

_START = """\
import json, os, sys, threading, time
from pathlib import Path
from membership_client.core.events import Heartbeat
from membership_client.core.keeper import Watch
from membership_client.net import codec, opening
from membership_client.runtime.keeper_link import KeeperLink
from membership_client.security import PLAINTEXT
from membership_client.types import Node

host, port = sys.argv[1].rsplit(":", 1)
opened = threading.Event()
link = KeeperLink("client", 10.0, lambda: PLAINTEXT, opened.set)
watch = Watch(Node(host, int(port)), Heartbeat(group_id="g", member_id="m", epoch=1), at=0.0, interval_s=5.0)
began_at = time.monotonic()
link.prepare()
prepared_at = time.monotonic()
link.order(1, watch, 0.0)
assert opened.wait(60)
print(json.dumps([prepared_at - began_at, time.monotonic() - began_at]))
"""


def cost(sizes: Sizes, kafka: SecureKafka) -> list[Figure]:
    """Of the keeper, in memory and time, of members that do nothing and of members that are held."""
    plain = {"bootstrap.servers": kafka.cluster.bootstrap_servers}
    starts = _starts(sizes, kafka.cluster.bootstrap_servers)
    in_the_clear = _usage(sizes, plain, kafka.new_topic(), 0)
    encrypted = _usage(sizes, kafka.ways_in("")["tls"], kafka.new_topic(), 0)
    rate, busy = 10, kafka.new_topic()
    for number in range(sizes.members):
        kafka.admin.set_group_config(f"{busy}-{number}", consumer_heartbeat_interval_ms=1000 // rate)
    sending = _usage(sizes, plain, busy, sizes.holds_s[0])
    memory = f"of {sizes.members} members, {encrypted['rss_mb']:.1f} MB with TLS"
    idle = (
        f"of {sizes.members} members over {sizes.idle_s:g} s, {encrypted['cpu']:.3f} with TLS, at the default interval"
    )
    return [
        Figure(name="memory of the keeper, resident", unit="MB", values=_ours(in_the_clear["rss_mb"]), how=memory),
        Figure(
            name="memory of the keeper, proportional",
            unit="MB",
            values=_ours(max(in_the_clear["pss_mb"], encrypted["pss_mb"])),
            how=f"PSS with TLS; {in_the_clear['pss_mb']:.1f} MB without",
            limit=Limit(25),
        ),
        Figure(
            name="CPU of the keeper, members idle",
            unit="% of a core",
            values=_ours(max(in_the_clear["cpu"], encrypted["cpu"])),
            how=idle,
            limit=Limit(0.1),
        ),
        Figure(
            name="CPU of the keeper while it sends",
            unit="% of a core",
            values=_ours(sending["cpu"]),
            how=f"for {sizes.members} members, {rate} heartbeats a second each, held for {sizes.holds_s[0]} s",
        ),
        Figure(
            name="start of the keeper until it can send",
            unit="s",
            values=_ours(statistics.median(ready_s for _, ready_s in starts)),
            how=f"in the background, median of {len(starts)}, worst {max(ready_s for _, ready_s in starts):.3f} s; "
            f"{1000 * statistics.median(blocked_s for blocked_s, _ in starts):.0f} ms of the member's thread",
            limit=Limit(0.3),
        ),
    ]


def _ours(value: float) -> Mapping[PeerKind, float]:
    return {"ours": value}


def _starts(sizes: Sizes, servers: str) -> list[tuple[float, float]]:
    """So long the call blocked, and so long it took until the keeper could send; each in a process of its own."""
    _say(f"{sizes.starts} keepers are started")
    command = [sys.executable, "-c", _START, servers.partition(",")[0]]
    found = []
    for _ in range(sizes.starts + 1):
        blocked_s, ready_s = json.loads(subprocess.run(command, cwd=_ROOT, check=True, capture_output=True).stdout)
        found.append((blocked_s, ready_s))
    return found[1:]  # The first one compiles.


def _usage(sizes: Sizes, config: dict[str, Any], topic: str, hold_s: int) -> dict[str, float]:
    """Of the keeper of these members: memory, and its share of a core while they are idle, or held."""
    _say(f"{sizes.members} members are {f'held for {hold_s} s' if hold_s else f'idle for {sizes.idle_s:g} s'}")
    task = json.dumps([config | {"heartbeat.keeper": "process"}, topic, sizes.members, hold_s])
    process = subprocess.Popen(
        [sys.executable, "-c", _MEMBERS, task], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=_ROOT
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        keeper = wait(lambda: children(process.pid), "keeper")[0]
        wait(lambda: _lines(keeper) >= sizes.members, "lines of all members")
        time.sleep(min(sizes.idle_s, 5.0))
        before, began_at = _cpu_s(keeper), time.monotonic()
        process.stdin.write("\n" if hold_s else "")
        process.stdin.flush()
        time.sleep(max(1.0, hold_s - 1.0) if hold_s else sizes.idle_s)
        cpu = 100 * (_cpu_s(keeper) - before) / (time.monotonic() - began_at)
        return {"cpu": cpu, **_memory(keeper)}
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def _lines(keeper: int) -> int:
    """A line has three handles: orders, reports, and the connection. Besides there are few."""
    return len([*Path(f"/proc/{keeper}/fd").iterdir()]) // 3


def _cpu_s(pid: int) -> float:
    """Of all its threads, to the nanosecond."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


def _memory(pid: int) -> dict[str, float]:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    kilobytes = {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines)}
    return {"rss_mb": kilobytes["Rss"] / 1024, "pss_mb": kilobytes["Pss"] / 1024}


def _say(what: str) -> None:
    sys.stderr.write(f"{what}\n")
    sys.stderr.flush()


MEASUREMENTS: dict[str, Measure] = {"held": held, "lateness": lateness, "cost": cost}

if __name__ == "__main__":
    sys.exit(main())
