"""Certificates for one test run: an authority, its servers and clients, and another authority."""

from __future__ import annotations

import datetime as dt
import subprocess
from pathlib import Path

import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.hazmat.primitives.serialization.pkcs12 import serialize_key_and_certificates
from cryptography.x509 import load_pem_x509_certificate

KEY_PASSWORD = "key-password-Zx81"
STORE_PASSWORD = "store-password-Lm27"


class Certificates:
    """Certificates in a directory of their own. Keys are PKCS#8, which both Kafka and OpenSSL read."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._authority = trustme.CA()
        self.authority = self._write("authority.pem", self._authority.cert_pem.bytes())
        stranger = trustme.CA()
        self.stranger = self._write("stranger.pem", stranger.cert_pem.bytes())
        foreign = stranger.issue_cert("client.test", common_name="client")
        self.foreign = self._write("foreign.pem", _pkcs8(foreign) + foreign.cert_chain_pems[0].bytes())
        client = self._authority.issue_cert("client.test", common_name="client")
        self.certificate = self._write("client.pem", client.cert_chain_pems[0].bytes())
        self.key_pem = _pkcs8(client).decode()
        self.key = self._write("client-key.pem", self.key_pem.encode())
        self.locked_key_pem = _pkcs8(client, KEY_PASSWORD).decode()
        self.locked_key = self._write("client-locked-key.pem", self.locked_key_pem.encode())
        self.key_store = self._write("client.p12", _pkcs12(client))

    def hashed(self, authority: Path) -> Path:
        """A directory of authorities with this one in it, as `openssl rehash` makes it."""
        directory = self._directory / f"{authority.stem}.d"
        directory.mkdir(exist_ok=True)
        command = ["openssl", "x509", "-noout", "-hash", "-in", str(authority)]
        name = subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()
        (directory / f"{name}.0").write_bytes(authority.read_bytes())
        return directory

    def leaf(self, *names: str) -> trustme.LeafCert:
        """A certificate of a server that is no broker."""
        return self._authority.issue_cert(*names)

    def client(self) -> trustme.LeafCert:
        """A certificate of an intermediate authority: brokers know only the root, so the client must send its chain."""
        return self._authority.create_child_ca().issue_cert("client.test", common_name="client")

    def server(self, *names: str, expired: bool = False) -> dict[str, str]:
        """The settings of a broker for a certificate with these names."""
        ended = dt.datetime.now(dt.UTC) - dt.timedelta(days=1) if expired else None
        began = dt.datetime(2020, 1, 1, tzinfo=dt.UTC) if expired else None
        issued = self._authority.issue_cert(*names, not_after=ended, not_before=began)
        chain = b"".join(pem.bytes() for pem in issued.cert_chain_pems)
        store = self._write(f"server-{'-'.join(names)}-{expired}.pem", _pkcs8(issued) + chain)
        return {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(store),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.authority),
        }

    def _write(self, name: str, content: bytes) -> Path:
        path = self._directory / name
        path.write_bytes(content)
        return path


def _pkcs12(issued: trustme.LeafCert) -> bytes:
    key = load_pem_private_key(issued.private_key_pem.bytes(), None)
    certificate = load_pem_x509_certificate(issued.cert_chain_pems[0].bytes())
    locked = BestAvailableEncryption(STORE_PASSWORD.encode())
    return serialize_key_and_certificates(b"client", key, certificate, None, locked)  # type: ignore[arg-type]


def _pkcs8(issued: trustme.LeafCert, password: str | None = None) -> bytes:
    key = load_pem_private_key(issued.private_key_pem.bytes(), None)
    locked = NoEncryption() if password is None else BestAvailableEncryption(password.encode())
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, locked)
