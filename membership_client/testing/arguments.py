"""Checks the arguments that tests pass to clusters, as `membership_client.arguments` does for applications."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from membership_client.arguments import (
    MOST_INT64,
    checked_function,
    checked_instance,
    checked_items,
    checked_mapping,
    checked_path,
    checked_text,
    checked_whole,
    optional,
    shown,
)
from membership_client.errors import ConfigError
from membership_client.runtime.listener import accepts
from membership_client.testing.settings import Listener, Value

_MOST_BROKERS = 100
_VERSION = re.compile(r"[0-9A-Za-z.-]{1,50}")
_LINE = re.compile(r"[^\r\n\0\ud800-\udfff]*")
"""A value of a server property."""


def checked_brokers(value: object) -> int:
    return checked_whole("brokers", value, least=1, most=_MOST_BROKERS)


def checked_program(value: object) -> None:
    """ConfigError unless it is a function, plain or async, that can be called with one instance."""
    checked_function("program", value, "an instance")
    if callable(value) and not accepts(value, 1):
        raise ConfigError(f"program is called with one argument, an instance; {shown(value)} cannot be called so.")


def checked_version(value: object) -> str:
    """A version of Kafka. It becomes a part of a directory's name, so other text is refused."""
    if not isinstance(value, str) or not _VERSION.fullmatch(value):
        raise ConfigError(f"version is a version of Kafka, such as 4.3.1, not {shown(value)}.")
    return value


def checked_settings(value: object) -> dict[str, Value]:
    """Server properties. Line breaks are refused, because a property with one would be read as two."""
    given = optional(checked_mapping, "settings", value) or {}
    return {_checked_line("A name in settings", name): _checked_value(name, one) for name, one in given.items()}


def _checked_value(name: str, value: object) -> Value:
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return checked_whole(f"settings: {name}", value, least=-MOST_INT64 - 1)
    return _checked_line(f"settings: {name}", value)


def _checked_line(name: str, value: object) -> str:
    if not isinstance(value, str) or not _LINE.fullmatch(value):
        raise ConfigError(f"{name} is a text of one line, not {shown(value)}.")
    return value


def checked_listeners(value: object) -> dict[str, Listener]:
    given = optional(checked_mapping, "listeners", value) or {}
    return {checked_text("The name of a listener", name): _checked_listener(name, one) for name, one in given.items()}


def _checked_listener(name: str, value: object) -> Listener:
    return checked_instance(f"listeners: {name}", value, Listener)


def checked_racks(value: object) -> dict[int, str]:
    """Racks by the numbers of their brokers."""
    return dict(enumerate(checked_items("racks", value, _checked_rack), start=1))


def _checked_rack(name: str, value: object) -> str:
    return _checked_line(name, checked_text(name, value))


def checked_paths(name: str, value: object) -> tuple[Path, ...]:
    return checked_items(name, value, checked_path)


def checked_options(value: object) -> tuple[str, ...]:
    return checked_items("jvm_options", value, checked_text)


def known(what: str, given: object, there_are: Collection[object]) -> None:
    """The object, if it is one of `there_are`; otherwise ConfigError."""
    try:
        found = given in there_are
    except TypeError:  # `given` cannot be hashed.
        found = False
    if not found or isinstance(given, bool):
        listed = ", ".join(map(str, there_are)) or "none before the cluster is started"
        raise ConfigError(f"There is no {what} {shown(given)}: there are {listed}.")
