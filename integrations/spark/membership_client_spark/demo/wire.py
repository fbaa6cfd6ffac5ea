"""The task of the driver's process, and its reports: JSON, one line each."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from membership_client_spark.demo.happenings import (
    AllRead,
    Counted,
    DriverReport,
    EpochBegan,
    EpochCommitted,
    SessionReady,
    SlotShare,
)

_KINDS = {kind.__name__: kind for kind in (SessionReady, EpochBegan, EpochCommitted, AllRead, Counted)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What the driver reads, and where it writes."""

    bootstrap_servers: str
    directory: str
    python_path: str
    records: int
    max_records: int


def encode_task(task: Task) -> str:
    return json.dumps(asdict(task))


def decode_task(text: str) -> Task:
    return Task(**json.loads(text))


def encode_report(said: DriverReport) -> str:
    return json.dumps({"kind": type(said).__name__, **asdict(said)})


def decode_report(line: str) -> DriverReport:
    fields: dict[str, Any] = json.loads(line)
    kind = _KINDS[fields.pop("kind")]
    if "slots" in fields:
        fields["slots"] = tuple(SlotShare(one["instance_id"], tuple(one["partitions"])) for one in fields["slots"])
    return kind(**fields)
