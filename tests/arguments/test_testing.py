"""Clusters for tests are fed bad values, too: what they are made with, and which broker is meant.

Not fed are the methods of ClusterAdmin: each waits half a minute for a cluster that is not there, as it should.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from membership_client import ConfigError, Consumer, testing
from membership_client.core.error_codes import Code
from membership_client.testing import EmbeddedKafka, Join, KafkaCluster, KafkaGroup, Listener, VirtualGroup
from tests.arguments.bad_values import CALLABLE, EMPTY, TEXTS
from tests.arguments.feeding import Table, feed
from tests.arguments.kinds import Kind
from tests.arguments.surface import Place, places
from tests.arguments.tables import BOOLS, INT64, NAMES, NOBODY, NONE, SECONDS
from tests.testing.kit.programs import careful

JAVA = Path("java")
JARS = [Path("kafka.jar")]
LISTENERS = {"FAR": Listener("PLAINTEXT")}

_LINES = TEXTS - {"newline"}
_PROPERTIES = _LINES | {"empty", "space", "long"}
_PATHS = TEXTS | {"space", "path"}
_LIST = EMPTY - {"dict"}
_FOUND_ELSEWHERE = NONE | EMPTY | {"iterator"}
"""Then Java and the jars are looked for on this machine, which may not have them."""
_WHICH = Kind(1, frozenset({"1"}))
_VERSION = Kind("4.3.1", frozenset({"word", "digits"}), also={"another directory": "../x"})


def _passes(_: object) -> None:
    """A check of anything."""


TABLE = Table(
    by_name={
        "brokers": Kind(1, frozenset({"1"}), also={"thousands": 5000}),
        "broker": _WHICH,
        "bootstrap_servers": Kind(NOBODY, NAMES),
        "listener": Kind("FAR"),
        "version": _VERSION,
        "topics": Kind({"orders": 1}, NONE | {"dict", "{'x': 1}"}),
        "name": Kind("orders", NAMES),
        "topic": Kind("orders", NAMES),
        "partitions": Kind(1, frozenset({"1"})),
        "total": Kind(2, frozenset({"1"})),
        "group": Kind("shop", TEXTS),
        "member": Kind("one", TEXTS),
        "api": Kind("OffsetCommit"),
        "code": Kind(int(Code.NOT_COORDINATOR), frozenset({"1", "-1"})),
        "times": Kind(1, frozenset({"1", "2**31"})),
        "seconds": SECONDS,
        "loading_s": SECONDS,
        "timeout_s": SECONDS,
        "condition": Kind(lambda: True, CALLABLE, raises=frozenset({"function"})),
        "at": SECONDS,
        "for_s": SECONDS,
        "budget_s": SECONDS,
        "output": Kind(len, CALLABLE),
        "program": Kind(careful, raises=CALLABLE),
        "story": Kind([Join("b", at=1.0)], _LIST),
        "seed": Kind(7, INT64),
        "checks": Kind([_passes], _LIST),
        "records": Kind(3, frozenset({"0", "1"}) | _LIST, also={"a number": [5], "no pair": [("key",)]}),
        "group_id": Kind("shop", TEXTS),
        "consumer": Kind(Consumer, raises=CALLABLE),
    },
    by_place={
        **{
            f"membership_client.testing.{place}": {"name": Kind("a", TEXTS)}
            for place in (
                *("Join", "Leave", "Crash", "Fence", "ExpireSession", "Stall", "LoseAnswer"),
                *(f"KafkaGroup.{method}" for method in ("join", "leave", "fence", "expire_session", "member_id")),
                *(f"VirtualGroup.{method}" for method in ("join", "leave", "crash", "fence", "expire_session")),
                *(f"VirtualGroup.{method}" for method in ("stall", "lose_answer")),
            )
        },
        "membership_client.testing.EmbeddedKafka": {
            "settings": Kind({"num.partitions": 1}, NONE | {"dict"}),
            "racks": Kind(["r1"], _LIST, inside={"[]": (lambda value: [value], _LINES)}),
        },
        "membership_client.testing.EmbeddedKafka.create_topic": {"name": Kind("new", NAMES)},
        "membership_client.testing.EmbeddedKafka.fence": {"group": Kind(None, TEXTS | NONE)},
        "membership_client.testing.EmbeddedKafka.expire_session": {"group": Kind(None, TEXTS | NONE)},
        "membership_client.testing.KafkaCluster": {
            "settings": Kind(
                {"x": 1},
                NONE | {"dict", "{'x': 1}"},
                inside={
                    "name": (lambda value: {value: 1}, _PROPERTIES),
                    "value": (lambda value: {"x": value}, _PROPERTIES | BOOLS | INT64 | {"-1"}),
                },
            ),
            "listeners": Kind(
                LISTENERS, NONE | {"dict"}, inside={"value": (lambda value: {"FAR": value}, frozenset())}
            ),
            "racks": Kind(["r1"], _LIST, inside={"[]": (lambda value: [value], _LINES)}),
            "jars": Kind(JARS, raises=_FOUND_ELSEWHERE, inside={"[]": (lambda value: [value], _PATHS)}),
            "java": Kind(JAVA, _PATHS, raises=NONE),
            "directory": Kind(None, _PATHS | NONE),
            "jvm_options": Kind(["-Xmx1g"], _LIST, inside={"[]": (lambda value: [value], TEXTS)}),
        },
    },
)

PLACES = [
    place
    for place in places(testing)
    if not place.path.startswith(
        (
            "membership_client.testing.ClusterAdmin.",
            "membership_client.testing.GroupDescription",
            "membership_client.testing.explore",
            *(
                f"membership_client.testing.{group}.{method}"
                for group in ("KafkaGroup", "VirtualGroup")
                for method in ("check", "wait_processed", "wait_assigned")
            ),
            "membership_client.testing.Entry",
            "membership_client.testing.History",
            "membership_client.testing.Instance",
        )
    )
    and [parameter.name for parameter in place.parameters] != ["history"]
]
"""GroupDescription.member() is a look-up, and raises KeyError. The kit makes entries, histories and instances, and gives them
to checks and programs. explore() checks as play() does, and would run for long; its own parameters are tried in
tests/testing/kit. The two waits are wait_for of the same group, and check() takes checks one by one."""

MAKERS: dict[str, Callable[[], Any]] = {
    "KafkaCluster": lambda: KafkaCluster(java=JAVA, jars=JARS, listeners=LISTENERS),
}


@pytest.mark.parametrize(
    "place", [place for place in PLACES if place.owner is None and place.name != "KafkaGroup"], ids=str
)
def test_bad_values(place: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`KafkaCluster(brokers="x")` was found by range(), and `settings` with a line break made two of one."""
    monkeypatch.chdir(tmp_path)
    complaints = list(feed(place, place.found, TABLE))
    assert not complaints, "\n".join(map(str, complaints))


@pytest.mark.parametrize("place", [place for place in PLACES if place.owner == "EmbeddedKafka"], ids=str)
def test_an_embedded_cluster_that_runs(place: Place) -> None:
    """LookupError and TimeoutError are contracts: for what is not there, and for a condition that stays false.

    `refuse(times=2**31)` took 16 GB.
    """

    def call(**given: Any) -> None:
        with EmbeddedKafka(topics={"orders": 1}) as kafka, contextlib.suppress(LookupError, TimeoutError):
            getattr(kafka, place.name)(**given)

    complaints = list(feed(place, call, TABLE))
    assert not complaints, "\n".join(map(str, complaints))


@pytest.mark.parametrize("place", [place for place in PLACES if "KafkaGroup" in (place.owner, place.name)], ids=str)
def test_a_group_on_an_embedded_cluster(place: Place) -> None:
    """An instance that is not there raises LookupError."""
    with EmbeddedKafka() as kafka:
        group = KafkaGroup(kafka)
        table = replace(TABLE, by_name={**TABLE.by_name, "kafka": Kind(kafka)})

        def call(**given: Any) -> None:
            if place.owner is None:
                with contextlib.suppress(LookupError):
                    kafka.delete_topic("orders")
                KafkaGroup(**given)
                return
            with contextlib.suppress(LookupError, TimeoutError):
                getattr(group, place.name)(**given)
            group.stop()

        complaints = list(feed(place, call, table))
    assert not complaints, "\n".join(map(str, complaints))


@pytest.mark.parametrize("place", [place for place in PLACES if place.owner == "VirtualGroup"], ids=str)
def test_a_group_in_virtual_time(place: Place) -> None:
    """An instance that is not there raises LookupError, and a condition that stays false TimeoutError."""

    def call(**given: Any) -> None:
        with VirtualGroup() as group, contextlib.suppress(LookupError, TimeoutError):
            getattr(group, place.name)(**given)

    complaints = list(feed(place, call, TABLE))
    assert not complaints, "\n".join(map(str, complaints))


@pytest.mark.parametrize("place", [place for place in PLACES if place.owner == "KafkaCluster"], ids=str)
def test_what_is_not_there(place: Place) -> None:
    """Of a cluster that was not started: a broker or a listener by any value is refused with a sentence."""
    made: Any = MAKERS[place.owner or ""]()
    method = getattr(made, place.name)
    (parameter,) = place.parameters
    for _, value, _ in TABLE.kinds(place)[parameter.name].values():
        with pytest.raises(ConfigError, match="There is no "):
            method(value)
