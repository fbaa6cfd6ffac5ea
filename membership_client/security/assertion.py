"""Assertions (RFC 7523): signed claims about the client, for a token endpoint that knows the public key.

Imported only when a configuration needs it; signing needs the package cryptography.
"""

from __future__ import annotations

import base64
import json
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from membership_client.errors import ConfigError
from membership_client.security.keys import require_library
from membership_client.security.secret import Secret
from membership_client.security.tokens import TokenError

Assertion = Callable[[], Secret]
"""A function that returns a new assertion. It may block; it raises TokenError."""

_KEY = "sasl.oauthbearer.assertion."


@dataclass(frozen=True, slots=True)
class AssertionFile:
    """Reads an assertion from a file that another program renews, as Kubernetes does. The file is read for every token."""

    path: str

    def __call__(self) -> Secret:
        try:
            return Secret(Path(self.path).read_text().strip())
        except (OSError, ValueError) as error:
            raise TokenError(f"{_KEY}file cannot be read: {type(error).__name__}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedAssertion:
    """Makes and signs an assertion. Files with the key and the template are read for every assertion."""

    key_file: str | None = None
    key_pem: Secret | None = None
    passphrase: Secret | None = None
    algorithm: str = "RS256"
    template_file: str | None = None
    claims: Mapping[str, str] = field(default_factory=dict)
    expires_in_s: int = 300
    valid_before_s: int = 60
    has_id: bool = False

    def check(self) -> None:
        """ConfigError if no assertion can be made. Its text shows nothing of the key."""
        require_library(
            "cryptography", "crypto", f"signing an assertion ({_KEY}private.key.*, or give {_KEY}file instead)"
        )
        try:
            self()
        except TokenError as error:
            raise ConfigError(f"{error}.") from None

    def __call__(self) -> Secret:
        header, payload = self._template()
        now = int(time.time())
        header |= {"alg": self.algorithm, "typ": "JWT"}
        payload |= {"iat": now, "exp": now + self.expires_in_s, "nbf": now - self.valid_before_s, **self.claims}
        if self.has_id:
            payload["jti"] = str(uuid.uuid4())
        signed = f"{_encoded(json.dumps(header).encode())}.{_encoded(json.dumps(payload).encode())}"
        return Secret(f"{signed}.{_encoded(self._signature(signed.encode()))}")

    def _template(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Header and payload of the template; both empty without a template."""
        if self.template_file is None:
            return {}, {}
        try:
            template = json.loads(Path(self.template_file).read_bytes())
            return dict(template["header"]), dict(template["payload"])
        except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
            raise TokenError(
                f"{_KEY}jwt.template.file is not a JSON object with a header and a payload: {type(error).__name__}"
            ) from None

    def _signature(self, signed: bytes) -> bytes:
        from cryptography.hazmat.primitives.asymmetric import ec, rsa  # noqa: PLC0415 - an optional package

        key = self._key()
        if self.algorithm == "RS256" and isinstance(key, rsa.RSAPrivateKey):
            return _rs256(key, signed)
        if self.algorithm == "ES256" and isinstance(key, ec.EllipticCurvePrivateKey) and key.key_size == 256:
            return _es256(key, signed)
        needed = "an RSA key" if self.algorithm == "RS256" else "a key on the curve P-256"
        raise TokenError(
            f"{_KEY}algorithm={self.algorithm} needs {needed}; {_KEY}private.key.* is a key of another type"
        )

    def _key(self) -> object:
        from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415 - an optional package
            load_pem_private_key,
        )

        password = self.passphrase.reveal().encode() if self.passphrase else None
        try:
            pem = self.key_pem.reveal().encode() if self.key_pem else Path(self.key_file or "").read_bytes()
            return load_pem_private_key(pem, password)
        except OSError as error:
            raise TokenError(f"{_KEY}private.key.file cannot be read: {error.strerror}") from None
        except Exception:  # noqa: BLE001 - cryptography raises many types, and some texts quote the key
            raise TokenError(
                f"{_KEY}private.key.file, .pem or .passphrase cannot be used: not a key in PEM, or a wrong passphrase"
            ) from None


def _rs256(key: Any, signed: bytes) -> bytes:
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415 - an optional package
    from cryptography.hazmat.primitives.asymmetric import padding  # noqa: PLC0415

    signature: bytes = key.sign(signed, padding.PKCS1v15(), hashes.SHA256())
    return signature


def _es256(key: Any, signed: bytes) -> bytes:
    """The signature in JOSE's format: two numbers of 32 bytes each, without ASN.1."""
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415 - an optional package
    from cryptography.hazmat.primitives.asymmetric import ec, utils  # noqa: PLC0415

    r, s = utils.decode_dss_signature(key.sign(signed, ec.ECDSA(hashes.SHA256())))
    return r.to_bytes(32, "big") + s.to_bytes(32, "big")


def _encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")
