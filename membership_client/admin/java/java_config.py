"""Reads a client.properties file of Kafka's own tools, and translates it to librdkafka's keys."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from membership_client.admin.java.key_store import find_keytool, trusted_certificates
from membership_client.errors import ConfigError

_SAME = frozenset(
    {
        "bootstrap.servers",
        "client.id",
        "request.timeout.ms",
        "sasl.mechanism",
        "sasl.oauthbearer.token.endpoint.url",
        "ssl.key.password",
    }
)
_IDLE = (
    "sasl.kerberos.",
    "sasl.login.refresh.",
    "ssl.enabled.protocols",
    "ssl.keymanager.algorithm",
    "ssl.protocol",
    "ssl.secure.random.implementation",
    "ssl.trustmanager.algorithm",
)
"""Prefixes of ignored keys: they configure Java's own TLS, or Kerberos, which `_sasl` refuses."""

_OPTION = re.compile(r"""([\w.]+)\s*=\s*(?:"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'|([^\s;]+))""")
_PEM = (
    "openssl pkcs12 -in store.p12 -out store.pem (for a JKS store first: keytool -importkeystore -srckeystore "
    "store.jks -destkeystore store.p12 -deststoretype PKCS12)"
)


def from_java(properties: Mapping[str, str]) -> dict[str, str]:
    """The configuration with librdkafka's keys. ConfigError for a key that is not supported; no error shows a secret."""
    given = {key: value.strip() for key, value in properties.items() if value.strip()}
    found = {key: value for key, value in given.items() if key in _SAME}
    if "security.protocol" in given:
        found["security.protocol"] = given["security.protocol"].lower()
    uses_tls = found.get("security.protocol", "").endswith("ssl")
    uses_sasl = found.get("security.protocol", "").startswith("sasl")
    found = {key: value for key, value in found.items() if _is_used(key, uses_tls=uses_tls, uses_sasl=uses_sasl)}
    if uses_tls:
        found |= _tls(given, properties)
    if uses_sasl:
        found |= _sasl(given)
    return found


def _is_used(key: str, *, uses_tls: bool, uses_sasl: bool) -> bool:
    """False for keys that security.protocol does not need, which Java ignores, too."""
    return (uses_tls or not key.startswith("ssl.")) and (uses_sasl or not key.startswith("sasl."))


# --- TLS -------------------------------------------------------------------------------------------------------------


def _tls(given: Mapping[str, str], properties: Mapping[str, str]) -> dict[str, str]:
    found = _trust(given) or _store(given, "truststore", {"certificates": "ssl.ca.pem"}, ("ssl.ca.location",))
    found |= _identity(given) or _store(
        given,
        "keystore",
        {"certificate.chain": "ssl.certificate.pem", "key": "ssl.key.pem"},
        ("ssl.certificate.location", "ssl.key.location"),
    )
    _refuse_unknown(given, "ssl.", _TLS_KNOWN)
    # In Java an empty value means that host names are not checked.
    if "ssl.endpoint.identification.algorithm" in properties:
        found["ssl.endpoint.identification.algorithm"] = given.get("ssl.endpoint.identification.algorithm", "none")
    return found


_TLS_KNOWN = frozenset(
    {f"ssl.{store}.{part}" for store in ("truststore", "keystore") for part in ("location", "type", "password")}
    | {"ssl.truststore.certificates", "ssl.keystore.certificate.chain", "ssl.keystore.key"}
    | {"ssl.key.password", "ssl.endpoint.identification.algorithm"}
)


def _trust(given: Mapping[str, str]) -> dict[str, str] | None:
    """Certificates of a JKS or PKCS12 trust store; None if there is no such store, or no keytool to read it."""
    location, keytool = given.get("ssl.truststore.location"), find_keytool()
    if location is None or keytool is None or _type(given, "truststore") == "PEM":
        return None
    return {"ssl.ca.pem": trusted_certificates(keytool, location, given.get("ssl.truststore.password"))}


def _identity(given: Mapping[str, str]) -> dict[str, str] | None:
    """Certificate and key of a JKS or PKCS12 key store; None if there is no such store, or no keytool to read it."""
    location, kind, keytool = given.get("ssl.keystore.location"), _type(given, "keystore"), find_keytool()
    if location is None or keytool is None or kind == "PEM":
        return None
    if (password := given.get("ssl.keystore.password")) is None:
        raise ConfigError(f"ssl.keystore.password is missing: {location} cannot be read without it.")
    from membership_client.admin.java.key_store import KeyStore, identity  # noqa: PLC0415 - loads a parser of ASN.1

    return identity(
        keytool,
        KeyStore(location=location, kind=kind, password=password, key_password=given.get("ssl.key.password")),
    )


def _type(given: Mapping[str, str], store: str) -> str:
    return given.get(f"ssl.{store}.type", "JKS").upper()


def _store(
    given: Mapping[str, str], store: str, parts: Mapping[str, str], locations: tuple[str, ...]
) -> dict[str, str]:
    """The keys for a PEM store, in a file or in the configuration itself (KIP-651). A file may hold both certificate and key."""
    location, kind = given.get(f"ssl.{store}.location"), _type(given, store)
    inline = {ours: given[f"ssl.{store}.{part}"] for part, ours in parts.items() if f"ssl.{store}.{part}" in given}
    if (location or inline) and kind != "PEM":
        raise ConfigError(
            f"ssl.{store}.type={kind}: without Java's keytool only PEM can be read. Convert the store once, {_PEM}, "
            f"and set ssl.{store}.type=PEM and ssl.{store}.location to the file."
        )
    return inline | (dict.fromkeys(locations, location) if location else {})


# --- SASL ------------------------------------------------------------------------------------------------------------


def _sasl(given: Mapping[str, str]) -> dict[str, str]:
    mechanism = given.get("sasl.mechanism", "GSSAPI").upper()
    if mechanism == "GSSAPI":
        raise ConfigError(
            "sasl.mechanism=GSSAPI (Kerberos, also Java's default) is not supported: use PLAIN, SCRAM-SHA-256, "
            "SCRAM-SHA-512 or OAUTHBEARER."
        )
    _refuse_unknown(given, "sasl.", _SASL_KNOWN)
    options = _jaas(given.get("sasl.jaas.config"), mechanism)
    return _token(given, options) if mechanism == "OAUTHBEARER" else _password(options)


_SASL_KNOWN = frozenset(
    {
        "sasl.mechanism",
        "sasl.jaas.config",
        "sasl.login.callback.handler.class",
        "sasl.oauthbearer.token.endpoint.url",
        "sasl.oauthbearer.client.credentials.client.id",
        "sasl.oauthbearer.client.credentials.client.secret",
        "sasl.oauthbearer.scope",
    }
)


def _jaas(entry: str | None, mechanism: str) -> dict[str, str]:
    """The options in `...LoginModule required name="value" ...;`."""
    if entry is None:
        if mechanism == "OAUTHBEARER":
            return {}
        raise ConfigError("sasl.jaas.config is missing; a JAAS file of the JVM is not read.")
    module, options = (*entry.split(None, 1), "")[:2]
    wanted = {"PLAIN": "PlainLoginModule", "OAUTHBEARER": "OAuthBearerLoginModule"}.get(mechanism, "ScramLoginModule")
    if not module.endswith(wanted):
        raise ConfigError(f"sasl.jaas.config names {module}, but sasl.mechanism={mechanism} needs {wanted}.")
    return {m[1]: re.sub(r"\\(.)", r"\1", m[2] or m[3] or m[4] or "") for m in _OPTION.finditer(options)}


def _password(options: Mapping[str, str]) -> dict[str, str]:
    if missing := [name for name in ("username", "password") if not options.get(name)]:
        raise ConfigError(f"sasl.jaas.config has no {' and no '.join(missing)}.")
    return {"sasl.username": options["username"], "sasl.password": options["password"]}


def _token(given: Mapping[str, str], options: Mapping[str, str]) -> dict[str, str]:
    """The client-credentials flow of KIP-768; in Kafka 4.1 and later its options have keys of their own (KIP-1139)."""
    own = "sasl.oauthbearer."
    credentials = {
        f"{own}client.id": given.get(f"{own}client.credentials.client.id") or options.get("clientId"),
        f"{own}client.secret": given.get(f"{own}client.credentials.client.secret") or options.get("clientSecret"),
        f"{own}scope": given.get(f"{own}scope") or options.get("scope"),
    }
    return {f"{own}method": "oidc"} | {key: value for key, value in credentials.items() if value}


def _refuse_unknown(given: Mapping[str, str], prefix: str, known: frozenset[str]) -> None:
    """ConfigError for unknown keys, because no security key may be ignored silently."""
    ours = {key for key in given if key.startswith(prefix) and not key.startswith(_IDLE)}
    if unknown := sorted(ours - known):
        raise ConfigError(f"{', '.join(unknown)}: not supported. Remove it if the brokers do not need it.")


# --- properties files, as java.util.Properties reads them ------------------------------------------------------------


_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
# A key ends at the first separator that is not escaped; blanks may surround one = or :.
_PAIR = re.compile(r"((?:\\.|[^\\=:\s])*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|u|.)", re.DOTALL)


def read_properties(text: str) -> dict[str, str]:
    """The keys and values; the last of two equal keys wins. ConfigError for a broken escape; it does not show the value."""
    pairs = (_pair(line) for line in _logical_lines(text))
    return dict(pairs)


def _logical_lines(text: str) -> Iterator[str]:
    """Lines without comments and blank lines. A line that ends in an odd number of backslashes continues on the next."""
    begun = ""
    for line in re.split(r"\r\n|\r|\n", text):
        part = line.lstrip(" \t\f")
        if not begun and (not part or part[0] in "#!"):
            continue
        if (len(part) - len(part.rstrip("\\"))) % 2:
            begun += part[:-1]
            continue
        yield begun + part
        begun = ""
    if begun:
        yield begun


def _pair(line: str) -> tuple[str, str]:
    match = _PAIR.match(line)
    assert match is not None, "the pattern matches everything"
    key = _plain(match[1], "a key")
    return key, _plain(match[2], key)


def _plain(text: str, where: str) -> str:
    def replace(match: re.Match[str]) -> str:
        if match[1] == "u":
            raise ConfigError(f"The value of {where} has a \\u that is not followed by four hexadecimal digits.")
        if match[1][0] == "u":
            return chr(int(match[1][1:], 16))
        return _ESCAPES.get(match[1], match[1])

    return _ESCAPE.sub(replace, text)
