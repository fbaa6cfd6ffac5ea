"""A key store of Java's: who we are, for brokers that want to know.

Java's own keytool copies the private key into a PKCS#12 file of its own, locked with a password that was drawn for it and
that nobody else has. In that file the key is an encrypted PKCS#8, which OpenSSL takes as it is: the key is never in the
clear on a disk, and not in this process either until OpenSSL opens it.
"""

from __future__ import annotations

import re
import secrets
import tempfile
from dataclasses import dataclass
from pathlib import Path

from asn1crypto import pem, pkcs12

from membership_client.admin.java.keytool import certificates_in, run_keytool
from membership_client.errors import ConfigError

_ENTRY = re.compile(r"^Alias name: (.*?)\n(.*?)(?=^Alias name: |\Z)", re.MULTILINE | re.DOTALL)
_IS_KEY = re.compile(r"^Entry type: PrivateKeyEntry", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyStore:
    """As its file is described by ssl.keystore.* and ssl.key.password."""

    location: str
    kind: str
    password: str
    key_password: str | None

    def __repr__(self) -> str:
        return f"KeyStore({self.location!r}, {self.kind})"

    @property
    def complaint(self) -> str:
        return f"ssl.keystore.location: {self.location} cannot be read as {self.kind}"


def identity(keytool: str, store: KeyStore) -> dict[str, str]:
    """Certificates and encrypted private key as PEM, and what opens it, by librdkafka's keys. ConfigError."""
    # keytool would pass over the second password, and so hide a mistake that stops Kafka's own tools.
    if store.kind == "PKCS12" and store.key_password not in {None, store.password}:
        raise ConfigError("ssl.key.password differs from ssl.keystore.password: a PKCS12 store has one for both.")
    alias, chain = _only_key(keytool, store)
    password = secrets.token_urlsafe(32)
    return {
        "ssl.certificate.pem": "\n".join(chain) + "\n",
        "ssl.key.pem": _locked_key(_copy(keytool, store, alias, password)),
        "ssl.key.password": password,
    }


def _only_key(keytool: str, store: KeyStore) -> tuple[str, list[str]]:
    """Its alias, and its certificates, our own first."""
    listing = run_keytool(
        keytool,
        ["-list", "-rfc", "-keystore", store.location, "-storetype", store.kind],
        {"-storepass": store.password},
        store.complaint,
    )
    keys = {alias: certificates_in(entry) for alias, entry in _ENTRY.findall(listing) if _IS_KEY.search(entry)}
    if len(keys) != 1:
        found = f"{len(keys)} private keys ({', '.join(keys)})" if keys else "no private key"
        raise ConfigError(f"{store.location} has {found}: there must be one, so that it is clear who we are.")
    return next(iter(keys.items()))


def _copy(keytool: str, store: KeyStore, alias: str, password: str) -> bytes:
    """A PKCS#12 file with this key alone."""
    # In a directory that only this user enters, and gone on return.
    with tempfile.TemporaryDirectory(prefix="membership-client-") as directory:
        copy = Path(directory) / "key.p12"
        run_keytool(
            keytool,
            [
                *("-importkeystore", "-noprompt", "-srckeystore", store.location, "-srcstoretype", store.kind),
                *("-srcalias", alias, "-destkeystore", str(copy), "-deststoretype", "PKCS12"),
            ],
            {
                "-srcstorepass": store.password,
                "-srckeypass": store.key_password or store.password,
                "-deststorepass": password,
            },
            f"{store.complaint}, or ssl.key.password does not open its key",
        )
        return copy.read_bytes()


def _locked_key(store: bytes) -> str:
    """Out of a PKCS#12 file as keytool writes it: only the certificates are encrypted as a whole, and the key by itself."""
    parts = pkcs12.Pfx.load(store).authenticated_safe
    readable = (part["content"].native for part in parts if part["content_type"].native == "data")
    bags = (bag for content in readable for bag in pkcs12.SafeContents.load(content))
    key = next(bag["bag_value"] for bag in bags if bag["bag_id"].native == "pkcs8_shrouded_key_bag")
    armored: bytes = pem.armor("ENCRYPTED PRIVATE KEY", key.untag().dump())
    return armored.decode()
