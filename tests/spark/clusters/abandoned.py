"""A program that starts a cluster and a driver, pauses an executor, says which processes there are, and waits to be killed."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from tests.spark.clusters import roll_call, sessions
from tests.spark.clusters.driver_process import DriverProcess
from tests.spark.clusters.notes import Notes
from tests.spark.clusters.processes import family
from tests.spark.clusters.standalone import StandaloneCluster


def main() -> None:
    directory = Path(json.loads(sys.argv[1])["directory"])
    cluster = StandaloneCluster(directory / "cluster", workers=1)
    cluster.start()
    notes = Notes(directory / "notes")
    settings = sessions.standalone(cluster)
    driver = DriverProcess(Path(roll_call.__file__), settings, directory / "driver", notes.task(slots=1))
    notes.wait_for(slot=0)
    cluster.executors()[0].pause()
    pids = [*cluster.pids(), *(process.pid for process in family(driver.pid))]
    os.write(1, (json.dumps({"pids": pids}) + "\n").encode())
    signal.pause()


if __name__ == "__main__":
    main()
