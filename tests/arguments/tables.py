"""Every public parameter that needs no Spark: a good value, and which of the bad ones it takes, too."""

from __future__ import annotations

import datetime as dt
import signal
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import confluent_kafka

from membership_client import (
    CallbackKind,
    Cause,
    CauseKind,
    GroupMember,
    LeaveMode,
    Offset,
    RebalanceListener,
    RunCallback,
    Security,
    TopicPartition,
)
from membership_client.admin import Change, Given, Latest, Plan, Shift, Since
from tests.arguments.bad_values import BAD, CALLABLE, EMPTY, FOREVER, NUMBERS, TEXTS
from tests.arguments.feeding import Table
from tests.arguments.kinds import Kind

NOBODY = "127.0.0.1:1"
"""Nothing listens there."""
MINIMAL = {"bootstrap.servers": NOBODY, "group.id": "shop"}
QUIET = {**MINIMAL, "log_level": 0, "enable.auto.offset.store": False}
ORDERS = TopicPartition("orders", 0)

ALL = frozenset(BAD)
STRINGS = frozenset(name for name, value in BAD.items() if isinstance(value, str))
NONE = frozenset({"None"})
BOOLS = frozenset({"True", "False"})
UNSET = NONE | {"empty"}
"""In a mapping, as librdkafka has it, a text that is empty is one that is not given."""
INT32 = frozenset({"0", "1"})
INT64 = INT32 | {"2**31"}
_UNWRITABLE = frozenset({"10**5000", "nameless"})
"""Which str() does not write: confluent-kafka raises TypeError."""
NAMES = frozenset({"word", "digits"})
"""Which are legal names of topics and members."""


def _closed_member() -> GroupMember:
    """An open one would be among those of the process in other tests."""
    member = GroupMember(MINIMAL)
    member.close()
    return member


def _orders_at(value: Any) -> dict[Any, Any]:
    return {ORDERS: value}


TEXT = Kind("shop", TEXTS)
NAME = Kind("shop", NAMES)
FLAG = Kind(False, BOOLS)
REASON = Kind("because", ALL)
"""No leave may fail over the reason it was given."""
TIMEOUT = Kind(0.01, NUMBERS)
SECONDS = Kind(0.05, NUMBERS - {"-1", "-inf", "inf"})
POSITIVE = Kind(0.5, FOREVER | {"1", "1.5"})
FUNCTION = Kind(lambda _value: None, CALLABLE)
LEAVE = Kind(LeaveMode.LEAVE)
TOPICS = Kind(["orders"], inside={"[]": (lambda value: [value], TEXTS)})
PARTITION = Kind(
    ORDERS,
    inside={
        "topic": (lambda value: (value, 0), TEXTS),
        "number": (lambda value: ("orders", value), INT32),
    },
)
PARTITIONS = Kind(
    [ORDERS],
    EMPTY,
    inside={
        "[]": (lambda value: [value], frozenset()),
        "topic": (lambda value: [(value, 0)], TEXTS),
        "number": (lambda value: [("orders", value)], INT32),
    },
)
OFFSETS = Kind(
    {ORDERS: 5},
    frozenset({"dict"}),
    inside={
        "key": (lambda value: {value: 5}, frozenset()),
        "topic": (lambda value: {(value, 0): 5}, TEXTS),
        "value": (_orders_at, INT64),
        "offset": (lambda value: {ORDERS: Offset(value)}, INT64),
        "leader epoch": (lambda value: {ORDERS: Offset(5, value)}, INT32 | NONE),
        "metadata": (lambda value: {ORDERS: Offset(5, None, value)}, TEXTS | {"empty", "space", "nul"}),
    },
)
CONFIG = Kind(
    MINIMAL,
    inside={
        "group": (lambda value: {**MINIMAL, "group.id": value}, TEXTS),
        "key": (lambda value: {**MINIMAL, value: "x"}, frozenset()),
        "value": (lambda value: {**MINIMAL, "client.rack": value}, TEXTS | UNSET),
        "strategy": (lambda value: {**MINIMAL, "partition.assignment.strategy": value}, TEXTS | UNSET),
        "number": (lambda value: {**MINIMAL, "retry.backoff.max.ms": value}, frozenset()),
    },
    also={
        "both spellings": {**MINIMAL, "group_id": "shop"},
        "security": {**MINIMAL, "security.protocol": "ssl", "security_protocol": "ssl"},
    },
)
HOOK = Kind(lambda _consumer, _partitions: None, frozenset({"class", "None"}))
LISTENER = Kind(RebalanceListener(), NONE)
OBSERVERS = Kind((), EMPTY - {"dict"}, inside={"[]": (lambda value: [value], CALLABLE)})
CONDITION = Kind(lambda _snapshot: True, CALLABLE, raises=frozenset({"class"}))

MEMBER = "membership_client.GroupMember"
AIO = "membership_client.aio.GroupMember"
ADMIN = "membership_client.admin"
IDENTITY = "membership_client.identity"

_MEMBER_PARTS = {"config": CONFIG, "listener": LISTENER, "observers": OBSERVERS, "security": Kind(Security(), NONE)}
_WAIT = {"condition": CONDITION, "timeout_s": TIMEOUT.optional()}
_MEMBERS = Kind(["till-1"], EMPTY - {"dict"}, inside={"[]": (lambda value: [value], TEXTS)})
_FILTER = Kind([], EMPTY - {"dict"}, inside={"[]": (lambda value: [value], TEXTS)})
_TARGET = Kind(
    Latest(),
    inside={
        "since": (Since, frozenset({"time"})),
        "shift": (Shift, NUMBERS & {"0", "1", "-1", "2**31"}),
        "given": (Given, frozenset({"dict"})),
        "given at": (lambda value: Given(_orders_at(value)), INT64),
    },
    also={"class Latest": Latest},
)
_PLAN = Kind(
    Plan("shop", (Change(partition=ORDERS, before=None, after=5),)),
    inside={
        "group": (lambda value: Plan(value, ()), TEXTS),
        "changes": (lambda value: Plan("shop", value), EMPTY - {"dict"}),
        "change": (lambda value: Plan("shop", (value,)), frozenset()),
        "partition": (lambda value: _plan(partition=value), frozenset()),
        "after": (lambda value: _plan(after=value), INT64),
    },
)
_SETTINGS = Kind(
    {"consumer.session.timeout.ms": 5000},
    frozenset({"dict"}),
    inside={
        "name": (lambda value: {value: 5000}, frozenset()),
        "value": (lambda value: {"consumer.session.timeout.ms": value}, INT32 | NONE),
    },
)


_CAUSE = Cause(CauseKind.JOINED, "joined the group")
_CALL = RunCallback(
    call_id=1,
    kind=CallbackKind.ASSIGNED,
    partitions=(ORDERS,),
    epoch=1,
    cause=_CAUSE,
    deadline=None,
    provisional=False,
)


def _plan(**given: Any) -> Plan:
    return Plan("shop", (Change(**{"partition": ORDERS, "before": None, "after": 5} | given),))


def _ms(good: int) -> Kind:
    return Kind(good, frozenset({"1"}))


CONFIG_KEYS: Mapping[str, Kind] = {
    "bootstrap_servers": Kind(NOBODY, NAMES, also={"scheme": "x://y", "port": "x:99999", "digits": "x:" + "9" * 5000}),
    "group_id": TEXT,
    "group_protocol": Kind("auto"),
    "group_instance_id": NAME.optional(),
    "group_instance_id_conflict": Kind("wait"),
    "group_remote_assignor": TEXT.optional(),
    "partition_assignment_strategy": Kind(("range",), inside={"()": (lambda value: (value,), TEXTS)}),
    "session_timeout_ms": _ms(45_000),
    "heartbeat_interval_ms": _ms(3000),
    "metadata_max_age_ms": _ms(300_000),
    "client_id": TEXT,
    "client_rack": TEXT.optional(),
    "max_poll_interval_ms": _ms(300_000),
    "request_timeout_ms": _ms(10_000),
    "socket_connection_setup_timeout_ms": _ms(10_000),
    "retry_backoff_ms": _ms(100),
    "retry_backoff_max_ms": _ms(1000),
    "retry_when_full_s": Kind(5.0, NONE | {"1", "1.5", "2**31", "2**63", "1e300"}),
    "callback_errors": Kind("raise"),
    "trace_file": Kind(None, TEXTS | NONE, also={"field": "{0.__class__}", "brace": "{", "other": "{x}"}),
    "trace_file_max_bytes": Kind(10_000, FOREVER - {"inf", "1e300", "10**400", "10**5000"}),
    "trace_file_keep": Kind(3, INT64),
    "enable_metrics_push": FLAG,
    "telemetry_member_id_label": FLAG,
    "heartbeat_keeper": Kind("off"),
}

_PLACE = confluent_kafka.TopicPartition("orders", 0, 5)
_PLACES = Kind([_PLACE], frozenset({"list"}), inside={"[]": (lambda value: [value], frozenset())})
_RECORD = Kind(ORDERS)
_HOOKS = {"on_assign": HOOK, "on_revoke": HOOK, "on_lost": HOOK}
_COMMIT = {
    "message": Kind(None, NONE),
    "offsets": Kind(None, NONE | {"list"}),
    "asynchronous": replace(FLAG, raises=frozenset({"incomparable"})),
}
_CREDENTIAL = Kind("secret", TEXTS | {"long"})
_CREDENTIALS = {"username": _CREDENTIAL, "password": _CREDENTIAL}
SASL = {
    "security.protocol": "sasl_plaintext",
    "sasl.mechanism": "PLAIN",
    "sasl.username": "till",
    "sasl.password": "secret",
}
"""A configuration whose password can be replaced."""
CONSUMER = "membership_client.Consumer"
AIO_CONSUMER = "membership_client.aio.Consumer"
_CLOSE = {"timeout_s": replace(TIMEOUT, takes=NUMBERS | {"nan"}).optional()}


_CONSUMER_KEYS = {
    "key": (lambda value: {**QUIET, value: "x"}, frozenset[str]()),
    # Of these librdkafka takes most as text, and cut them off at NUL.
    "value": (lambda value: {**QUIET, "client.software.name": value}, ALL - {"nul", "surrogate", *_UNWRITABLE}),
}


def _of_consumer(path: str) -> dict[str, dict[str, Kind]]:
    config = replace(CONFIG, good=QUIET, inside=_CONSUMER_KEYS)
    return {
        path: {"config": config},
        f"{path}.subscribe": {**_HOOKS, "topics": TOPICS, "listener": Kind(None, NONE)},
        f"{path}.commit": _COMMIT,
        f"{path}.store_offsets": {**_COMMIT, "offsets": _PLACES},
        f"{path}.close": _CLOSE,
        **{f"{path}.{method}": {"partitions": _PLACES} for method in _OF_PLACES},
        f"{path}.committed": {"partitions": _PLACES, "timeout": TIMEOUT.optional(), "timeout_s": TIMEOUT},
        f"{path}.seek": {"partition": Kind(_PLACE)},
        f"{path}.poll": {"timeout": TIMEOUT},
        f"{path}.set_sasl_credentials": _CREDENTIALS,
        f"{path}.consume": {"timeout": TIMEOUT, "num_messages": Kind(5, INT32)},
        f"{path}.getone": {"partitions": _RECORD, "timeout_s": TIMEOUT.optional()},
        f"{path}.getmany": {
            "partitions": _RECORD,
            "timeout_s": TIMEOUT.optional(),
            "max_records": Kind(5, INT64 - {"0"} | {"2**63"}),
        },
        f"{path}.seek_to_beginning": {"partitions": _RECORD},
        f"{path}.seek_to_end": {"partitions": _RECORD},
        f"{path}.seek_to_time": {"timestamp_ms": Kind(5, INT64), "partitions": _RECORD},
        f"{path}.get_watermark_offsets": {"partition": _RECORD, "timeout": TIMEOUT, "cached": FLAG},
        f"{path}.offsets_for_times": {"partitions": _PLACES, "timeout": TIMEOUT},
        f"{path}.list_topics": {"topic": Kind("orders", TEXTS | NONE), "timeout": TIMEOUT},
        f"{path}.cluster_id": {"timeout": TIMEOUT},
        f"{path}.hold": {"work": _RECORD},
        f"{path}.owner_epoch": {"record": _RECORD},
        f"{path}.revoke_pending": {"record": _RECORD},
        f"{path}.stop_on_signals": {"signals": Kind(signal.SIGTERM, frozenset({"1"}))},
    }


_OF_PLACES = ("assign", "incremental_assign", "incremental_unassign", "pause", "position", "resume")

TABLE = Table(
    by_name={
        "force": FLAG,
        "group_id": TEXT,
        "lag": FLAG,
        "leave": LEAVE,
        "listener": LISTENER,
        "members": _MEMBERS,
        "offsets": OFFSETS,
        "partition": PARTITION,
        "partitions": PARTITIONS,
        "progress": FUNCTION.optional(),
        "reason": REASON,
        "regex": TEXT,
        "timeout_s": TIMEOUT,
        "topics": TOPICS,
        "watch_s": SECONDS,
    },
    by_place={
        MEMBER: {**_MEMBER_PARTS, "runner": Kind(None, NONE)},
        f"{MEMBER}.wait_until": _WAIT,
        f"{MEMBER}.set_sasl_credentials": _CREDENTIALS,
        f"{MEMBER}.close": {"timeout_s": replace(TIMEOUT, takes=NUMBERS | {"nan"}).optional()},
        AIO: _MEMBER_PARTS,
        f"{AIO}.wait_until": _WAIT,
        f"{AIO}.set_sasl_credentials": _CREDENTIALS,
        **_of_consumer(CONSUMER),
        **_of_consumer(AIO_CONSUMER),
        f"{AIO}.close": {"timeout_s": replace(TIMEOUT, takes=NUMBERS | {"nan"}).optional()},
        "membership_client.CallbackContext": {
            "epoch": Kind(1, INT32 | {"-1"}),
            "cause": Kind(_CAUSE),
            "deadline": Kind(5.0, NUMBERS).optional(),
            "provisional": FLAG,
        },
        "membership_client.CallbackContext.of": {"call": Kind(_CALL)},
        "membership_client.MemberConfig": CONFIG_KEYS,
        "membership_client.MemberConfig.from_dict": {"config": CONFIG},
        "membership_client.Security": {"tls": Kind(None, NONE), "sasl": Kind(None, NONE)},
        "membership_client.Security.from_dict": {"config": Kind({}, frozenset({"dict"}))},
        "membership_client.register_assignor": {
            "name": TEXT,
            "assign": replace(FUNCTION, good=lambda _members, _topics: {}),
            "cooperative": FLAG,
        },
        f"{ADMIN}.GroupAdmin": {
            "config": Kind(NOBODY, NAMES, inside={"servers": (lambda value: {"bootstrap.servers": value}, NAMES)}),
            "client_id": TEXT,
            "timeout_s": POSITIVE,
        },
        f"{ADMIN}.GroupAdmin.list": {
            "states": _FILTER,
            "protocols": _FILTER,
            "prefix": Kind("", STRINGS),
        },
        f"{ADMIN}.GroupAdmin.check": {
            "to": Kind("consumer"),
            # A key that is not known is a finding, and no error.
            "config": Kind({}, frozenset({"dict", "{'x': 1}"})).optional(),
            "patterns": _FILTER,
        },
        f"{ADMIN}.GroupAdmin.signs_of_life": {"members": _MEMBERS.optional()},
        f"{ADMIN}.GroupAdmin.plan_reset": {
            "to": _TARGET,
            "topics": replace(TOPICS, takes=EMPTY - {"dict"}),
        },
        f"{ADMIN}.GroupAdmin.reset": {"plan": _PLAN},
        f"{ADMIN}.GroupAdmin.change_settings": {"values": _SETTINGS},
        f"{ADMIN}.GroupView.find": {"name": Kind("till-1", ALL)},
        f"{ADMIN}.Since.ago": {
            "duration": Kind(dt.timedelta(hours=1), frozenset({"duration"}), also={"largest": dt.timedelta.max})
        },
        f"{ADMIN}.read_csv": {"text": Kind("orders,0,5", frozenset({"empty", "space"})), "group_id": TEXT},
        "membership_client.health.serve": {
            "members": Kind(_closed_member()),
            "port": Kind(0, frozenset({"0", "1"})),
            "host": Kind("127.0.0.1", NONE),
        },
        "membership_client.health.report": {"members": Kind(_closed_member())},
        "membership_client.health.write": {
            "members": Kind(_closed_member()),
            "path": Kind("health.json", TEXTS | {"path"}),
            "every_s": replace(SECONDS, good=0.5),
        },
        f"{IDENTITY}.HostSlot": {
            "name": NAME,
            "slots": Kind(2, INT64 - {"0"}),
            "directory": Kind(None, TEXTS | NONE | {"space", "path"}),
            "host": NAME.optional(),
        },
        f"{IDENTITY}.ecs_id": {"name": NAME, "variable": Kind("SLOT"), "environ": Kind({"SLOT": "3"})},
        f"{IDENTITY}.nomad_id": {
            "environ": Kind({"NOMAD_JOB_NAME": "a", "NOMAD_GROUP_NAME": "b", "NOMAD_ALLOC_INDEX": "1"})
        },
        f"{IDENTITY}.numbered_id": {"name": NAME, "number": Kind(3, INT64 | {"2**63"})},
        f"{IDENTITY}.stateful_set_id": {"pod_name": Kind("till-3")},
    },
)
