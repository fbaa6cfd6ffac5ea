"""The configuration that each slot's member gets out of the one for all."""

from __future__ import annotations

import pytest

from membership_client import ConfigError
from membership_client_spark.incarnation import Incarnation
from membership_client_spark.pipeline.settings import settings_of
from membership_client_spark.slot_member import checked_config, slot_config

CONFIG = {"bootstrap.servers": "127.0.0.1:9092", "group.id": "shop"}


@pytest.mark.parametrize("key", ["group.instance.id", "group.instance.id.conflict", "client.id"])
def test_what_slots_decide_themselves_is_refused(key: str) -> None:
    """A user who sets it expects something that would not happen."""
    with pytest.raises(ConfigError, match=key):
        checked_config({**CONFIG, key: "mine"})


@pytest.mark.parametrize("key", ["bootstrap.servers", "group.id"])
def test_what_is_missing_is_named_on_the_driver(key: str) -> None:
    """And not by every executor, one by one."""
    with pytest.raises(ConfigError, match=f"{key} is missing"):
        checked_config({**CONFIG, key: ""})


UNDERSCORES = {
    "bootstrap_servers": "127.0.0.1:1",
    "group_id": "shop",
    "auto_offset_reset": "earliest",
    "sasl_mechanism": "PLAIN",
}


def test_keys_with_underscores_are_taken_as_consumer_takes_them() -> None:
    """They were refused: bootstrap.servers is missing."""
    dotted = {key.replace("_", "."): value for key, value in UNDERSCORES.items()}
    assert checked_config(UNDERSCORES) == checked_config(dotted) == dotted


def test_epochs_act_on_keys_with_underscores() -> None:
    """One that was only passed on would have been ignored: the group would start at the latest offsets."""
    given = {key: UNDERSCORES[key] for key in ("bootstrap_servers", "group_id", "auto_offset_reset")}
    settings = settings_of(given)
    assert settings.reset == "earliest"
    assert settings.members == CONFIG | {"bootstrap.servers": "127.0.0.1:1"}
    assert settings.clients == {"bootstrap.servers": "127.0.0.1:1"}
    with pytest.raises(ConfigError, match=r"leave enable\.auto\.commit"):
        settings_of({**given, "enable_auto_commit": True})


@pytest.mark.parametrize("key", ["group_instance_id", "client_id"])
def test_underscores_hide_nothing_that_slots_decide(key: str) -> None:
    """And a key in both spellings is refused."""
    with pytest.raises(ConfigError, match="cannot be set for slots"):
        checked_config({**CONFIG, key: "mine"})
    with pytest.raises(ConfigError, match=r"group\.id is given twice"):
        checked_config({**CONFIG, "group_id": "shop"})


def test_every_slot_has_an_id_a_client_id_and_a_trace_of_its_own() -> None:
    """Two slots on one host must not write one file."""
    config = slot_config({**CONFIG, "trace.file": "traces/shop.jsonl"}, "orders", 2, Incarnation(7, 1))
    assert config["group.instance.id"] == "orders-2"
    assert config["client.id"] == "orders-2@7.1"
    assert config["trace.file"] == "traces/shop-2.jsonl"
    assert config["group.id"] == "shop"
    assert "trace.file" not in slot_config(CONFIG, "orders", 2, Incarnation(7, 1))
