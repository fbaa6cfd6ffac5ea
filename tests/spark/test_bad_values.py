"""Every public parameter of Spark's package is fed every bad value: ConfigError, on the driver, before anything starts.

Methods of jobs that run are fed in test_running_jobs.py.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import membership_client_spark
from membership_client import ConfigError
from membership_client_spark import Audit, slot_instance_id
from membership_client_spark.arguments import (
    checked_names,
    checked_path,
    checked_topics,
    checked_topics_or_patterns,
)
from tests.arguments.bad_values import CALLABLE, EMPTY, TEXTS, Word
from tests.arguments.kinds import Kind
from tests.arguments.surface import Place, places
from tests.arguments.tables import ALL

_NAMES = frozenset({"word", "digits"})
_SECONDS = frozenset({"0", "1", "2**31", "0.0", "1.5"})
_BOUND = Kind(5, frozenset({"None", "1", "2**31"}))
_PATH = Kind("shop", TEXTS | {"long", "path"})
_SEQUENCES = EMPTY - {"dict"}
_SESSION = SimpleNamespace(conf=SimpleNamespace(get={"spark.master": "local[4]"}.get))
_CONFIG = {"bootstrap.servers": "127.0.0.1:1", "group.id": "g"}
_NOT_FOR_C = frozenset({"nul", "surrogate", "10**5000", "nameless"})


def _handle(_batch: object, _slot: object, _ranges: object = None) -> None:
    """Nothing."""


KINDS: dict[str, Kind] = {
    "spark": Kind(_SESSION),
    "slots": Kind(2, frozenset({"1"})),
    "name": Kind("till", _NAMES),
    "config": Kind(
        _CONFIG,
        inside={
            "group": (lambda value: {**_CONFIG, "group.id": value}, TEXTS),
            "key": (lambda value: {**_CONFIG, value: "x"}, frozenset()),
            "reset": (lambda value: {**_CONFIG, "auto.offset.reset": value}, frozenset()),
            "flag": (lambda value: {**_CONFIG, "enable.auto.commit": value}, frozenset({"True", "False", "0", "1"})),
            "text": (lambda value: {**_CONFIG, "client.software.name": value}, ALL - _NOT_FOR_C),
            "function": (lambda value: {**_CONFIG, "error_cb": value}, CALLABLE),
            "session": (lambda value: {**_CONFIG, "session.timeout.ms": value}, frozenset({"1", "1.5", "digits"})),
        },
        also={"both spellings": {**_CONFIG, "group_id": "g"}},
    ),
    "topics": Kind(["orders"], inside={"[]": (lambda value: [value], _NAMES)}),
    "handle": Kind(_handle, CALLABLE),
    "foreach_epoch": Kind(_handle, CALLABLE),
    "records": Kind("arrow"),
    "max_records": _BOUND,
    "max_bytes": _BOUND,
    "max_seconds": Kind(5, _BOUND.takes | {"1.5"}),
    "grace_s": Kind(5.0, _SECONDS),
    "every_s": Kind(5.0, _SECONDS),
    "skew_s": Kind(5.0, _SECONDS),
    "available_now": Kind(False, frozenset({"True", "False"})),
    "path": _PATH,
    "table": _PATH,
    "url": Kind("jdbc:postgresql://127.0.0.1/shop"),
    "properties": Kind(
        None,
        frozenset({"None", "dict"}),
        inside={
            "name": (lambda value: {value: "x"}, TEXTS | {"long"}),
            "value": (lambda value: {"user": value}, TEXTS | {"long"}),
        },
    ),
    "merge": Kind(None, frozenset({"None"})),
    "paths": Kind("shop", _PATH.takes | _SEQUENCES, inside={"[]": (lambda value: [value], _PATH.takes)}),
    "transform": Kind(None, CALLABLE | {"None"}),
    "reader": Kind("python"),
    "columns": Kind(("value",)),
    "listener": Kind(None, frozenset({"None"})),
    "read_tasks": Kind(None, frozenset({"None", "1"})),
    "partition_by": Kind((), _SEQUENCES, inside={"[]": (lambda value: [value], TEXTS)}),
    "slot": Kind(1, frozenset({"0", "1", "2**31", "2**63"})),
}
"""A good value of each parameter, and the bad ones that are good, too: these would start something, and are left out."""

RUNNING = ("membership_client_spark.SlotJob.", "membership_client_spark.Epochs.")
OURS = {
    "membership_client_spark.SlotJob",
    "membership_client_spark.Epochs",
    "membership_client_spark.DeltaSink.resume",
    "membership_client_spark.EpochsListener",
    "membership_client_spark.EpochsListener.on_ended",
    "membership_client_spark.EpochsListener.on_epoch",
    "membership_client_spark.EpochsListener.on_started",
    "membership_client_spark.IcebergSink.resume",
    "membership_client_spark.ParquetSink.resume",
    "membership_client_spark.PostgresSink.resume",
    "membership_client_spark.Resumable",
    "membership_client_spark.Resumable.resume",
}
"""Made, or called, by us alone."""

BY_SPARK = "membership_client_spark.KafkaGroupSource"
"""Made, and called, by Spark alone, with texts: options are fed in stream/test_stream_options.py."""

PLACES = [
    place
    for place in places(membership_client_spark)
    if place.path not in OURS and not place.path.startswith((*RUNNING, BY_SPARK))
]


def _callable(place: Place) -> Callable[..., Any]:
    if place.owner == "Audit":
        return Audit(_SESSION, (), None, 1.0).write  # type: ignore[arg-type]  # refused before it looks at any table
    return place.found


def test_every_entry_point_is_found() -> None:
    """They are looked for in the package's own list of names."""
    names = {place.path.removeprefix("membership_client_spark.") for place in PLACES}
    assert names == {
        "Audit.write",
        "DeltaSink",
        "IcebergSink",
        "ParquetSink",
        "PostgresSink",
        "audit",
        "consume",
        "epochs",
        "slot_instance_id",
    }


def test_names_of_enum_members_are_plain() -> None:
    """A ParquetSink wrote to a directory "Place.ORDERS", and slots were members "Place.TILL-0"."""
    given: Any = Word.X
    assert str(slot_instance_id(given, 0)) == "x-0"
    assert [str(checked_path("path", given)), *map(str, checked_topics([given]))] == ["x", "x"]
    assert [*map(str, checked_topics_or_patterns([given])), *map(str, checked_names("columns", [given]))] == ["x", "x"]


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_bad_values(place: Place) -> None:
    """partition_by='day' used to become d, a and y; every_s=nan and max_seconds=inf to fail later, in a thread.

    epochs(max_records=1.5) was taken, and was one record per epoch; Audit.write(5) was a TypeError.
    """
    wrong = []
    call, names = _callable(place), [parameter.name for parameter in place.parameters]
    for name in names:
        for value_name, value, may_be_taken in KINDS[name].values():
            if may_be_taken:
                continue
            try:
                call(**{other: value if other == name else KINDS[other].good for other in names})
            except ConfigError:
                continue
            except Exception as error:  # noqa: BLE001 - it is looked at
                wrong.append(f"{name}=<{value_name}>: raw {error!r}"[:150])
            else:
                wrong.append(f"{name}=<{value_name}>: silence")
    assert not wrong, "\n".join(wrong)
