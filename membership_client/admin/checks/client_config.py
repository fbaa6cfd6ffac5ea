"""Reads the configuration that is to be checked, with the rules and errors of `Consumer`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from membership_client.arguments import with_dots, word_from
from membership_client.config import MemberConfig
from membership_client.errors import ConfigError
from membership_client.security import Security, keys, split_security

_MEMBER_KEYS = frozenset(field.name.replace("_", ".") for field in fields(MemberConfig))
_PROTOCOL = "group.protocol"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadConfig:
    """The configuration that was read. Its fields are those of `facts.ClientFacts`."""

    member: MemberConfig | None
    given: frozenset[str]
    protocol: str
    problems: tuple[str, ...]
    bootstrap: str | None
    security: Security | None
    """None if the security keys are refused; the reason is among the problems."""


def read_client_config(config: Mapping[str, Any], group_id: str) -> ReadConfig:
    """Read the configuration of a `Consumer`, with keys of confluent-kafka and of members. ConfigError if it is no mapping of keys.

    It is read as with `group.protocol=auto`, which takes the keys of both protocols. Other rules find keys that have no effect
    in one protocol.
    """
    from membership_client.consumer.keys import KEYS, Reach  # noqa: PLC0415 - loads confluent_kafka

    given = with_dots(config, _MEMBER_KEYS | KEYS.keys())
    refused = {key: KEYS[key].note for key in given if key in KEYS and KEYS[key].reach is Reach.REFUSED}
    usable = {key: value for key, value in given.items() if key not in refused}
    problems = [f"{key}: {note}." for key, note in sorted(refused.items())]
    security, usable = _without_security(usable, problems)
    problems += [
        f"{key}: confluent-kafka has no such key." for key in sorted(usable.keys() - KEYS.keys() - _MEMBER_KEYS)
    ]
    protocol = word_from(usable.get(_PROTOCOL, "auto"))
    return ReadConfig(
        member=_member(usable, group_id, problems),
        given=frozenset(given),
        protocol=protocol if isinstance(protocol, str) else "auto",
        problems=tuple(problems),
        bootstrap=usable.get("bootstrap.servers", usable.get("metadata.broker.list")),
        security=security,
    )


def _without_security(given: dict[str, Any], problems: list[str]) -> tuple[Security | None, dict[str, Any]]:
    try:
        return split_security(given)
    except ConfigError as error:
        problems.append(str(error))
        return None, {key: value for key, value in given.items() if key not in keys.ALL}


def _member(usable: Mapping[str, Any], group_id: str, problems: list[str]) -> MemberConfig | None:
    from membership_client.consumer.settings import settings_of  # noqa: PLC0415 - loads confluent_kafka

    # The file need not have the first two keys.
    complete = {"bootstrap.servers": "localhost", "group.id": group_id, **usable}
    if word_from(complete.get(_PROTOCOL)) in {"consumer", "classic"}:
        complete[_PROTOCOL] = "auto"
    try:
        return settings_of(complete).member
    except ConfigError as error:
        problems.append(str(error))
        return None
