"""The security part of a configuration, checked at once and completely."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from membership_client.errors import ConfigError
from membership_client.security.secret import Secret
from membership_client.security.tls import Tls
from membership_client.security.tokens import CallbackTokens, Token, TokenCache

_PROTOCOLS = ("plaintext", "ssl", "sasl_plaintext", "sasl_ssl")
_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")

_OIDC = "sasl.oauthbearer."
_TLS_KEYS = (
    "ssl.ca.location",
    "ssl.ca.pem",
    "ssl.certificate.location",
    "ssl.certificate.pem",
    "ssl.key.location",
    "ssl.key.pem",
    "ssl.key.password",
    "ssl.endpoint.identification.algorithm",
    "enable.ssl.certificate.verification",
)
_PASSWORD_KEYS = ("sasl.username", "sasl.password")
_OIDC_KEYS = (
    f"{_OIDC}client.id",
    f"{_OIDC}client.secret",
    f"{_OIDC}token.endpoint.url",
    f"{_OIDC}scope",
    f"{_OIDC}extensions",
    "https.ca.location",
    "https.ca.pem",
)
_TOKEN_KEYS = ("oauth_cb", f"{_OIDC}method", f"{_OIDC}config", *_OIDC_KEYS)
_SASL_KEYS = ("sasl.mechanism", "sasl.mechanisms", *_PASSWORD_KEYS, *_TOKEN_KEYS)

_KEYS = frozenset({"security.protocol", *_TLS_KEYS, *_SASL_KEYS})

_BY_ANY_NAME = {name: key for key in _KEYS for name in (key, key.replace(".", "_"))}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sasl:
    """Who we say we are, and how we prove it: with a password, or with a token."""

    mechanism: str
    username: str = ""
    password: Secret | None = None
    tokens: TokenCache | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Security:
    """How to reach brokers. Immutable, shows no secret, and cannot be pickled if it holds one.

    Without `tls` all is sent in the clear; without `sasl` nobody says who they are, save by certificate.
    """

    KEYS: ClassVar[frozenset[str]] = _KEYS
    """The configuration's keys that it is made of, dotted."""

    tls: Tls | None = None
    sasl: Sasl | None = None

    @classmethod
    def from_dict(cls, config: Mapping[str, Any]) -> Security:
        """From librdkafka's keys, dotted or snake_case, and no others.

        Raises:
            ConfigError: something is missing, contradicts itself, or cannot be read. Never shows a secret.
        """
        security, rest = split_security(config)
        if rest:
            raise ConfigError(f"{', '.join(map(repr, rest))}: not about security.")
        return security

    @property
    def protocol(self) -> str:
        """As librdkafka calls it."""
        return ("sasl_" if self.sasl else "") + ("ssl" if self.tls else "plaintext")


PLAINTEXT = Security()


def split_security(config: Mapping[str, Any]) -> tuple[Security, dict[str, Any]]:
    """What a configuration says about security, and the rest of it. Raises as `Security.from_dict` does."""
    given = {_BY_ANY_NAME[key]: value for key, value in config.items() if key in _BY_ANY_NAME and value is not None}
    rest = {key: value for key, value in config.items() if key not in _BY_ANY_NAME}
    return _security(given) if given else PLAINTEXT, rest


def _security(given: Mapping[str, Any]) -> Security:
    protocol = _choice(given, "security.protocol", _PROTOCOLS, "plaintext")
    uses_tls, uses_sasl = protocol.endswith("ssl"), protocol.startswith("sasl")
    if not uses_tls:
        _refuse(given, _TLS_KEYS, f"security.protocol={protocol} has no TLS")
    if not uses_sasl:
        _refuse(given, _SASL_KEYS, f"security.protocol={protocol} has no SASL")
    return Security(tls=_tls(given) if uses_tls else None, sasl=_sasl(given) if uses_sasl else None)


def _refuse(given: Mapping[str, Any], keys: Iterable[str], why: str) -> None:
    """A setting that nobody acts on is a mistake, and about security a dangerous one."""
    if idle := [key for key in keys if key in given]:
        raise ConfigError(f"{', '.join(idle)}: of no use, because {why}.")


# --- TLS -------------------------------------------------------------------------------------------------------------


def _tls(given: Mapping[str, Any]) -> Tls:
    for kind in ("ca", "certificate", "key"):
        if f"ssl.{kind}.location" in given and f"ssl.{kind}.pem" in given:
            raise ConfigError(f"ssl.{kind}.location and ssl.{kind}.pem are both set: which of them is meant?")
    identification = _choice(given, "ssl.endpoint.identification.algorithm", ("https", "none"), "https")
    tls = Tls(
        ca_location=_text(given, "ssl.ca.location"),
        ca_pem=_text(given, "ssl.ca.pem"),
        certificate_location=_text(given, "ssl.certificate.location"),
        certificate_pem=_text(given, "ssl.certificate.pem"),
        key_location=_text(given, "ssl.key.location"),
        key_pem=_secret(given, "ssl.key.pem"),
        key_password=_secret(given, "ssl.key.password"),
        verifies=_flag(given, "enable.ssl.certificate.verification"),
        checks_host=identification == "https",
    )
    _check_certificate(tls)
    from membership_client.security.tls_context import context_of  # noqa: PLC0415 - loads ssl

    context_of(tls)  # For its ConfigError.
    return tls


def _check_certificate(tls: Tls) -> None:
    if tls.has_certificate != tls.has_key:
        missing = "certificate" if tls.has_key else "key"
        raise ConfigError(f"ssl.{missing}.location or ssl.{missing}.pem is missing: certificate and key go together.")
    if tls.key_password and not tls.has_key:
        raise ConfigError("ssl.key.password is set, and there is no ssl.key.location or ssl.key.pem.")


# --- SASL ------------------------------------------------------------------------------------------------------------


def _sasl(given: Mapping[str, Any]) -> Sasl:
    mechanism = _mechanism(given)
    if mechanism == "OAUTHBEARER":
        _refuse(given, _PASSWORD_KEYS, "OAUTHBEARER takes a token")
        return Sasl(mechanism=mechanism, tokens=_tokens(given))
    _refuse(given, _TOKEN_KEYS, f"{mechanism} takes a password")
    _require(given, _PASSWORD_KEYS, f"sasl.mechanism={mechanism}")
    username, password = _text(given, "sasl.username"), _secret(given, "sasl.password")
    assert username
    return Sasl(mechanism=mechanism, username=username, password=password)


def _mechanism(given: Mapping[str, Any]) -> str:
    named = {str(given[key]).upper() for key in ("sasl.mechanism", "sasl.mechanisms") if key in given}
    if len(named) > 1:
        raise ConfigError(f"sasl.mechanism and sasl.mechanisms differ: {' and '.join(sorted(named))}.")
    mechanism = named.pop() if named else "GSSAPI, librdkafka's default"
    if mechanism not in _MECHANISMS:
        raise ConfigError(f"sasl.mechanism must be one of {', '.join(_MECHANISMS)}; {mechanism} is not supported.")
    return mechanism


def _tokens(given: Mapping[str, Any]) -> TokenCache:
    method = _choice(given, f"{_OIDC}method", ("default", "oidc"), "default")
    if method == "oidc":
        _refuse(given, ("oauth_cb", f"{_OIDC}config"), f"{_OIDC}method=oidc asks the token endpoint")
        return TokenCache(_oidc(given))
    _refuse(given, _OIDC_KEYS, f"{_OIDC}method is not oidc")
    callback: Callable[[str], Any] | None = given.get("oauth_cb")
    if not callable(callback):
        raise ConfigError(f"OAUTHBEARER needs oauth_cb, a function that returns a token, or {_OIDC}method=oidc.")
    return TokenCache(CallbackTokens(callback, _text(given, f"{_OIDC}config") or ""))


def _oidc(given: Mapping[str, Any]) -> Callable[[], Token]:
    from membership_client.security.oidc import OidcTokens  # noqa: PLC0415 - loads an HTTP client

    _require(given, _OIDC_KEYS[:3], f"{_OIDC}method=oidc")
    url, secret = _text(given, f"{_OIDC}token.endpoint.url"), _secret(given, f"{_OIDC}client.secret")
    assert url
    assert secret
    if not url.startswith(("https://", "http://")) or "@" in url:
        raise ConfigError(f"{_OIDC}token.endpoint.url must begin with https:// or http://, and hold no password.")
    return OidcTokens(
        url=url,
        client_id=_text(given, f"{_OIDC}client.id") or "",
        client_secret=secret,
        scope=_text(given, f"{_OIDC}scope"),
        extensions=_extensions(_text(given, f"{_OIDC}extensions") or ""),
        ca_location=_text(given, "https.ca.location"),
        ca_pem=_text(given, "https.ca.pem"),
    )


def _extensions(text: str) -> dict[str, str]:
    pairs = [pair.partition("=") for pair in text.split(",") if pair]
    if not all(name.isalpha() and equals for name, equals, _ in pairs):
        raise ConfigError(f"{_OIDC}extensions must be name=value pairs separated by commas, the names letters only.")
    return {name: value for name, _, value in pairs}


# --- values ----------------------------------------------------------------------------------------------------------


def _require(given: Mapping[str, Any], keys: Iterable[str], why: str) -> None:
    if missing := [key for key in keys if key not in given]:
        raise ConfigError(f"{' and '.join(missing)} must be set: {why} needs {'it' if len(missing) == 1 else 'them'}.")


def _choice(given: Mapping[str, Any], key: str, choices: tuple[str, ...], default: str) -> str:
    value = str(given.get(key, default)).lower()
    if value not in choices:
        raise ConfigError(f"{key} must be one of {', '.join(choices)}, not {value!r}.")
    return value


def _text(given: Mapping[str, Any], key: str) -> str | None:
    """Its value is not shown, whatever it is: people put things into the wrong key."""
    value = given.get(key)
    if value is not None and (not isinstance(value, str) or not value.strip() or "\0" in value):
        raise ConfigError(f"{key} must be a non-empty string.")
    return value


def _secret(given: Mapping[str, Any], key: str) -> Secret | None:
    text = _text(given, key)
    return None if text is None else Secret(text)


def _flag(given: Mapping[str, Any], key: str) -> bool:
    """As librdkafka reads it: a bool, or a word for one."""
    return _choice(given, key, ("true", "t", "1", "false", "f", "0"), "true") in {"true", "t", "1"}
