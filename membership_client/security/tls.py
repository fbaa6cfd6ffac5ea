"""Whom we trust, and who we are if brokers want to know."""

from __future__ import annotations

from dataclasses import field

from membership_client.security.secret import Secret
from membership_client.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """As configured; `tls_context.context_of` makes a context of it."""

    ca_location: str | None = None
    """A file or a directory of PEM certificates; None, or `probe`, trusts whom the system trusts."""
    ca_pem: str | None = field(default=None, repr=False)
    crl_location: str | None = None
    """A PEM file with certificates that were revoked."""
    certificate_location: str | None = None
    certificate_pem: Secret | None = None
    """No secret in itself, but people keep the key in the same file."""
    key_location: str | None = None
    key_pem: Secret | None = None
    key_password: Secret | None = None
    store_location: str | None = None
    """A PKCS#12 file with certificate and key, instead of those."""
    store_password: Secret | None = None
    cipher_suites: str | None = None
    """Of TLS 1.2 and older, as OpenSSL writes them; None for OpenSSL's own choice."""
    verifies: bool = True
    """Is the broker's certificate checked at all?"""
    checks_host: bool = True
    """Does it have to name the host that we connected to?"""

    @property
    def has_certificate(self) -> bool:
        return bool(self.certificate_location or self.certificate_pem)

    @property
    def has_key(self) -> bool:
        return bool(self.key_location or self.key_pem)
