"""The security part of a configuration, checked at once and completely."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from membership_client.arguments import checked_instance, optional, shown, with_dots
from membership_client.errors import ConfigError
from membership_client.security import keys
from membership_client.security.secret import Secret
from membership_client.security.tls import Tls
from membership_client.security.tokens import CallbackTokens, Token, TokenCache

_PROTOCOLS = ("plaintext", "ssl", "sasl_plaintext", "sasl_ssl")
_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sasl:
    """Who we say we are, and how we prove it: with a password, or with a token."""

    mechanism: str
    username: str = ""
    password: Secret | None = None
    tokens: TokenCache | None = None
    token_endpoint: str | None = field(default=None, repr=False)
    """Who gives the tokens; None if a callback does. A query may hold a secret, so it is not shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Security:
    """How to reach brokers. Immutable, shows no secret, and cannot be pickled if it holds one.

    Without `tls` all is sent in the clear; without `sasl` nobody says who they are, save by certificate.
    """

    KEYS: ClassVar[frozenset[str]] = keys.ALL
    """The configuration's keys that it is made of, dotted."""

    tls: Tls | None = None
    sasl: Sasl | None = None

    def __post_init__(self) -> None:
        optional(lambda name, value: checked_instance(name, value, Tls), "tls", self.tls)
        optional(lambda name, value: checked_instance(name, value, Sasl), "sasl", self.sasl)

    @classmethod
    def from_dict(cls, config: Mapping[str, Any]) -> Security:
        """From librdkafka's keys, dotted or snake_case, and no others.

        Raises:
            ConfigError: something is missing, contradicts itself, or cannot be read. Never shows a secret.
        """
        security, rest = split_security(config)
        if rest:
            raise ConfigError(f"{', '.join(map(shown, rest))}: not about security.")
        return security

    @property
    def protocol(self) -> str:
        """As librdkafka calls it."""
        return ("sasl_" if self.sasl else "") + ("ssl" if self.tls else "plaintext")


PLAINTEXT = Security()


def with_password(security: Security, username: object, password: object) -> Security:
    """The same with other credentials. Raises ConfigError, which shows neither, if they are none or of no use."""
    if security.sasl is None or security.sasl.password is None:
        raise ConfigError("set_sasl_credentials() needs sasl.mechanism=PLAIN or SCRAM: nothing here has a password.")
    given = {"sasl.username": username, "sasl.password": password}
    _require({key: value for key, value in given.items() if value is not None}, given, "set_sasl_credentials()")
    name, secret = _text(given, "sasl.username"), _secret(given, "sasl.password")
    assert name
    return replace(security, sasl=replace(security.sasl, username=name, password=secret))


def split_security(config: Mapping[str, Any]) -> tuple[Security, dict[str, Any]]:
    """What a configuration says about security, and the rest of it. Raises as `Security.from_dict` does."""
    dotted = with_dots(config, keys.ALL)
    given = {key: value for key, value in dotted.items() if key in keys.ALL and value is not None}
    rest = {key: value for key, value in dotted.items() if key not in keys.ALL}
    return _security(given) if given else PLAINTEXT, rest


def _security(given: Mapping[str, Any]) -> Security:
    protocol = _choice(given, "security.protocol", _PROTOCOLS, "plaintext")
    uses_tls, uses_sasl = protocol.endswith("ssl"), protocol.startswith("sasl")
    if not uses_tls:
        _refuse(given, keys.TLS, f"security.protocol={protocol} has no TLS")
    if not uses_sasl:
        _refuse(given, keys.SASL, f"security.protocol={protocol} has no SASL")
    return Security(tls=_tls(given) if uses_tls else None, sasl=_sasl(given) if uses_sasl else None)


def _refuse(given: Mapping[str, Any], useless: Iterable[str], why: str) -> None:
    """A setting that nobody acts on is a mistake, and about security a dangerous one."""
    if idle := [key for key in useless if key in given]:
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
        certificate_pem=_secret(given, "ssl.certificate.pem"),
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
        _refuse(given, keys.PASSWORD, "OAUTHBEARER takes a token")
        endpoint = _text(given, f"{keys.BEARER}token.endpoint.url")
        return Sasl(mechanism=mechanism, tokens=_tokens(given), token_endpoint=endpoint)
    _refuse(given, keys.TOKEN, f"{mechanism} takes a password")
    _require(given, keys.PASSWORD, f"sasl.mechanism={mechanism}")
    username, password = _text(given, "sasl.username"), _secret(given, "sasl.password")
    assert username
    return Sasl(mechanism=mechanism, username=username, password=password)


def _mechanism(given: Mapping[str, Any]) -> str:
    named = {_word(given[key]).upper() for key in ("sasl.mechanism", "sasl.mechanisms") if key in given}
    if len(named) > 1:
        raise ConfigError(f"sasl.mechanism and sasl.mechanisms differ: {' and '.join(sorted(named))}.")
    mechanism = named.pop() if named else "GSSAPI, librdkafka's default"
    if mechanism not in _MECHANISMS:
        raise ConfigError(
            f"sasl.mechanism must be one of {', '.join(_MECHANISMS)}; {mechanism[:100]} is not supported."
        )
    return mechanism


def _tokens(given: Mapping[str, Any]) -> TokenCache:
    method = _choice(given, f"{keys.BEARER}method", ("default", "oidc"), "default")
    if method == "oidc":
        _refuse(given, ("oauth_cb", f"{keys.BEARER}config"), f"{keys.BEARER}method=oidc asks the token endpoint")
        return TokenCache(_oidc(given))
    _refuse(given, keys.OIDC, f"{keys.BEARER}method is not oidc")
    callback: Callable[[str], Any] | None = given.get("oauth_cb")
    if not callable(callback):
        raise ConfigError(f"OAUTHBEARER needs oauth_cb, a function that returns a token, or {keys.BEARER}method=oidc.")
    return TokenCache(CallbackTokens(callback, _secret(given, f"{keys.BEARER}config")))


def _oidc(given: Mapping[str, Any]) -> Callable[[], Token]:
    from membership_client.security.oidc import OidcTokens  # noqa: PLC0415 - loads an HTTP client
    from membership_client.security.tls_context import check_trust  # noqa: PLC0415 - loads ssl

    _require(given, keys.OIDC[:3], f"{keys.BEARER}method=oidc")
    url, secret = _text(given, f"{keys.BEARER}token.endpoint.url"), _secret(given, f"{keys.BEARER}client.secret")
    assert url
    assert secret
    ca_location, ca_pem = _text(given, "https.ca.location"), _text(given, "https.ca.pem")
    check_trust(ca_location, ca_pem, "https.ca")
    if not url.startswith(("https://", "http://")) or "@" in url:
        raise ConfigError(f"{keys.BEARER}token.endpoint.url must begin with https:// or http://, and hold no password.")
    return OidcTokens(
        url=url,
        client_id=_text(given, f"{keys.BEARER}client.id") or "",
        client_secret=secret,
        scope=_text(given, f"{keys.BEARER}scope"),
        extensions=_extensions(_text(given, f"{keys.BEARER}extensions") or ""),
        ca_location=ca_location,
        ca_pem=ca_pem,
    )


def _extensions(text: str) -> dict[str, str]:
    pairs = [pair.partition("=") for pair in text.split(",") if pair]
    if not all(name.isalpha() and equals for name, equals, _ in pairs):
        raise ConfigError(
            f"{keys.BEARER}extensions must be name=value pairs separated by commas, the names letters only."
        )
    return {name: value for name, _, value in pairs}


# --- values ----------------------------------------------------------------------------------------------------------


def _require(given: Mapping[str, Any], needed: Iterable[str], why: str) -> None:
    if missing := [key for key in needed if key not in given]:
        raise ConfigError(f"{' and '.join(missing)} must be set: {why} needs {'it' if len(missing) == 1 else 'them'}.")


def _choice(given: Mapping[str, Any], key: str, choices: tuple[str, ...], default: str) -> str:
    value = _word(given.get(key, default)).lower()
    if value not in choices:
        raise ConfigError(f"{key} must be one of {', '.join(choices)}, not {shown(value)}.")
    return value


def _word(value: object) -> str:
    """A word, or what librdkafka takes for one: True, False, 1, 0."""
    return str(value) if isinstance(value, str | bool) or value in (0, 1) else shown(value)


def _text(given: Mapping[str, Any], key: str) -> str | None:
    """Its value is not shown, whatever it is: people put things into the wrong key."""
    value = given.get(key)
    if value is not None and not (isinstance(value, str) and value.strip() and _can_be_sent(value)):
        raise ConfigError(f"{key} must be a non-empty string, and have a form in UTF-8.")
    return value


def _can_be_sent(text: str) -> bool:
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False


def _secret(given: Mapping[str, Any], key: str) -> Secret | None:
    text = _text(given, key)
    return None if text is None else Secret(text)


def _flag(given: Mapping[str, Any], key: str) -> bool:
    """As librdkafka reads it: a bool, or a word for one."""
    return _choice(given, key, ("true", "t", "1", "false", "f", "0"), "true") in {"true", "t", "1"}
