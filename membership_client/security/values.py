"""Reads values of security keys as librdkafka does. No error shows a value that may be a secret."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from membership_client.arguments import shown, whole_from
from membership_client.errors import ConfigError
from membership_client.security.secret import Secret

Given = Mapping[str, Any]
"""The security keys of a configuration, dotted, without keys whose value is None."""


def refuse(given: Given, useless: Iterable[str], why: str) -> None:
    """ConfigError if one of these keys is set: a security key without effect is a dangerous mistake."""
    if idle := [key for key in useless if key in given]:
        raise ConfigError(f"{', '.join(idle)}: of no use, because {why}.")


def require(given: Given, needed: Iterable[str], why: str) -> None:
    if missing := [key for key in needed if key not in given]:
        raise ConfigError(f"{' and '.join(missing)} must be set: {why} needs {'it' if len(missing) == 1 else 'them'}.")


def choice(given: Given, key: str, choices: tuple[str, ...], default: str) -> str:
    """The value, in upper or lower case, as `choices` spells it."""
    value = word(given.get(key, default)).lower()
    by_name = {each.lower(): each for each in choices}
    if value not in by_name:
        raise ConfigError(f"{key} must be one of {', '.join(choices)}, not {shown(value)}.")
    return by_name[value]


def word(value: object) -> str:
    """The value as a word. librdkafka takes True, False, 1 and 0 for words, too."""
    return str(value) if isinstance(value, str | bool) or value in (0, 1) else shown(value)


def text(given: Given, key: str) -> str | None:
    """The text, or None. Errors never show the value, because a secret may be set under a wrong key."""
    value = given.get(key)
    if value is not None and not (isinstance(value, str) and value.strip() and _can_be_sent(value)):
        raise ConfigError(f"{key} must be a non-empty string that UTF-8 can encode, without NUL.")
    return value


def _can_be_sent(value: str) -> bool:
    try:
        return b"\0" not in value.encode()
    except UnicodeEncodeError:
        return False


def secret(given: Given, key: str) -> Secret | None:
    found = text(given, key)
    return None if found is None else Secret(found)


def flag(given: Given, key: str, *, default: bool = True) -> bool:
    """True or False, from a bool or one of librdkafka's words for it."""
    words = ("true", "t", "1", "false", "f", "0")
    return choice(given, key, words, "true" if default else "false") in {"true", "t", "1"}


def seconds(given: Given, key: str, default: int, *, least: int) -> int:
    value = whole_from(given.get(key, default))
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value < 2**31:
        raise ConfigError(f"{key} must be a whole number of seconds from {least} to 2**31 - 1.")
    return value


def pairs(given: Given, key: str) -> dict[str, str]:
    """The pairs in `name=value,name=value`. As in librdkafka, a comma after a backslash is a part of the value."""
    found = dict[str, str]()
    for part in _split(text(given, key) or ""):
        name, equals, value = part.partition("=")
        if not equals or not name:
            raise ConfigError(f"{key} must be name=value pairs separated by commas.")
        found[name.strip()] = value
    return found


def _split(listed: str) -> list[str]:
    parts = [""]
    escaped = False
    for letter in listed:
        if letter == "," and not escaped:
            parts.append("")
        elif letter != "\\" or escaped:
            parts[-1] += letter
        escaped = letter == "\\" and not escaped
    return [part for part in parts if part.strip()]
