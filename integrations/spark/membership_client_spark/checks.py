"""Checks of Spark's settings for slots, before anything is started."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from membership_client_spark.errors import SparkSettingsError

Get = Callable[[str], str | None]
"""Returns one Spark setting by its name; None if it is not set."""

_LOCAL = re.compile(r"local(?:\[(\d+)(?:,\d+)?\])?")
_LOCAL_CLUSTER = re.compile(r"local-cluster\[\s*(\d+)\s*,\s*(\d+)\s*,\s*\d+\s*\]")


def check_settings(get: Get, slots: int) -> None:
    """SparkSettingsError for settings under which a slot would run twice, or some slots would never start."""
    if (get("spark.speculation") or "false").lower() == "true":
        raise SparkSettingsError(
            "spark.speculation is on: Spark would start a second copy of a slot that looks slow, and both would have the "
            "same group.instance.id. Set spark.speculation=false for this application."
        )
    for what, room in _room(get):
        if room < slots:
            raise SparkSettingsError(
                f"{slots} slots need {slots} tasks at once, and {what} leaves room for {room}: the other slots would never "
                "start. Raise it, or use fewer slots."
            )


def notes(get: Get) -> Iterator[str]:
    """Settings that are allowed but have a disadvantage, for the log."""
    failures = get("spark.task.maxFailures")
    if failures == "1":
        yield "spark.task.maxFailures=1: a lost slot is submitted as a new job, which takes a little longer than a retry"
    if _cores(get) is None and not _is_local(get):
        yield "spark.executor.cores is not set: several slots may share an executor and are lost together"


def cpus_per_slot(get: Get) -> int | None:
    """How many CPUs a slot must ask for to have an executor for itself; None where it cannot or need not ask."""
    cores = _cores(get)
    return cores if cores is not None and cores > _task_cpus(get) and not _is_local(get) else None


def _room(get: Get) -> Iterator[tuple[str, int]]:
    """Each setting that limits the number of slots, and how many it leaves room for."""
    cores, master = _cores(get), get("spark.master") or ""
    if local := _LOCAL.fullmatch(master):
        yield f"spark.master={master}", int(local[1] or 1) // _task_cpus(get)
    if cluster := _LOCAL_CLUSTER.fullmatch(master):
        yield f"spark.master={master}", int(cluster[1]) * _slots_on(int(cluster[2]), get)
    if total := get("spark.cores.max"):
        yield f"spark.cores.max={total}", _slots_on(int(total), get)
    if (instances := get("spark.executor.instances")) and not _is_dynamic(get) and cores is not None:
        yield f"spark.executor.instances={instances}", int(instances) * _slots_on(cores, get)
    if (most := get("spark.dynamicAllocation.maxExecutors")) and _is_dynamic(get) and cores is not None:
        yield f"spark.dynamicAllocation.maxExecutors={most}", int(most) * _slots_on(cores, get)


def _slots_on(cores: int, get: Get) -> int:
    """How many slots fit on these cores, in executors of `spark.executor.cores` if that is set."""
    per_executor = _cores(get) or max(1, cores)
    return cores // per_executor * (per_executor // (cpus_per_slot(get) or _task_cpus(get)))


def _is_local(get: Get) -> bool:
    return (get("spark.master") or "").startswith("local") and not (get("spark.master") or "").startswith(
        "local-cluster"
    )


def _is_dynamic(get: Get) -> bool:
    return (get("spark.dynamicAllocation.enabled") or "false").lower() == "true"


def _cores(get: Get) -> int | None:
    value = get("spark.executor.cores")
    return int(value) if value else None


def _task_cpus(get: Get) -> int:
    return int(get("spark.task.cpus") or 1)
