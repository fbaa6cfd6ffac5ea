"""`Security`: the security part of a configuration, checked completely when it is made; and warnings about its weaknesses."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from membership_client.arguments import checked_instance, optional, shown, with_dots
from membership_client.errors import ConfigError
from membership_client.security import keys
from membership_client.security.keys import Given, choice, flag, refuse, require, secret, text, word
from membership_client.security.secret import Secret
from membership_client.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from membership_client.security.conversations import Kerberos
    from membership_client.security.tokens import TokenCache


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """TLS settings; `tls_context.context_of` makes an SSLContext from them."""

    ca_location: str | None = None
    """A file or a directory of PEM certificates; None or `probe` uses the authorities of the system."""
    ca_pem: str | None = field(default=None, repr=False)
    crl_location: str | None = None
    """A PEM file with certificates that were revoked."""
    certificate_location: str | None = None
    certificate_pem: Secret | None = None
    """Held as a Secret, because some files have the private key beside the certificate."""
    key_location: str | None = None
    key_pem: Secret | None = None
    key_password: Secret | None = None
    store_location: str | None = None
    """A PKCS#12 file with certificate and key, in place of the fields above."""
    store_password: Secret | None = None
    cipher_suites: str | None = None
    """Cipher suites of TLS 1.2 and older, by OpenSSL's names; None for OpenSSL's default."""
    verifies: bool = True
    """Whether the broker's certificate is verified."""
    checks_host: bool = True
    """Whether the certificate must name the host of the connection."""

    @property
    def has_certificate(self) -> bool:
        return bool(self.certificate_location or self.certificate_pem)

    @property
    def has_key(self) -> bool:
        return bool(self.key_location or self.key_pem)


_PROTOCOLS = ("plaintext", "ssl", "sasl_plaintext", "sasl_ssl")
_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sasl:
    """The SASL mechanism and its credentials: a password, tokens, or a Kerberos ticket."""

    mechanism: str
    username: str = ""
    password: Secret | None = None
    tokens: TokenCache | None = None
    kerberos: Kerberos | None = None
    token_endpoint: str | None = field(default=None, repr=False)
    """URL of the token endpoint on the network, or None. It is not in the repr, because its query may hold a secret."""
    is_signed: bool = True
    """False for tokens without a signature, which anyone can make."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Security:
    """How connections to brokers are encrypted and authenticated. Immutable; shows no secret, and with one cannot be pickled.

        plain = {"security.protocol": "sasl_ssl", "sasl.mechanism": "PLAIN", "sasl.username": "till", "sasl.password": "pears"}
        member = GroupMember(
            {"bootstrap.servers": "localhost:9092", "group.id": "tills"}, security=Security.from_dict(plain)
        )
        member.close()

    Without `tls` nothing is encrypted. Without `sasl` the client is authenticated by its certificate, or not at all.
    """

    KEYS: ClassVar[frozenset[str]] = keys.ALL
    """The configuration keys for security, with dots."""

    tls: Tls | None = None
    sasl: Sasl | None = None

    def __post_init__(self) -> None:
        optional(lambda name, value: checked_instance(name, value, Tls), "tls", self.tls)
        optional(lambda name, value: checked_instance(name, value, Sasl), "sasl", self.sasl)

    @classmethod
    def from_dict(cls, config: Mapping[str, Any]) -> Security:
        """From librdkafka's keys for security, dotted or snake_case.

        Raises:
            ConfigError: a key is unknown, missing, contradicts another, or names a file that cannot be read. Shows no secret.
        """
        security, rest = split_security(config)
        if rest:
            raise ConfigError(f"{', '.join(map(shown, rest))}: not a configuration key for security.")
        return security

    @property
    def protocol(self) -> str:
        """The value of security.protocol, in lower case."""
        return ("sasl_" if self.sasl else "") + ("ssl" if self.tls else "plaintext")


PLAINTEXT = Security()


def with_password(security: Security, username: object, password: object) -> Security:
    """`security` with a new user and password. Raises ConfigError, which shows neither, if they cannot be used."""
    if security.sasl is None or security.sasl.password is None:
        raise ConfigError(
            "set_sasl_credentials() needs sasl.mechanism=PLAIN or SCRAM: this configuration has no password."
        )
    given = {"sasl.username": username, "sasl.password": password}
    require({key: value for key, value in given.items() if value is not None}, given, "set_sasl_credentials()")
    name, changed = text(given, "sasl.username"), secret(given, "sasl.password")
    assert name
    return replace(security, sasl=replace(security.sasl, username=name, password=changed))


def split_security(config: Mapping[str, Any]) -> tuple[Security, dict[str, Any]]:
    """The security part of a configuration, and its other keys. Raises the errors of `Security.from_dict`."""
    dotted = with_dots(config, keys.ALL)
    given = {key: value for key, value in dotted.items() if key in keys.ALL and value is not None}
    rest = {key: value for key, value in dotted.items() if key not in keys.ALL}
    return _security(_with_first_names(given)) if given else PLAINTEXT, rest


def _with_first_names(given: Given) -> Given:
    """`given` with the main names of its keys. ConfigError if a key is set under two names with different values."""
    for second, first in keys.ALIASES.items():
        if first in given and second in given and word(given[first]).upper() != word(given[second]).upper():
            raise ConfigError(
                f"{first} and {second} are two names of one key and have different values: set one of them."
            )
    return {keys.ALIASES.get(key, key): value for key, value in given.items()}


def _security(given: Given) -> Security:
    protocol = choice(given, "security.protocol", _PROTOCOLS, "plaintext")
    uses_tls, uses_sasl = protocol.endswith("ssl"), protocol.startswith("sasl")
    if not uses_tls:
        refuse(given, keys.TLS, f"security.protocol={protocol} has no TLS")
    if not uses_sasl:
        refuse(given, keys.SASL, f"security.protocol={protocol} has no SASL")
    return Security(tls=_tls(given) if uses_tls else None, sasl=_sasl(given) if uses_sasl else None)


# --- TLS -------------------------------------------------------------------------------------------------------------


def _tls(given: Given) -> Tls:
    for kind in ("ca", "certificate", "key"):
        if f"ssl.{kind}.location" in given and f"ssl.{kind}.pem" in given:
            raise ConfigError(f"ssl.{kind}.location and ssl.{kind}.pem are both set: set one of them.")
    identification = choice(given, "ssl.endpoint.identification.algorithm", ("https", "none"), "https")
    tls = Tls(
        ca_location=text(given, "ssl.ca.location"),
        ca_pem=text(given, "ssl.ca.pem"),
        crl_location=text(given, "ssl.crl.location"),
        certificate_location=text(given, "ssl.certificate.location"),
        certificate_pem=secret(given, "ssl.certificate.pem"),
        key_location=text(given, "ssl.key.location"),
        key_pem=secret(given, "ssl.key.pem"),
        key_password=secret(given, "ssl.key.password"),
        store_location=text(given, "ssl.keystore.location"),
        store_password=secret(given, "ssl.keystore.password"),
        cipher_suites=text(given, "ssl.cipher.suites"),
        verifies=flag(given, "enable.ssl.certificate.verification"),
        checks_host=identification == "https",
    )
    _check_certificate(tls)
    from membership_client.security.tls_context import context_of  # noqa: PLC0415 - loads ssl

    context_of(tls)  # Raises ConfigError if a file cannot be used.
    return tls


def _check_certificate(tls: Tls) -> None:
    if tls.has_certificate != tls.has_key:
        missing = "certificate" if tls.has_key else "key"
        raise ConfigError(f"ssl.{missing}.location or ssl.{missing}.pem is missing: certificate and key go together.")
    if tls.key_password and not tls.has_key:
        raise ConfigError("ssl.key.password is set, but neither ssl.key.location nor ssl.key.pem.")
    if (tls.store_location is None) != (tls.store_password is None):
        raise ConfigError("ssl.keystore.location and ssl.keystore.password go together: one of them is missing.")
    if tls.store_location and tls.has_certificate:
        raise ConfigError("ssl.keystore.location and ssl.certificate.* are both set: set one of them.")


# --- SASL ------------------------------------------------------------------------------------------------------------


def _sasl(given: Given) -> Sasl:
    mechanism = _mechanism(given)
    if mechanism != "GSSAPI":
        refuse(given, keys.KERBEROS, f"{mechanism} is not Kerberos")
    if mechanism == "OAUTHBEARER":
        refuse(given, keys.PASSWORD, "OAUTHBEARER takes a token")
        return _bearer(given)
    if mechanism == "GSSAPI":
        refuse(given, (*keys.PASSWORD, *keys.TOKEN), "GSSAPI takes a ticket of Kerberos")
        return Sasl(mechanism=mechanism, kerberos=_kerberos(given))
    refuse(given, keys.TOKEN, f"{mechanism} takes a password")
    require(given, keys.PASSWORD, f"sasl.mechanism={mechanism}")
    username, password = text(given, "sasl.username"), secret(given, "sasl.password")
    assert username
    return Sasl(mechanism=mechanism, username=username, password=password)


def _mechanism(given: Given) -> str:
    mechanism = word(given.get("sasl.mechanism", "GSSAPI")).upper()
    if mechanism not in _MECHANISMS:
        raise ConfigError(
            f"sasl.mechanism must be one of {', '.join(_MECHANISMS)}; {mechanism[:100]} is not supported."
        )
    return mechanism


def _bearer(given: Given) -> Sasl:
    from membership_client.security.bearer import token_source  # noqa: PLC0415 - only tokens need it
    from membership_client.security.tokens import TokenCache  # noqa: PLC0415

    source = token_source(given)
    return Sasl(
        mechanism="OAUTHBEARER",
        tokens=TokenCache(source.fetch),
        token_endpoint=source.endpoint,
        is_signed=source.is_signed,
    )


def _kerberos(given: Given) -> Kerberos:
    from membership_client.security.conversations import Kerberos, require_gssapi  # noqa: PLC0415 - seldom needed

    default = " (librdkafka's default, because sasl.mechanism is not set)" if "sasl.mechanism" not in given else ""
    require_gssapi(default)
    return Kerberos(
        service=text(given, "sasl.kerberos.service.name") or "kafka",
        principal=text(given, "sasl.kerberos.principal"),
        keytab=text(given, "sasl.kerberos.keytab"),
    )


# --- weaknesses ------------------------------------------------------------------------------------------------------


logger = logging.getLogger("membership_client")

_NOT_VERIFIED = (
    "enable.ssl.certificate.verification=false: certificates of brokers are not verified, so anyone in between can read "
    "and change everything. Set ssl.ca.location to the authority that has signed them."
)
_ANY_HOST = (
    "ssl.endpoint.identification.algorithm=none: a broker's certificate may be for any host, so anyone with a certificate of the "
    "same authority can act as a broker. Name the brokers' hosts in their certificates."
)
_PLAIN_PASSWORD = (
    "sasl.mechanism=PLAIN without TLS: the password crosses the network readable to anyone in between. "  # noqa: S105
    "Use security.protocol=sasl_ssl, or SCRAM."
)
_PLAIN_TOKEN = (
    "sasl.mechanism=OAUTHBEARER without TLS: the token crosses the network readable to anyone in between. "  # noqa: S105
    "Use security.protocol=sasl_ssl."
)
_PLAIN_ENDPOINT = (
    "sasl.oauthbearer.token.endpoint.url is http: the tokens, and the client's secret if there is one, cross the network "
    "readable to anyone in between. Use https."
)

_UNSECURED_TOKEN = (
    "enable.sasl.oauthbearer.unsecure.jwt=true: the tokens have no signature, so anyone can make one for any principal. "  # noqa: S105
    "Use it in tests only; else oauth_cb or sasl.oauthbearer.method=oidc."
)

_said: set[str] = set()


def warn_of_weaknesses(security: Security) -> None:
    """Log the weaknesses that this process has not logged yet. For any thread; shows no secret."""
    for weakness in weaknesses_of(security):
        if weakness not in _said:
            _said.add(weakness)
            logger.warning("%s", weakness)


def weaknesses_of(security: Security) -> tuple[str, ...]:
    """One text for each weakness: what it is, and what to do about it."""
    tls = security.tls
    found = [_NOT_VERIFIED] if tls is not None and not tls.verifies else []
    if tls is not None and tls.verifies and not tls.checks_host:
        found.append(_ANY_HOST)
    if security.sasl is not None:
        found += _of_sasl(security.sasl, is_plain=tls is None)
    return tuple(found)


def _of_sasl(sasl: Sasl, *, is_plain: bool) -> Iterator[str]:
    if is_plain and sasl.mechanism == "PLAIN":
        yield _PLAIN_PASSWORD
    if is_plain and sasl.tokens is not None:
        yield _PLAIN_TOKEN
    if not sasl.is_signed:
        yield _UNSECURED_TOKEN
    if sasl.token_endpoint is not None and sasl.token_endpoint.lower().startswith("http:"):
        yield _PLAIN_ENDPOINT
