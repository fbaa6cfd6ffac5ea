"""One broker with a listener for each mechanism."""

from __future__ import annotations

import base64
import contextlib
import json
import socket
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from membership_client.testing import ClusterAdmin, KafkaCluster, Listener
from tests.security.assertions import AUDIENCE, PASSPHRASE, locked_pem, rsa_key
from tests.security.certificates import KEY_PASSWORD, STORE_PASSWORD, Certificates

PATIENCE_S = 40.0
"""How long a fact may take on a machine that runs everything else at once."""

USER = "alice"
PLAIN_PASSWORD = "plain-password-Qv37"
SCRAM_PASSWORD = "scram, password=Wt52"
CLIENT_SECRET = "client-secret-Ky94"
CALLBACK_CONFIG = "callback-config-Zr81"
RENEWED_EVERY_MS = 6000

LISTENERS = {
    "TLS": Listener("SSL"),
    "MUTUAL": Listener("SSL"),
    "OTHERHOST": Listener("SSL"),
    "EXPIRED": Listener("SSL"),
    "SASLTLS": Listener("SASL_SSL"),
    "SASL": Listener("SASL_PLAINTEXT"),
    "SHORT": Listener("SASL_SSL"),
    "FEW": Listener("SASL_PLAINTEXT"),
    "LOST": Listener("PLAINTEXT", advertised="127.0.0.1:1"),
}


def has_ipv6() -> bool:
    """Whether this machine has ::1."""
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


if has_ipv6():
    LISTENERS["SIX"] = Listener("PLAINTEXT", host="[::1]")


def make_token(life_s: float = 3600, subject: str = USER) -> str:
    """An unsecured JWS: what it proves is nothing, which is enough to be let in here.

    Issued at a whole second: a fraction is rounded by the broker, who then finds it in the future.
    """
    now = time.time()
    claims = {"sub": subject, "iat": int(now), "exp": now + life_s, "jti": f"token-{uuid.uuid4().hex}"}
    return f"{_base64({'alg': 'none'})}.{_base64(claims)}."


def _base64(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


@dataclass(frozen=True, slots=True)
class SecureKafka:
    cluster: KafkaCluster
    certificates: Certificates
    admin: ClusterAdmin

    def new_topic(self, *, heartbeat_interval_ms: int = 200) -> str:
        """The group of the same name has heartbeats so often."""
        topic = f"secured-{uuid.uuid4().hex[:8]}"
        self.admin.set_group_config(
            topic, consumer_heartbeat_interval_ms=heartbeat_interval_ms, consumer_assignment_interval_ms=0
        )
        self.admin.create_topic(topic, 2)
        return topic

    def at(self, listener: str, **more: Any) -> dict[str, Any]:
        """The configuration of a client at that listener, without credentials."""
        protocol = LISTENERS[listener].protocol.lower()
        trusted = {"ssl.ca.location": str(self.certificates.authority)} if protocol.endswith("ssl") else {}
        servers = self.cluster.address_of(listener)
        dotted = {key.replace("_", "."): value for key, value in more.items() if key != "oauth_cb"}
        called = {key: value for key, value in more.items() if key == "oauth_cb"}
        return {"bootstrap.servers": servers, "security.protocol": protocol, **trusted, **dotted, **called}

    def ways_in(self, token_url: str) -> dict[str, dict[str, Any]]:
        """A configuration for each mechanism."""
        files, password = self.certificates, {"sasl_username": USER, "sasl_password": SCRAM_PASSWORD}
        plain = {"sasl_mechanism": "PLAIN", "sasl_username": USER, "sasl_password": PLAIN_PASSWORD}
        oidc = {
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.client.id": USER,
            "sasl.oauthbearer.client.secret": CLIENT_SECRET,
            "sasl.oauthbearer.token.endpoint.url": token_url,
            "sasl.oauthbearer.scope": "kafka",
        }
        certificate = {"ssl.certificate.location": str(files.certificate)}
        return {
            "tls": self.at("TLS"),
            "certificate": self.at("MUTUAL") | certificate | {"ssl.key.location": str(files.key)},
            "locked-key": self.at("MUTUAL")
            | certificate
            | {"ssl.key.location": str(files.locked_key), "ssl.key.password": KEY_PASSWORD},
            "pem-strings": {key: value for key, value in self.at("MUTUAL").items() if key != "ssl.ca.location"}
            | {
                "ssl.ca.pem": files.authority.read_text(),
                "ssl.certificate.pem": files.certificate.read_text(),
                "ssl.key.pem": files.locked_key_pem,
                "ssl.key.password": KEY_PASSWORD,
            },
            "key-store": self.at("MUTUAL")
            | {"ssl.keystore.location": str(files.key_store), "ssl.keystore.password": STORE_PASSWORD},
            "plain": self.at("SASLTLS", **plain),
            "plain-in-the-clear": self.at("SASL", **plain),
            "scram-256": self.at("SASLTLS", sasl_mechanism="SCRAM-SHA-256", **password),
            "scram-512": self.at("SASLTLS", sasl_mechanisms="SCRAM-SHA-512", **password),
            "token": self.at("SASLTLS", sasl_mechanism="OAUTHBEARER", oauth_cb=give_token)
            | {"sasl.oauthbearer.config": CALLBACK_CONFIG},
            "oidc": self.at("SASL", sasl_mechanism="OAUTHBEARER") | oidc,
            "jwt-bearer": self.at("SASL", sasl_mechanism="OAUTHBEARER")
            | {
                "sasl.oauthbearer.method": "oidc",
                "sasl.oauthbearer.grant.type": "urn:ietf:params:oauth:grant-type:jwt-bearer",
                "sasl.oauthbearer.token.endpoint.url": token_url,
                "sasl.oauthbearer.assertion.private.key.pem": locked_pem(rsa_key()),
                "sasl.oauthbearer.assertion.private.key.passphrase": PASSPHRASE,
                "sasl.oauthbearer.assertion.claim.aud": AUDIENCE,
                "sasl.oauthbearer.assertion.claim.iss": USER,
                "sasl.oauthbearer.assertion.claim.sub": USER,
            },
            "azure": self.at("SASL", sasl_mechanism="OAUTHBEARER")
            | {
                "sasl.oauthbearer.method": "oidc",
                "sasl.oauthbearer.metadata.authentication.type": "azure_imds",
                "sasl.oauthbearer.token.endpoint.url": token_url,
                "sasl.oauthbearer.config": "query=api-version=2018-02-01&resource=api://kafka",
            },
            "unsecured": self.at("SASL", sasl_mechanism="OAUTHBEARER")
            | {
                "enable.sasl.oauthbearer.unsecure.jwt": "true",
                "sasl.oauthbearer.config": f"principal={USER} lifeSeconds=600 scope=kafka",
            },
        }


def give_token(config: str) -> tuple[str, float]:
    """Returns a token as an application's `oauth_cb` does."""
    assert config == CALLBACK_CONFIG
    return make_token(), time.time() + 3600


WAYS_IN = (
    "tls",
    "certificate",
    "locked-key",
    "pem-strings",
    "plain",
    "plain-in-the-clear",
    "scram-256",
    "scram-512",
    "token",
    "oidc",
)
RARE_WAYS_IN = ("key-store", "jwt-bearer", "azure", "unsecured")
"""Whose tests are in the deep tier."""


@contextlib.contextmanager
def secure_kafka(directory: Path) -> Iterator[SecureKafka]:
    certificates = Certificates(directory)
    with KafkaCluster(settings=_settings(certificates), listeners=LISTENERS) as cluster:
        _add_scram_user(cluster.bootstrap_servers)
        yield SecureKafka(cluster, certificates, ClusterAdmin(cluster.bootstrap_servers))


def _settings(certificates: Certificates) -> dict[str, str | int]:
    good = certificates.server("localhost", "127.0.0.1")
    return {
        "num.network.threads": 1,
        **_prefixed("tls", good),
        **_prefixed("mutual", good | {"ssl.client.auth": "required"}),
        **_prefixed("otherhost", certificates.server("other.test")),
        **_prefixed("expired", certificates.server("localhost", "127.0.0.1", expired=True)),
        **_prefixed("sasltls", good | _sasl()),
        **_prefixed("sasl", _sasl()),
        **_prefixed("short", good | _sasl() | {"connections.max.reauth.ms": RENEWED_EVERY_MS}),
        **_prefixed("few", _sasl("PLAIN")),
    }


def _sasl(mechanisms: str = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER") -> dict[str, str | int]:
    package = "org.apache.kafka.common.security"
    return {
        "sasl.enabled.mechanisms": mechanisms,
        "plain.sasl.jaas.config": f'{package}.plain.PlainLoginModule required user_{USER}="{PLAIN_PASSWORD}";',
        "scram-sha-256.sasl.jaas.config": f"{package}.scram.ScramLoginModule required;",
        "scram-sha-512.sasl.jaas.config": f"{package}.scram.ScramLoginModule required;",
        "oauthbearer.sasl.jaas.config": (
            f'{package}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";'
        ),
    }


def _prefixed(listener: str, settings: dict[str, Any]) -> dict[str, str | int]:
    return {f"listener.name.{listener}.{key}": value for key, value in settings.items()}


def _add_scram_user(bootstrap_servers: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 0})
    for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
        user = UserScramCredentialUpsertion(USER, ScramCredentialInfo(mechanism, 4096), SCRAM_PASSWORD.encode())
        for future in admin.alter_user_scram_credentials([user]).values():
            future.result(30)
