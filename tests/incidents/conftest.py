"""A stage for incidents: a group, actors in processes of their own, and the traces they leave."""

from __future__ import annotations

import socket
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from membership_client.debugger.diagnose import SKEW_S, diagnose
from membership_client.debugger.findings.finding import Finding, Kind
from membership_client.debugger.model.broker_log import read_broker_logs
from membership_client.testing import ClusterAdmin, KafkaCluster
from membership_client.trace import read_trace
from tests.diagnose.sentences import complaints
from tests.diagnose.truth import truth_of
from tests.integration.members import eventually
from tests.integration.speaking import SpeakingProcess
from tests.integration.test_access import AUTHORIZER

T = TypeVar("T")

SESSION_S = 4.0
"""Long enough for a busy machine, short enough for a test that waits until one is over."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How long a group waits for a member, and how often members speak."""

    session_s: float = SESSION_S
    beat_s: float = 0.3


HASTY = Pace()
PATIENT = Pace(session_s=40.0, beat_s=1.0)
"""Of a group that loses nobody because the machine is busy, for what must come out exactly."""


class Actor(SpeakingProcess):
    """One process, by its name: the name of its trace, and its instance id if it is static."""

    def __init__(self, name: str, task: dict[str, Any]) -> None:
        self.name = name
        super().__init__(Path(__file__).with_name("actor_process.py"), task)

    def wait_for(self, kind: str, **facts: Any) -> dict[str, Any]:
        """The first line of that kind with these facts."""
        return self._await(lambda: self._find(kind, facts), f"{self.name} says {kind} {facts}")

    def _find(self, kind: str, facts: dict[str, Any]) -> dict[str, Any] | None:
        lines = (line for line in tuple(self.said) if line["kind"] == kind)
        return next((line for line in lines if facts.items() <= line.items()), None)

    def wait_back(self, count: int) -> None:
        """Until it lost all, and after that is stable with so many partitions."""
        self.wait_for("lost")
        self.wait_owner(count, after="lost")

    def wait_owner(self, count: int, *, after: str | None = None) -> list[list[Any]]:
        """Until it is stable with so many partitions, and said so after its last line of that kind."""

        def owns() -> list[list[Any]] | None:
            said = tuple(self.said)
            start = max((at for at, line in enumerate(said) if line["kind"] == after), default=0)
            states = [line for line in said[start:] if line["kind"] == "state"]
            settled = bool(states) and states[-1]["state"] == "STABLE" and len(states[-1]["owned"]) == count
            return list(states[-1]["owned"]) if settled else None

        return self._await(owns, f"{self.name} owns {count}")

    def close(self, reason: str) -> None:
        self.tell(f"close {reason}")
        self.wait_for("closed")

    def _await(self, check: Callable[[], T | None], what: str) -> T:
        try:
            found = eventually(check, what)
        except AssertionError as late:
            late.add_note(f"It said {self.said[-6:]}")
            raise
        assert found is not None
        return found

    @property
    def called(self) -> str:
        """What findings call it: it has no client id of its own."""
        return f"{socket.gethostname()}:{self.pid}"

    @property
    def member_id(self) -> str:
        """The last by which the coordinator knew it; a classic member that is out has none any more."""
        states = [line for line in tuple(self.said) if line["kind"] == "state"]
        inside = [line for line in states if line["state"] in {"RECONCILING", "ACK", "STABLE"}]
        return str((inside or states)[-1]["member"])


class Stage:
    """A group with a topic of its own, on one broker or behind whatever stands before it."""

    def __init__(
        self,
        bootstrap_servers: str,
        traces: Path,
        protocol: Mapping[str, Any],
        pace: Pace = HASTY,
    ) -> None:
        self.name = f"incident-{uuid.uuid4().hex[:8]}"
        self.bootstrap_servers = bootstrap_servers
        self.admin = ClusterAdmin(bootstrap_servers)
        self._traces = traces
        self.protocol = {**protocol, **_classic_pace(pace)} if protocol == CLASSIC else protocol
        self._actors: list[Actor] = []
        self._skew_s = SKEW_S
        session_ms, beat_ms = int(pace.session_s * 1000), int(pace.beat_s * 1000)
        settings = {"consumer_heartbeat_interval_ms": beat_ms, "consumer_assignment_interval_ms": 0}
        self.admin.set_group_config(self.name, **settings, consumer_session_timeout_ms=session_ms)
        self.admin.create_topic(self.name, 4)

    def enter(
        self,
        name: str,
        *,
        static: bool = True,
        incarnation: str = "",
        config: Mapping[str, Any] | None = None,
        **misbehaviour: Any,
    ) -> Actor:
        """An actor on the way into the group; `misbehaviour` is what actor_process.py takes."""
        task = {**_WELL_BEHAVED, **misbehaviour, "topic": self.name}
        self._skew_s = max(self._skew_s, task["clock_s"] + SKEW_S)
        own: dict[str, Any] = {"group.instance.id": name} if static else {}
        actor = Actor(name, {**task, "config": {**self.config_of(f"{name}{incarnation}"), **own, **(config or {})}})
        self._actors.append(actor)
        return actor

    def config_of(self, trace: str) -> dict[str, Any]:
        """Of any member with a trace of that name."""
        base = {"bootstrap.servers": self.bootstrap_servers, "group.id": self.name, **self.protocol}
        return {**base, "trace.file": str(self._traces / f"{trace}.jsonl")}

    def trace_of(self, name: str) -> str:
        """What that actor has written so far."""
        return (self._traces / f"{name}.jsonl").read_text()

    def end(self) -> None:
        for actor in self._actors:
            actor.stop()

    def findings(self, broker_logs: Sequence[Path] = ()) -> list[Finding]:
        """What the traces alone tell, after everybody has left the stage; or the traces and the brokers. All of it is true."""
        self.end()
        self._actors.clear()
        sections = [section for path in sorted(self._traces.iterdir()) for section in read_trace(path)]
        found = diagnose(sections, removal_lines=read_broker_logs(broker_logs))
        assert complaints(truth_of(sections, self._skew_s), found) == []
        return found

    def faults(self, broker_logs: Sequence[Path] = ()) -> list[Finding]:
        """Causes: without those that only inform, the kills that ended the play, and partitions that had two owners for it."""
        return [f for f in self.findings(broker_logs) if f.kind not in {Kind.REBALANCE, Kind.KILLED, Kind.TWO_OWNERS}]


_WELL_BEHAVED: dict[str, Any] = {
    "consumes": False,
    "slow": {},
    "fails": [],
    "fails_from": 0,
    "work_s": 0.0,
    "poison_s": 0.0,
    "close_s": 30.0,
    "clock_s": 0.0,
    "host": "",
}


CLASSIC: dict[str, Any] = {"group.protocol": "classic", "partition.assignment.strategy": "cooperative-sticky"}


def _classic_pace(pace: Pace) -> dict[str, Any]:
    """There the members say it, and not the group."""
    return {"session.timeout.ms": int(pace.session_s * 1000), "heartbeat.interval.ms": int(pace.beat_s * 1000)}


@pytest.fixture(params=["consumer", "classic"])
def protocol(request: pytest.FixtureRequest) -> dict[str, Any]:
    """What a member is told so that it speaks it."""
    return CLASSIC if request.param == "classic" else {"group.protocol": "consumer"}


@pytest.fixture
def new_stage(tmp_path: Path, protocol: dict[str, Any]) -> Iterator[Callable[..., Stage]]:
    """On any broker; the actors end with the test."""
    made: list[Stage] = []

    def make(bootstrap_servers: str, pace: Pace = HASTY) -> Stage:
        traces = tmp_path / "traces"
        traces.mkdir(exist_ok=True)
        made.append(Stage(bootstrap_servers, traces, protocol, pace))
        return made[-1]

    yield make
    for stage in made:
        stage.end()


@pytest.fixture
def stage(kafka: KafkaCluster, new_stage: Callable[..., Stage]) -> Stage:
    return new_stage(kafka.bootstrap_servers)


@pytest.fixture
def patient_stage(kafka: KafkaCluster, new_stage: Callable[..., Stage]) -> Stage:
    return new_stage(kafka.bootstrap_servers, PATIENT)


@pytest.fixture
def guarded_kafka() -> Iterator[KafkaCluster]:
    """A broker that goes by ACLs."""
    with KafkaCluster(settings=AUTHORIZER) as cluster:
        yield cluster
