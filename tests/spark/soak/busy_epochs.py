"""The program of a driver that reads a topic into Parquet beside a busy thread: the members of `epochs` live in the driver."""

from __future__ import annotations

from pathlib import Path

from tests.soak.busy import OFTEN_S, keep_busy
from tests.spark.pipeline.standing_driver import main

PROGRAM = Path(__file__)

if __name__ == "__main__":
    keep_busy(OFTEN_S)
    main()
