"""What importing costs a program: CPU of a process that imports one class and ends, without what an empty one takes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.benchmarks.figures import Figure, Limit
from tests.benchmarks.stage import Sizes, Stage
from tests.peers.peer import PeerKind

_ROOT = Path(__file__).parents[2]
_NOTHING = "pass"
_OURS = "from membership_client import Consumer"
_CONFLUENT = "from confluent_kafka import Consumer"
_MEMBER = "from membership_client import GroupMember"


def measure(stage: Stage, sizes: Sizes) -> list[Figure]:
    stage.say("a consumer and a member are imported")
    cost_ms = _least_ms(sizes.rounds)
    how = f"CPU of a process, least of {sizes.rounds}, without an empty one's"
    consumers: Mapping[PeerKind, float] = {"ours": cost_ms[_OURS], "confluent": cost_ms[_CONFLUENT]}
    return [
        Figure(name="importing Consumer", unit="ms", values=consumers, how=how, limit=Limit(2, of_confluent=True)),
        Figure(name="importing GroupMember", unit="ms", values={"ours": cost_ms[_MEMBER]}, how=how),
    ]


def _least_ms(rounds: int) -> Mapping[str, float]:
    """In turn, so that all meet the same machine. The first round compiles, and does not count."""
    programs = (_NOTHING, _OURS, _CONFLUENT, _MEMBER)
    turns = [{program: _cpu_s(program) for program in programs} for _ in range(rounds + 1)][1:]
    least_s = {program: min(turn[program] for turn in turns) for program in programs}
    return {program: 1000 * (least_s[program] - least_s[_NOTHING]) for program in programs}


def _cpu_s(program: str) -> float:
    # Users have compiled files; whoever told Python not to write any would measure the compiler.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen([sys.executable, "-c", program], cwd=_ROOT, env=environment)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, program
    return used.ru_utime + used.ru_stime
