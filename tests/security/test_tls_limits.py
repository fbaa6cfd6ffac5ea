"""Revoked certificates and cipher suites: reasons to refuse a connection besides its authority."""

from __future__ import annotations

import datetime as dt
import ssl
from pathlib import Path

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key

from membership_client import Security
from membership_client.security.tls_context import context_of

HOST = "broker.test"


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def revoked(authority: trustme.CA, directory: Path, *leaves: trustme.LeafCert) -> str:
    """The revocation list of the authority, with these certificates on it."""
    now = dt.datetime.now(dt.UTC)
    issuer = x509.load_pem_x509_certificate(authority.cert_pem.bytes())
    builder = x509.CertificateRevocationListBuilder().issuer_name(issuer.subject)
    builder = builder.last_update(now - dt.timedelta(days=1)).next_update(now + dt.timedelta(days=1))
    for leaf in leaves:
        number = x509.load_pem_x509_certificate(leaf.cert_chain_pems[0].bytes()).serial_number
        entry = x509.RevokedCertificateBuilder().serial_number(number).revocation_date(now - dt.timedelta(hours=1))
        builder = builder.add_revoked_certificate(entry.build())
    key = load_pem_private_key(authority.private_key_pem.bytes(), None)
    file = directory / "revoked.pem"
    file.write_bytes(builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM))  # type: ignore[arg-type]
    return str(file)


def handshake(security: Security, server: ssl.SSLContext) -> str:
    """A handshake in memory; returns the cipher suite."""
    assert security.tls is not None
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        context_of(security.tls).wrap_bio(to_client, to_server, server_hostname=HOST),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    for end in ends * 3:
        try:
            end.do_handshake()
        except ssl.SSLWantReadError:
            continue
    cipher = ends[0].cipher()
    assert cipher is not None
    return cipher[0]


def server_of(leaf: trustme.LeafCert) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    leaf.configure_cert(context)
    return context


def client(authority: trustme.CA, **more: str) -> Security:
    dotted = {key.replace("_", "."): value for key, value in more.items()}
    return Security.from_dict({"security.protocol": "ssl", "ssl.ca.pem": authority.cert_pem.bytes().decode(), **dotted})


def test_a_certificate_that_was_revoked(authority: trustme.CA, tmp_path: Path) -> None:
    """It is refused, and other certificates of the same authority are not."""
    good, bad = authority.issue_cert(HOST), authority.issue_cert(HOST)
    security = client(authority, ssl_crl_location=revoked(authority, tmp_path, bad))
    assert handshake(security, server_of(good))
    with pytest.raises(ssl.SSLCertVerificationError, match="revoked"):
        handshake(security, server_of(bad))
    assert handshake(client(authority), server_of(bad))


def test_a_certificate_that_is_revoked_later(authority: trustme.CA, tmp_path: Path) -> None:
    """The list is replaced while the process runs: the next connection uses the new list."""
    leaf = authority.issue_cert(HOST)
    security = client(authority, ssl_crl_location=revoked(authority, tmp_path))
    assert handshake(security, server_of(leaf))
    revoked(authority, tmp_path, leaf)
    with pytest.raises(ssl.SSLCertVerificationError, match="revoked"):
        handshake(security, server_of(leaf))


def test_cipher_suites_are_limited(authority: trustme.CA) -> None:
    """Only the named suite is used, with a broker that speaks TLS 1.2."""
    server = server_of(authority.issue_cert(HOST))
    server.maximum_version = ssl.TLSVersion.TLSv1_2
    for suite in ("ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-ECDSA-CHACHA20-POLY1305"):
        assert handshake(client(authority, ssl_cipher_suites=suite), server) == suite
