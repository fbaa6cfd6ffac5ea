"""A configuration by librdkafka's keys as options of Spark's own Kafka source, which takes those of Kafka's Java consumer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from membership_client import ConfigError, Security

_DEFAULTS = {"allow.auto.create.topics": "false", "isolation.level": "read_committed"}
"""librdkafka's, where Java has others."""

_NAMES = {
    "allow.auto.create.topics": "allow.auto.create.topics",
    "bootstrap.servers": "bootstrap.servers",
    "metadata.broker.list": "bootstrap.servers",
    "check.crcs": "check.crcs",
    "client.dns.lookup": "client.dns.lookup",
    "client.rack": "client.rack",
    "fetch.max.bytes": "fetch.max.bytes",
    "fetch.message.max.bytes": "max.partition.fetch.bytes",
    "fetch.min.bytes": "fetch.min.bytes",
    "fetch.wait.max.ms": "fetch.max.wait.ms",
    "isolation.level": "isolation.level",
    "max.partition.fetch.bytes": "max.partition.fetch.bytes",
}
"""Keys with a counterpart, and its name."""

_LEFT_OUT = (
    "api.version.",
    "auto.offset.reset",
    "background.event.",
    "broker.address.ttl",
    "broker.version.",
    "client.software.",
    "connections.max.idle.ms",
    "consume.callback.",
    "coordinator.",
    "debug",
    "enable.auto.",
    "enable.metrics.push",
    "enable.partition.eof",
    "error_cb",
    "fetch.error.",
    "fetch.queue.",
    "group.id",
    "internal.",
    "log",
    "max.in.flight",
    "message.",
    "metadata.",
    "opaque",
    "queued.",
    "receive.message.",
    "reconnect.",
    "retry.",
    "socket.",
    "statistics.",
    "stats_cb",
    "throttle_cb",
    "topic.metadata.",
    "trace.",
)
"""Prefixes of keys of librdkafka's own working, and of the group: without them the same records are read."""


class NotTranslatableError(ConfigError):
    """A part of the configuration has no counterpart in Kafka's Java client."""


def java_options(config: Mapping[str, Any]) -> dict[str, str]:
    """The options, each with the prefix `kafka.`. They may have secrets; NotTranslatableError shows none."""
    given = {key: value for key, value in config.items() if value is not None}
    security = Security.from_dict({key: value for key, value in given.items() if key in Security.KEYS})
    rest = {key: value for key, value in given.items() if key not in Security.KEYS}
    known = _DEFAULTS | _translated(rest) | _security(security)
    return {f"kafka.{key}": value for key, value in known.items()}


def has_secrets(options: Mapping[str, str]) -> bool:
    """Whether any of the options is one that must not be shown."""
    return any(key.endswith(("jaas.config", ".password", ".key")) for key in options)


def _translated(given: Mapping[str, Any]) -> dict[str, str]:
    for key in sorted(given.keys() - _NAMES.keys()):
        if not key.startswith(_LEFT_OUT):
            raise NotTranslatableError(f"{key} has no counterpart in Kafka's Java client")
    return {_NAMES[key]: _word(key, value) for key, value in given.items() if key in _NAMES}


def _word(key: str, value: object) -> str:
    """Java spells its words in lower case, and librdkafka takes any."""
    return str(value).lower() if isinstance(value, bool) or key == "isolation.level" else str(value)


def _security(security: Security) -> dict[str, str]:
    found = {"security.protocol": security.protocol.upper()}
    return found | _trust(security) | _identity(security) | _login(security)


# --- TLS: certificates as texts, so that executors need no files -----------------------------------------------------


def _trust(security: Security) -> dict[str, str]:
    if (tls := security.tls) is None:
        return {}
    if not tls.verifies:
        raise NotTranslatableError("Java always verifies certificates (enable.ssl.certificate.verification=false)")
    if tls.crl_location or tls.cipher_suites:
        raise NotTranslatableError("ssl.crl.location and ssl.cipher.suites have no counterpart in Kafka's Java client")
    authorities = tls.ca_pem or _read(tls.ca_location)
    if authorities is None:
        raise NotTranslatableError(
            "Java does not trust the authorities of the system, but its own: name them in ssl.ca.location"
        )
    checked = {} if tls.checks_host else {"ssl.endpoint.identification.algorithm": ""}
    return {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": authorities, **checked}


def _identity(security: Security) -> dict[str, str]:
    if (tls := security.tls) is None:
        return {}
    if tls.store_location and tls.store_password:
        return {
            "ssl.keystore.type": "PKCS12",
            "ssl.keystore.location": tls.store_location,
            "ssl.keystore.password": tls.store_password.reveal(),
        }
    chain = tls.certificate_pem.reveal() if tls.certificate_pem else _read(tls.certificate_location)
    key = tls.key_pem.reveal() if tls.key_pem else _read(tls.key_location)
    if chain is None or key is None:
        return {}
    if "-----BEGIN PRIVATE KEY-----" not in key:
        raise NotTranslatableError(
            "of keys in PEM, Java reads those in PKCS#8 without a password (openssl pkcs8 -topk8 -nocrypt)"
        )
    return {"ssl.keystore.type": "PEM", "ssl.keystore.certificate.chain": chain, "ssl.keystore.key": key}


def _read(location: str | None) -> str | None:
    """The text of a file of PEM; None without one."""
    if location in {None, "probe"}:
        return None
    path = Path(str(location))
    if path.is_dir():
        raise NotTranslatableError(f"{location} is a directory: name a file with the certificates")
    return path.read_text()


# --- SASL ------------------------------------------------------------------------------------------------------------


def _login(security: Security) -> dict[str, str]:
    if (sasl := security.sasl) is None:
        return {}
    if sasl.password is None:
        raise NotTranslatableError(f"sasl.mechanism={sasl.mechanism} would need settings of the executors' JVMs")
    module = "plain.PlainLoginModule" if sasl.mechanism == "PLAIN" else "scram.ScramLoginModule"
    named = f"username={_quoted(sasl.username)} password={_quoted(sasl.password.reveal())}"
    return {
        "sasl.mechanism": sasl.mechanism,
        "sasl.jaas.config": f"org.apache.kafka.common.security.{module} required {named};",
    }


_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"})


def _quoted(text: str) -> str:
    """As Java's StreamTokenizer reads a string, with which Kafka reads an entry of JAAS."""
    return f'"{text.translate(_ESCAPES)}"'
