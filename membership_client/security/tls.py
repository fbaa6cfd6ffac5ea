"""The TLS settings of a configuration: trusted authorities, and the client's own certificate."""

from __future__ import annotations

from dataclasses import field

from membership_client.security.secret import Secret
from membership_client.values import dataclass


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
    """A Secret, because some files hold the private key beside the certificate."""
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
