"""Traces of a fleet of any size: one group is simulated and recorded for real, and then multiplied.

The simulation plays a group's day step by step; each other group is the same day under other names, on other hosts, and
a little later. `python -m tests.spark.audit.fleet FOLDER --members 1000 --hours 24` writes one.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from membership_client.trace import Section
from tests.diagnose.traces import plan, script, sections_of
from tests.simulation.script import Action, Crash, Mood, Script, Shut, Stall, Start

GROUP_SIZE = 10
_LATER_S = 37.0
"""By how much each group's day begins after that of the one before."""


def day(duration_s: float) -> Script:
    """Static members that are restarted one after the other, one that crashes, one that is stopped, one that is slow."""
    names = [f"w{number}" for number in range(GROUP_SIZE - 1)]
    plans = [plan(name, instance_id=f"slot-{name}", poll_interval_s=60.0) for name in names]
    step_s = duration_s / (len(names) + 3)
    actions: list[Action] = [Start(float(number), name) for number, name in enumerate(names)]
    for number, name in enumerate(names, 1):
        actions += [Shut(step_s * number, name, reason="deployed"), Start(step_s * number + 5.0, name)]
    actions += [Start(0.3 * duration_s, "guest"), Shut(0.6 * duration_s, "guest", reason="scaled down")]
    actions += [Mood(at=0.6 * duration_s, until=0.62 * duration_s, who="w1", slow_s=12.0)]
    actions += [Crash(step_s * 10.2, "w2"), Start(step_s * 10.5, "w2"), Stall(step_s * 11, "w3", step_s * 11 + 60.0)]
    whole = script([*plans, plan("guest")], actions, calm_at=duration_s)
    return replace(whole, topics=(("orders", 40),))


@dataclass(frozen=True, slots=True)
class Run:
    """One run of one member of the group that was simulated."""

    header: dict[str, object]
    lines: bytes

    @classmethod
    def of(cls, section: Section) -> Run:
        return cls(section.header, b"".join(_line(entry) for entry in section.entries))

    def under(self, number: int) -> tuple[str, bytes]:
        """The name of its file, and what is in it, as a member of that group."""
        group, host = f"fleet-{number:03}", f"node-{number % 20:02}.{self.header['host']}"
        wall = float(str(self.header["wall"])) + number * _LATER_S
        pid = int(str(self.header["pid"])) + 100 * number
        header = _line(self.header | {"host": host, "pid": pid, "wall": wall, "spark": f"partition {number}"})
        return f"{group}-{host}.jsonl", (header + self.lines).replace(b'"g"', f'"{group}"'.encode())


def _line(shown: object) -> bytes:
    return json.dumps(shown, separators=(",", ":")).encode() + b"\n"


def write_fleet(folder: Path, members: int, hours: float) -> Iterator[Path]:
    """Files, one for each run, each on a host of its own; the fleet is a whole number of groups."""
    runs = [Run.of(section) for section in sections_of(day(3600 * hours))]
    for number, run in itertools.product(range(-(-members // GROUP_SIZE)), runs):
        name, content = run.under(number)
        path = folder / name
        path.write_bytes(content)
        yield path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--members", type=int, default=20)
    parser.add_argument("--hours", type=float, default=0.25)
    wanted = parser.parse_args()
    sizes = [path.stat().st_size for path in write_fleet(wanted.folder, wanted.members, wanted.hours)]
    print(f"{len(sizes)} files, {sum(sizes) / 1e9:.2f} GB")  # noqa: T201 - that is the answer


if __name__ == "__main__":
    main()
