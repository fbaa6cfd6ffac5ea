"""Every parameter of Spark's entry points is fed every bad value: ConfigError, on the driver, before anything starts."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from membership_client import ConfigError
from membership_client_spark import ParquetSink, audit, consume, epochs, slot_instance_id
from tests.arguments.bad_values import BAD

_NAMES = frozenset({"word", "digits"})
_COUNTS = frozenset({"1"})
_SECONDS = frozenset({"0", "1", "2**31", "0.0", "1.5"})
_BOUNDS = frozenset({"None", "1", "2**31"})
_FUNCTIONS = frozenset({"function", "class"})
_PATHS = frozenset({"word", "digits", "many digits", "newline", "long"})
_SESSION = SimpleNamespace(conf=SimpleNamespace(get={"spark.master": "local[4]"}.get))
_CONFIG = {"bootstrap.servers": "127.0.0.1:1", "group.id": "g"}


def _handle(_batch: object, _slot: object, _ranges: object = None) -> None:
    """Nothing."""


GOOD: dict[str, tuple[Any, frozenset[str]]] = {
    "spark": (_SESSION, frozenset()),
    "slots": (2, _COUNTS),
    "name": ("till", _NAMES),
    "config": (_CONFIG, frozenset()),
    "topics": (["orders"], frozenset()),
    "handle": (_handle, _FUNCTIONS),
    "foreach_epoch": (_handle, _FUNCTIONS),
    "records": ("arrow", frozenset()),
    "max_records": (5, _BOUNDS),
    "max_bytes": (5, _BOUNDS),
    "max_seconds": (5, _BOUNDS | {"1.5"}),
    "grace_s": (5.0, _SECONDS),
    "every_s": (5.0, _SECONDS),
    "skew_s": (5.0, _SECONDS),
    "available_now": (False, frozenset({"True", "False"})),
    "path": ("shop", _PATHS),
    "paths": ("shop", _PATHS | {"list", "tuple", "set"}),
    "transform": (None, _FUNCTIONS | {"None"}),
    "partition_by": ((), frozenset({"list", "tuple", "set"})),
    "slot": (1, frozenset({"0", "1", "2**31", "2**63"})),
}
"""A good value of each parameter, and the bad ones that are good, too: these would start something, and are left out."""

CALLS: tuple[Callable[..., Any], ...] = (consume, epochs, audit, ParquetSink, slot_instance_id)


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__name__)
def test_bad_values(call: Callable[..., Any]) -> None:
    """partition_by='day' used to become d, a and y; every_s=nan and max_seconds=inf to fail later, in a thread.

    epochs(max_records=1.5) was taken, and was one record per epoch.
    """
    wrong = []
    names = list(inspect.signature(call).parameters)
    for name in names:
        for value_name, value in BAD.items():
            if value_name in GOOD[name][1]:
                continue
            try:
                call(**{other: value if other == name else GOOD[other][0] for other in names})
            except ConfigError:
                continue
            except Exception as error:  # noqa: BLE001 - it is looked at
                wrong.append(f"{name}=<{value_name}>: raw {error!r}"[:150])
            else:
                wrong.append(f"{name}=<{value_name}>: silence")
    assert not wrong, "\n".join(wrong)
