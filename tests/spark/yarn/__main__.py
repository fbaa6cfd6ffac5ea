"""`python -m tests.spark.yarn`: a slot job on YARN, whose containers, NodeManager and application master are lost.

After each loss all slots are back, no record is lost, and the group's epoch tells how many rebalances there were.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

from membership_client.testing import KafkaCluster
from membership_client_spark.demo.processes import SystemProcess, look
from tests.integration.members import eventually
from tests.needs import need
from tests.spark.clusters.processes import send
from tests.spark.conftest import PATIENT_LIMITS
from tests.spark.consume.fleet import Fleet
from tests.spark.versions.other_pyspark import say
from tests.spark.yarn.mini_yarn import MiniYarn

_MASTER = "org.apache.spark.deploy.yarn.ExecutorLauncher"


def main() -> int:
    """Raises what went wrong."""
    for thing in ("kafka", "yarn", "spark"):
        need(thing)
    home = Path(tempfile.mkdtemp(prefix="yarn-"))
    with KafkaCluster(settings=PATIENT_LIMITS) as kafka, MiniYarn(home / "yarn") as yarn:
        os.environ["YARN_CONF_DIR"] = str(yarn.configuration)
        (home / "fleet").mkdir()
        with Fleet(kafka, home / "fleet", yarn.session(), patience_s=240) as fleet:
            play(fleet, "a container is killed", lambda: kill_container(fleet))
            play(fleet, "a NodeManager is lost", lambda: yarn.stop_node(yarn.node_of(executor_of(fleet))))
            play(fleet, "the application master is killed", kill_master)
    return 0


def play(fleet: Fleet, name: str, lose: Callable[[], None]) -> None:
    """Says which slots were lost, how long until all were back, and how many rebalances there were."""
    before, epoch = fleet.running(), fleet.epoch()
    began_at = time.monotonic()
    lose()

    def lost() -> list[int]:
        now = fleet.progress()
        return [slot for slot in before if now[slot]["incarnation"] != before[slot]["incarnation"]]

    eventually(lost, "a slot that was started again", 240)
    fleet.wait_steady()
    took_s = time.monotonic() - began_at
    fleet.assert_nothing_lost()
    say(f"{name}: slots {lost()} are back after {took_s:.1f} s, {fleet.epoch() - epoch} rebalances, no record lost")


def executor_of(fleet: Fleet) -> int:
    """The executor's JVM of slot 0: the parent of the daemon that is the parent of its worker."""
    return _parent(_parent(int(fleet.progress()[0]["pid"])))


def kill_container(fleet: Fleet) -> None:
    """SIGKILL to an executor's JVM."""
    send(executor_of(fleet), signal.SIGKILL)


def kill_master() -> None:
    """SIGKILL to the application master, which in client mode only asks for containers."""
    found = [process for process in _descendants(os.getpid()) if _MASTER in process.arguments]
    assert found, "YARN runs no application master"
    for process in found:
        send(process.pid, signal.SIGKILL)


def _descendants(first: int) -> Iterator[SystemProcess]:
    """Containers have sessions of their own, so they are found by their parents."""
    numbers = [int(directory.name) for directory in Path("/proc").glob("[0-9]*")]
    everyone = [process for number in numbers if (process := look(number)) is not None]
    children = defaultdict(list)
    for process in everyone:
        children[process.parent].append(process)
    waiting = [*children[first]]
    while waiting:
        process = waiting.pop()
        yield process
        waiting += children[process.pid]


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


if __name__ == "__main__":
    sys.exit(main())
