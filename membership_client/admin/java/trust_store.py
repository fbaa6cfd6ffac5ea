"""A trust store of Java's, read by Java's own keytool: certificates only, which are no secret."""

from __future__ import annotations

from membership_client.admin.java.keytool import certificates_in, run_keytool
from membership_client.errors import ConfigError


def trusted_certificates(keytool: str, location: str, password: str | None) -> str:
    """As PEM, of a JKS or PKCS12 file. ConfigError if it cannot be read.

    Without a password keytool asks for one, and does without if it gets none, as Java does.
    """
    passwords = {} if password is None else {"-storepass": password}
    complaint = f"ssl.truststore.location: {location} cannot be read"
    found = certificates_in(run_keytool(keytool, ["-list", "-rfc", "-keystore", location], passwords, complaint))
    if not found:
        raise ConfigError(f"{location} has no certificate that can be read with ssl.truststore.password.")
    return "\n".join(found) + "\n"
