"""The configuration keys for security, grouped by the feature that uses them."""

from __future__ import annotations

BEARER = "sasl.oauthbearer."
"""Prefix of the keys for tokens."""

TLS = (
    "ssl.ca.location",
    "ssl.ca.pem",
    "ssl.certificate.location",
    "ssl.certificate.pem",
    "ssl.cipher.suites",
    "ssl.crl.location",
    "ssl.key.location",
    "ssl.key.pem",
    "ssl.key.password",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.endpoint.identification.algorithm",
    "enable.ssl.certificate.verification",
)
PASSWORD = ("sasl.username", "sasl.password")
KERBEROS = ("sasl.kerberos.service.name", "sasl.kerberos.principal", "sasl.kerberos.keytab")
CLIENT = (f"{BEARER}client.id", f"{BEARER}client.secret")
SIGNING = (
    f"{BEARER}assertion.algorithm",
    f"{BEARER}assertion.claim.aud",
    f"{BEARER}assertion.claim.exp.seconds",
    f"{BEARER}assertion.claim.iss",
    f"{BEARER}assertion.claim.jti.include",
    f"{BEARER}assertion.claim.nbf.seconds",
    f"{BEARER}assertion.claim.sub",
    f"{BEARER}assertion.jwt.template.file",
    f"{BEARER}assertion.private.key.file",
    f"{BEARER}assertion.private.key.passphrase",
    f"{BEARER}assertion.private.key.pem",
)
"""Keys of an assertion that this process signs."""
ASSERTION = (f"{BEARER}assertion.file", *SIGNING)
OIDC = (
    *CLIENT,
    f"{BEARER}token.endpoint.url",
    f"{BEARER}scope",
    f"{BEARER}extensions",
    f"{BEARER}grant.type",
    f"{BEARER}metadata.authentication.type",
    f"{BEARER}sub.claim.name",
    "https.ca.location",
    "https.ca.pem",
    *ASSERTION,
)
UNSECURED = "enable.sasl.oauthbearer.unsecure.jwt"
TOKEN = ("oauth_cb", f"{BEARER}method", f"{BEARER}config", UNSECURED, *OIDC)
ALIASES = {
    "sasl.mechanisms": "sasl.mechanism",
    f"{BEARER}client.credentials.client.id": f"{BEARER}client.id",
    f"{BEARER}client.credentials.client.secret": f"{BEARER}client.secret",
}
"""Other names of keys, and the names used here."""

SASL = ("sasl.mechanism", *PASSWORD, *KERBEROS, *TOKEN)

ALL = frozenset({"security.protocol", *TLS, *SASL, *ALIASES})
