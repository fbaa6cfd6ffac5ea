"""The configuration's keys that are about security, by what has a use for them."""

from __future__ import annotations

BEARER = "sasl.oauthbearer."
"""What the names of those about tokens begin with."""

TLS = (
    "ssl.ca.location",
    "ssl.ca.pem",
    "ssl.certificate.location",
    "ssl.certificate.pem",
    "ssl.key.location",
    "ssl.key.pem",
    "ssl.key.password",
    "ssl.endpoint.identification.algorithm",
    "enable.ssl.certificate.verification",
)
PASSWORD = ("sasl.username", "sasl.password")
OIDC = (
    f"{BEARER}client.id",
    f"{BEARER}client.secret",
    f"{BEARER}token.endpoint.url",
    f"{BEARER}scope",
    f"{BEARER}extensions",
    "https.ca.location",
    "https.ca.pem",
)
TOKEN = ("oauth_cb", f"{BEARER}method", f"{BEARER}config", *OIDC)
SASL = ("sasl.mechanism", "sasl.mechanisms", *PASSWORD, *TOKEN)

ALL = frozenset({"security.protocol", *TLS, *SASL})
