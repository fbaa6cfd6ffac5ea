"""Every key about security is fed every bad value: ConfigError, or success where librdkafka takes it, too."""

from __future__ import annotations

from typing import Any

import pytest

from membership_client import ConfigError, Security
from tests.arguments.bad_values import BAD, TEXTS

_SSL = {"security.protocol": "ssl"}
_PLAIN = {"security.protocol": "sasl_plaintext", "sasl.mechanism": "PLAIN", "sasl.username": "u", "sasl.password": "p"}
_TOKEN = {"security.protocol": "sasl_plaintext", "sasl.mechanism": "OAUTHBEARER", "oauth_cb": lambda _config: ("t", 1)}
_OIDC = {
    "security.protocol": "sasl_plaintext",
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.oauthbearer.method": "oidc",
    "sasl.oauthbearer.client.id": "c",
    "sasl.oauthbearer.client.secret": "s",
    "sasl.oauthbearer.token.endpoint.url": "https://127.0.0.1:1/token",
}
_ANY_TEXT = TEXTS | {"long"}
_FLAGS = frozenset({"True", "False", "0", "1"})
_FILES = frozenset[str]()

KEYS: dict[str, tuple[dict[str, Any], frozenset[str]]] = {
    "security.protocol": ({}, frozenset()),
    "ssl.ca.location": (_SSL, _FILES),
    "ssl.ca.pem": (_SSL, _FILES),
    "ssl.certificate.location": (_SSL, _FILES),
    "ssl.certificate.pem": (_SSL, _FILES),
    "ssl.key.location": (_SSL, _FILES),
    "ssl.key.pem": (_SSL, _FILES),
    "ssl.key.password": (_SSL, _FILES),
    "ssl.endpoint.identification.algorithm": (_SSL, frozenset()),
    "enable.ssl.certificate.verification": (_SSL, _FLAGS),
    "sasl.mechanism": (_PLAIN, frozenset()),
    "sasl.mechanisms": (_PLAIN, frozenset()),
    "sasl.username": (_PLAIN, _ANY_TEXT),
    "sasl.password": (_PLAIN, _ANY_TEXT),
    "oauth_cb": (_TOKEN, frozenset({"function", "class"})),
    "sasl.oauthbearer.config": (_TOKEN, _ANY_TEXT),
    "sasl.oauthbearer.method": (_OIDC, frozenset()),
    "sasl.oauthbearer.client.id": (_OIDC, _ANY_TEXT),
    "sasl.oauthbearer.client.secret": (_OIDC, _ANY_TEXT),
    "sasl.oauthbearer.token.endpoint.url": (_OIDC, frozenset()),
    "sasl.oauthbearer.scope": (_OIDC, _ANY_TEXT),
    "sasl.oauthbearer.extensions": (_OIDC, frozenset()),
    "https.ca.location": (_OIDC, _FILES),
    "https.ca.pem": (_OIDC, _FILES),
}
"""What each is given beside, and which bad values it takes."""


def test_every_key_is_known() -> None:
    """A new key needs a row."""
    assert set(KEYS) == Security.KEYS


@pytest.mark.parametrize("key", KEYS)
def test_bad_values(key: str) -> None:
    """Junk in https.ca.pem used to be found when the first token was wanted, and an int of 5,000 digits by str()."""
    base, takes = KEYS[key]
    Security.from_dict(base)
    for name, value in BAD.items():
        try:
            Security.from_dict({**base, key: value})
        except ConfigError:
            continue
        assert name in takes or value is None, f"{key}=<{name}> is taken"


def test_https_authorities_are_not_set_twice() -> None:
    """As those of brokers: of two, one would be passed over in silence."""
    with pytest.raises(ConfigError, match=r"https\.ca\.location and https\.ca\.pem are both set"):
        Security.from_dict({**_OIDC, "https.ca.location": "probe", "https.ca.pem": "x"})


@pytest.mark.parametrize("pem", ["junk", "käse", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
def test_authorities_that_are_no_pem(pem: str) -> None:
    """A letter that is not ASCII is another exception in OpenSSL's wrapper."""
    with pytest.raises(ConfigError, match=r"https\.ca\.pem cannot be used"):
        Security.from_dict({**_OIDC, "https.ca.pem": pem})
    with pytest.raises(ConfigError, match=r"ssl\.ca\.pem cannot be used"):
        Security.from_dict({**_SSL, "ssl.ca.pem": pem})
