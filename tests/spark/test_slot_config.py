"""The configuration that each slot's member gets out of the one for all."""

from __future__ import annotations

import pytest

from membership_client import ConfigError
from membership_client_spark.incarnation import Incarnation
from membership_client_spark.slot_config import check_config, slot_config

CONFIG = {"bootstrap.servers": "127.0.0.1:9092", "group.id": "shop"}


@pytest.mark.parametrize("key", ["group.instance.id", "group.instance.id.conflict", "client.id"])
def test_what_slots_decide_themselves_is_refused(key: str) -> None:
    """A user who sets it expects something that would not happen."""
    with pytest.raises(ConfigError, match=key):
        check_config({**CONFIG, key: "mine"})


@pytest.mark.parametrize("key", ["bootstrap.servers", "group.id"])
def test_what_is_missing_is_named_on_the_driver(key: str) -> None:
    """And not by every executor, one by one."""
    with pytest.raises(ConfigError, match=f"{key} is missing"):
        check_config({**CONFIG, key: ""})


def test_every_slot_has_an_id_a_client_id_and_a_trace_of_its_own() -> None:
    """Two slots on one host must not write one file."""
    config = slot_config({**CONFIG, "trace.file": "traces/shop.jsonl"}, "orders", 2, Incarnation(7, 1))
    assert config["group.instance.id"] == "orders-2"
    assert config["client.id"] == "orders-2@7.1"
    assert config["trace.file"] == "traces/shop-2.jsonl"
    assert config["group.id"] == "shop"
    assert "trace.file" not in slot_config(CONFIG, "orders", 2, Incarnation(7, 1))
