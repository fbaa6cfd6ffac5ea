"""The program that drivers are forked from, when all modules are loaded: a new one takes no second to start.

A line of its input is the task of a driver. What drivers say has the number of their life.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from membership_client_spark import epochs
from tests.spark.clusters import driving
from tests.spark.kills.points import StopAt
from tests.spark.kills.sinks import SINKS

if TYPE_CHECKING:
    from collections.abc import Iterator


def main() -> None:
    for module in ("pandas", "pyarrow"):
        importlib.import_module(module)  # pyspark would do it in every driver.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    driving.say("ready")
    for task in tasks():
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            live(task)
            os._exit(0)


def tasks() -> Iterator[dict[str, Any]]:
    for line in sys.stdin:
        yield json.loads(line)


def live(task: dict[str, Any]) -> None:
    def say(kind: str, **facts: Any) -> None:
        driving.say(kind, life=task["life"], **facts)

    say("born", pid=os.getpid())
    try:
        {"create": create, "read": read, "judge": judge}[task["do"]](attached(task), task, say)
    except BaseException as error:  # noqa: BLE001 - the campaign knows which are to be expected
        say("failed", error=type(error).__name__, text=str(error)[:2000])
    else:
        say("done")


def attached(task: dict[str, Any]) -> SparkSession:
    """The session in the JVM of the task."""
    os.environ |= {"PYSPARK_GATEWAY_PORT": str(task["port"]), "PYSPARK_GATEWAY_SECRET": task["secret"]}
    gateway: Any = launch_gateway()  # type: ignore[no-untyped-call]
    jvm = gateway.jvm
    java = jvm.org.apache.spark.api.java.JavaSparkContext(jvm.org.apache.spark.SparkContext.getOrCreate())
    context = SparkContext(gateway=gateway, jsc=java, conf=SparkConf(_jvm=jvm, _jconf=java.getConf()))
    return SparkSession(context)


def read(spark: SparkSession, task: dict[str, Any], say: Any) -> None:
    """Runs a pipeline, until it is killed or has read all that is there."""
    stop = StopAt(task["point"], task["times"], say)
    foreach_epoch = stop.watch(SINKS[task["sink"]].make(task["place"]))
    with epochs(
        spark,
        foreach_epoch,
        config=task["config"],
        topics=[task["topic"]],
        name=task["topic"],
        slots=2,
        available_now=task["all"],
    ) as pipeline:
        say("started")
        pipeline.wait()


def create(spark: SparkSession, task: dict[str, Any], say: Any) -> None:
    """The table, for what needs one."""
    SINKS[task["sink"]].create(spark, task["place"])


def judge(spark: SparkSession, task: dict[str, Any], say: Any) -> None:
    """What is in the table, as any reader sees it."""
    rows = SINKS[task["sink"]].rows(spark, task["place"])
    (found,) = rows.selectExpr(
        "count(*) AS rows", "count(DISTINCT n) AS numbers", "min(n) AS low", "max(n) AS high"
    ).collect()
    say("found", **found.asDict())


if __name__ == "__main__":
    main()
