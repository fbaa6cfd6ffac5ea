"""Reads the client certificate and its key from a Java key store, with Java's keytool."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from asn1crypto import pem, pkcs12

from membership_client.errors import ConfigError

_ENTRY = re.compile(r"^Alias name: (.*?)\n(.*?)(?=^Alias name: |\Z)", re.MULTILINE | re.DOTALL)
_IS_KEY = re.compile(r"^Entry type: PrivateKeyEntry", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyStore:
    """The store that ssl.keystore.* and ssl.key.password describe. Its repr shows no password."""

    location: str
    kind: str
    password: str
    key_password: str | None

    def __repr__(self) -> str:
        return f"KeyStore({self.location!r}, {self.kind})"

    @property
    def failure(self) -> str:
        return f"ssl.keystore.location: {self.location} cannot be read as {self.kind}"


def identity(keytool: str, store: KeyStore) -> dict[str, str]:
    """Certificates, encrypted private key and its password, by librdkafka's keys. Raises ConfigError."""
    # keytool ignores the second password. Kafka's own tools would fail with it, so it is refused here.
    if store.kind == "PKCS12" and store.key_password not in {None, store.password}:
        raise ConfigError(
            "ssl.key.password differs from ssl.keystore.password: a PKCS12 store has one password for both."
        )
    alias, chain = _only_key(keytool, store)
    password = secrets.token_urlsafe(32)
    return {
        "ssl.certificate.pem": "\n".join(chain) + "\n",
        "ssl.key.pem": _locked_key(_copy(keytool, store, alias, password)),
        "ssl.key.password": password,
    }


def _only_key(keytool: str, store: KeyStore) -> tuple[str, list[str]]:
    """The alias of the store's only private key, and its certificates, the client's own first."""
    listing = run_keytool(
        keytool,
        ["-list", "-rfc", "-keystore", store.location, "-storetype", store.kind],
        {"-storepass": store.password},
        store.failure,
    )
    keys = {alias: certificates_in(entry) for alias, entry in _ENTRY.findall(listing) if _IS_KEY.search(entry)}
    if len(keys) != 1:
        found = f"{len(keys)} private keys ({', '.join(keys)})" if keys else "no private key"
        raise ConfigError(f"{store.location} has {found}: it must have exactly one.")
    return next(iter(keys.items()))


def _copy(keytool: str, store: KeyStore, alias: str, password: str) -> bytes:
    """The bytes of a PKCS#12 file that holds only this key."""
    # The directory is readable by this user only, and is deleted on return.
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
            f"{store.failure}, or ssl.key.password does not open its key",
        )
        return copy.read_bytes()


def _locked_key(store: bytes) -> str:
    """The encrypted key, as PEM, of a PKCS#12 file that keytool wrote. keytool encrypts the key separately."""
    parts = pkcs12.Pfx.load(store).authenticated_safe
    readable = (part["content"].native for part in parts if part["content_type"].native == "data")
    bags = (bag for content in readable for bag in pkcs12.SafeContents.load(content))
    key = next(bag["bag_value"] for bag in bags if bag["bag_id"].native == "pkcs8_shrouded_key_bag")
    armored: bytes = pem.armor("ENCRYPTED PRIVATE KEY", key.untag().dump())
    return armored.decode()


# --- keytool ---------------------------------------------------------------------------------------------------------


_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)
_TIMEOUT_S = 60
_JVM = ("-J-Duser.language=en", "-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC")
"""English, because the output is parsed; the other two options make a short run fast."""


def find_keytool() -> str | None:
    home = os.environ.get("JAVA_HOME")
    return (shutil.which("keytool", path=f"{home}/bin") if home else None) or shutil.which("keytool")


def run_keytool(keytool: str, arguments: list[str], passwords: Mapping[str, str], failure: str) -> str:
    """The output of keytool. ConfigError that begins with `failure` if it fails.

    `passwords` are by option, such as `-storepass`. keytool gets them in its environment, because all users of the machine can
    see command lines.
    """
    told = {f"MEMBERSHIP_CLIENT_{option.strip('-').upper()}": text for option, text in passwords.items()}
    options = [word for option, name in zip(passwords, told, strict=True) for word in (f"{option}:env", name)]
    try:
        done = subprocess.run(
            [keytool, *_JVM, *arguments, *options],
            env=os.environ | told,
            input="\n",
            capture_output=True,
            text=True,
            check=False,
            timeout=_TIMEOUT_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ConfigError(f"{failure}: {keytool} did not answer ({type(error).__name__}).") from None
    if done.returncode:
        raise ConfigError(f"{failure}: {done.stdout.strip()}")
    return done.stdout


def certificates_in(listing: str) -> list[str]:
    """The certificates, as PEM, in the output of `keytool -list -rfc`."""
    return _CERTIFICATE.findall(listing)


def trusted_certificates(keytool: str, location: str, password: str | None) -> str:
    """The certificates of a JKS or PKCS12 trust store, as PEM. ConfigError if it cannot be read.

    Without a password keytool asks for one. It gets an empty line, and then reads the store without a password, as Java does.
    """
    passwords = {} if password is None else {"-storepass": password}
    failure = f"ssl.truststore.location: {location} cannot be read"
    found = certificates_in(run_keytool(keytool, ["-list", "-rfc", "-keystore", location], passwords, failure))
    if not found:
        raise ConfigError(f"{location} has no certificate that can be read with ssl.truststore.password.")
    return "\n".join(found) + "\n"
