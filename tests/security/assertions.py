"""A key that signs assertions, and the check of a token endpoint that has its public half."""

from __future__ import annotations

import base64
import functools
import json
import time
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa, utils
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat

PASSPHRASE = "passphrase-Gh66"
AUDIENCE = "https://idp.test/token"


@functools.cache
def rsa_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@functools.cache
def ec_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def locked_pem(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey) -> str:
    """The key as PEM, encrypted with PASSPHRASE."""
    lock = BestAvailableEncryption(PASSPHRASE.encode())
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, lock).decode()


def claims_of(assertion: str) -> dict[str, Any] | None:
    """The claims of an assertion if it is signed by one of the keys and valid now; else None."""
    signed, _, signature = assertion.rpartition(".")
    header, payload = (json.loads(_decoded(part)) for part in signed.split("."))
    try:
        _verify(header["alg"], signed.encode(), _decoded(signature))
    except InvalidSignature:
        return None
    is_valid = payload["nbf"] <= time.time() < payload["exp"] and payload["aud"] == AUDIENCE
    return {**payload, "header": header} if is_valid else None


def _verify(algorithm: str, signed: bytes, signature: bytes) -> None:
    if algorithm == "RS256":
        rsa_key().public_key().verify(signature, signed, padding.PKCS1v15(), hashes.SHA256())
    else:
        numbers = (int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big"))
        ec_key().public_key().verify(utils.encode_dss_signature(*numbers), signed, ec.ECDSA(hashes.SHA256()))


def _decoded(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
