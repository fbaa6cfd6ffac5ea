"""The driver's side of a DriverProcess: how its program gets the session and its task, and how it says things."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

SPEECH_FD = 3


def say(kind: str, **facts: Any) -> None:
    """One line, in one write, so that threads do not mix theirs."""
    os.write(SPEECH_FD, (json.dumps({"kind": kind, **facts}) + "\n").encode())


def task() -> dict[str, Any]:
    """What the test gave to the DriverProcess."""
    given: dict[str, Any] = json.loads(sys.argv[1])["task"]
    return given


@contextlib.contextmanager
def session() -> Iterator[SparkSession]:
    """The session the test asked for; says "session", with the application's id, once it is ready."""
    from pyspark.sql import SparkSession

    settings = json.loads(sys.argv[1])["settings"]
    if settings["master"].startswith("sc://"):
        spark = SparkSession.builder.remote(settings["master"]).create()
    else:
        spark = SparkSession.builder.master(settings["master"]).config(map=settings["properties"]).getOrCreate()
    say("session", app_id=spark.conf.get("spark.app.id"))
    yield spark
    spark.stop()
