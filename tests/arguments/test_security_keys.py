"""Every key about security is fed every bad value: ConfigError, or success where librdkafka takes it, too."""

from __future__ import annotations

from typing import Any

import pytest

from membership_client import ConfigError, Security
from membership_client.security import keys
from tests.arguments.bad_values import BAD, TEXTS
from tests.arguments.kinds import is_in
from tests.security.assertions import PASSPHRASE, locked_pem, rsa_key

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
_ASSERTION = {
    "security.protocol": "sasl_plaintext",
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.oauthbearer.method": "oidc",
    "sasl.oauthbearer.grant.type": "urn:ietf:params:oauth:grant-type:jwt-bearer",
    "sasl.oauthbearer.token.endpoint.url": "https://127.0.0.1:1/token",
    "sasl.oauthbearer.assertion.private.key.pem": locked_pem(rsa_key()),
    "sasl.oauthbearer.assertion.private.key.passphrase": PASSPHRASE,
}
_OF_FILE = {key: value for key, value in _ASSERTION.items() if ".private." not in key}
_AZURE = {
    "security.protocol": "sasl_plaintext",
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.oauthbearer.method": "oidc",
    "sasl.oauthbearer.metadata.authentication.type": "azure_imds",
    "sasl.oauthbearer.config": "query=resource=x",
}
_UNSECURED = {
    "security.protocol": "sasl_plaintext",
    "sasl.mechanism": "OAUTHBEARER",
    "enable.sasl.oauthbearer.unsecure.jwt": True,
    "sasl.oauthbearer.config": "principal=alice",
}
_KERBEROS = {"security.protocol": "sasl_plaintext", "sasl.mechanism": "GSSAPI"}
_ANY_TEXT = TEXTS | {"long"}
_FEW = frozenset({"1", "1.5", "digits"})
_FLAGS = frozenset({"True", "False", "0", "1"})
_FILES = frozenset[str]()


def _without(key: str) -> dict[str, Any]:
    return {name: value for name, value in _OIDC.items() if name != key}


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
    "sasl.oauthbearer.client.credentials.client.id": (_without("sasl.oauthbearer.client.id"), _ANY_TEXT),
    "sasl.oauthbearer.client.credentials.client.secret": (_without("sasl.oauthbearer.client.secret"), _ANY_TEXT),
    "sasl.oauthbearer.sub.claim.name": (_OIDC, _ANY_TEXT),
    "sasl.oauthbearer.grant.type": (_OIDC, frozenset()),
    "sasl.oauthbearer.metadata.authentication.type": (_AZURE, frozenset()),
    "sasl.oauthbearer.assertion.algorithm": (_ASSERTION, frozenset()),
    "sasl.oauthbearer.assertion.claim.aud": (_ASSERTION, _ANY_TEXT),
    "sasl.oauthbearer.assertion.claim.exp.seconds": (_ASSERTION, _FEW),
    "sasl.oauthbearer.assertion.claim.iss": (_ASSERTION, _ANY_TEXT),
    "sasl.oauthbearer.assertion.claim.jti.include": (_ASSERTION, _FLAGS),
    "sasl.oauthbearer.assertion.claim.nbf.seconds": (_ASSERTION, _FEW | {"0", "0.0"}),
    "sasl.oauthbearer.assertion.claim.sub": (_ASSERTION, _ANY_TEXT),
    "sasl.oauthbearer.assertion.file": (_OF_FILE | {"sasl.oauthbearer.assertion.file": "x"}, _ANY_TEXT),
    "sasl.oauthbearer.assertion.jwt.template.file": (_ASSERTION, _FILES),
    "sasl.oauthbearer.assertion.private.key.file": (_ASSERTION, _FILES),
    "sasl.oauthbearer.assertion.private.key.passphrase": (_ASSERTION, _FILES),
    "sasl.oauthbearer.assertion.private.key.pem": (_ASSERTION, _FILES),
    "enable.sasl.oauthbearer.unsecure.jwt": (_UNSECURED, frozenset({"True", "1"})),
    "sasl.kerberos.service.name": (_KERBEROS, _ANY_TEXT),
    "sasl.kerberos.principal": (_KERBEROS, _ANY_TEXT),
    "sasl.kerberos.keytab": (_KERBEROS, _ANY_TEXT),
    "ssl.cipher.suites": (_SSL, _FILES),
    "ssl.crl.location": (_SSL, _FILES),
    "ssl.keystore.location": (_SSL, _FILES),
    "ssl.keystore.password": (_SSL, _FILES),
}
"""What each is given beside, and which bad values it takes."""


def test_every_key_is_known() -> None:
    """A new key needs a row."""
    assert set(KEYS) == Security.KEYS


@pytest.fixture(autouse=True)
def _gssapi(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the package gssapi were there, which is not loaded to look at a configuration."""
    monkeypatch.setattr(keys, "_is_there", lambda _: True)


@pytest.mark.parametrize("key", [key for key, (base, _) in KEYS.items() if "credentials" not in key])
def test_what_is_given_beside_a_key_is_enough(key: str) -> None:
    """Or the key itself would be refused for another reason than its value."""
    Security.from_dict(KEYS[key][0])


@pytest.mark.parametrize("key", KEYS)
def test_bad_values(key: str) -> None:
    """Junk in https.ca.pem used to be found when the first token was wanted, and an int of 5,000 digits by str()."""
    base, takes = KEYS[key]
    for name, value in BAD.items():
        try:
            Security.from_dict({**base, key: value})
        except ConfigError:
            continue
        assert is_in(takes, name) or value is None, f"{key}=<{name}> is taken"


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
