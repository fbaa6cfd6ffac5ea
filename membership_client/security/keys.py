"""The configuration keys for security, how their values are read, and which packages they need.

No error shows a value that may be a secret.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from membership_client.arguments import plain, shown, whole_from
from membership_client.errors import ConfigError
from membership_client.security.secret import Secret

BEARER = "sasl.oauthbearer."
"""Prefix of the keys for tokens."""

TLS = (
    "ssl.ca.location",
    "ssl.ca.pem",
    "ssl.certificate.location",
    "ssl.certificate.pem",
    "ssl.cipher.suites",
    "ssl.crl.location",
    "ssl.key.location",
    "ssl.key.pem",
    "ssl.key.password",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.endpoint.identification.algorithm",
    "enable.ssl.certificate.verification",
)
PASSWORD = ("sasl.username", "sasl.password")
KERBEROS = ("sasl.kerberos.service.name", "sasl.kerberos.principal", "sasl.kerberos.keytab")
CLIENT = (f"{BEARER}client.id", f"{BEARER}client.secret")
SIGNING = (
    f"{BEARER}assertion.algorithm",
    f"{BEARER}assertion.claim.aud",
    f"{BEARER}assertion.claim.exp.seconds",
    f"{BEARER}assertion.claim.iss",
    f"{BEARER}assertion.claim.jti.include",
    f"{BEARER}assertion.claim.nbf.seconds",
    f"{BEARER}assertion.claim.sub",
    f"{BEARER}assertion.jwt.template.file",
    f"{BEARER}assertion.private.key.file",
    f"{BEARER}assertion.private.key.passphrase",
    f"{BEARER}assertion.private.key.pem",
)
"""Keys of an assertion that this process signs."""
ASSERTION = (f"{BEARER}assertion.file", *SIGNING)
OIDC = (
    *CLIENT,
    f"{BEARER}token.endpoint.url",
    f"{BEARER}scope",
    f"{BEARER}extensions",
    f"{BEARER}grant.type",
    f"{BEARER}metadata.authentication.type",
    f"{BEARER}sub.claim.name",
    "https.ca.location",
    "https.ca.pem",
    *ASSERTION,
)
UNSECURED = "enable.sasl.oauthbearer.unsecure.jwt"
TOKEN = ("oauth_cb", f"{BEARER}method", f"{BEARER}config", UNSECURED, *OIDC)
ALIASES = {
    "sasl.mechanisms": "sasl.mechanism",
    f"{BEARER}client.credentials.client.id": f"{BEARER}client.id",
    f"{BEARER}client.credentials.client.secret": f"{BEARER}client.secret",
}
"""Other names of keys, and the names used here."""

SASL = ("sasl.mechanism", *PASSWORD, *KERBEROS, *TOKEN)

ALL = frozenset({"security.protocol", *TLS, *SASL, *ALIASES})


# --- values ----------------------------------------------------------------------------------------------------------


Given = Mapping[str, Any]
"""The security keys of a configuration, dotted, without keys whose value is None."""


def refuse(given: Given, useless: Iterable[str], why: str) -> None:
    """ConfigError if one of these keys is set: a security key without effect is a dangerous mistake."""
    if idle := [key for key in useless if key in given]:
        raise ConfigError(f"{', '.join(idle)}: no effect, because {why}. Remove the key, or correct the configuration.")


def require(given: Given, needed: Iterable[str], why: str) -> None:
    if missing := [key for key in needed if key not in given]:
        raise ConfigError(f"{' and '.join(missing)} must be set: {why} needs {'it' if len(missing) == 1 else 'them'}.")


def choice(given: Given, key: str, choices: tuple[str, ...], default: str) -> str:
    """The choice that the value names in any case. ConfigError if it names none."""
    value = word(given.get(key, default)).lower()
    by_name = {each.lower(): each for each in choices}
    if value not in by_name:
        raise ConfigError(f"{key} must be one of {', '.join(choices)}, not {shown(value)}.")
    return by_name[value]


def word(value: object) -> str:
    """The value as a word. As in librdkafka, True, False, 1 and 0 count as words."""
    return value if isinstance(value, str) else shown(value)


def text(given: Given, key: str) -> str | None:
    """The text; None if the key is not set. Errors never show the value, because a secret may be set under a wrong key."""
    value = given.get(key)
    if value is not None and not (isinstance(value, str) and value.strip() and _can_be_sent(value)):
        raise ConfigError(f"{key} must be a non-empty string that UTF-8 can encode, without NUL.")
    return plain(value)


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


# --- packages that only some configurations need ---------------------------------------------------------------------


def require_library(module: str, extra: str, why: str) -> None:
    """ConfigError, with the command that installs it, if the module is missing. Imports nothing."""
    if not _is_there(module):
        raise ConfigError(f"{why} needs the package {module}: pip install 'membership-client[{extra}]'.")


def _is_there(module: str) -> bool:
    import importlib.util  # noqa: PLC0415 - most configurations need no such package

    return importlib.util.find_spec(module) is not None
