"""Reads certificate and key from a PKCS#12 file. The package cryptography is imported only when a configuration needs it."""

from __future__ import annotations

import secrets
from dataclasses import replace
from pathlib import Path

from membership_client.errors import ConfigError
from membership_client.security.optional_library import require_library
from membership_client.security.secret import Secret
from membership_client.security.tls import Tls


def unpacked(tls: Tls) -> Tls:
    """`tls` with certificate and key as PEM; the key is encrypted with a random password. Raises ConfigError."""
    require_library(
        "cryptography", "crypto", "ssl.keystore.location (or give ssl.certificate.location and ssl.key.location)"
    )
    from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415 - an optional package
        BestAvailableEncryption,
        Encoding,
        PrivateFormat,
    )
    from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12  # noqa: PLC0415

    assert tls.store_location is not None
    assert tls.store_password is not None
    try:
        store = load_pkcs12(Path(tls.store_location).read_bytes(), tls.store_password.reveal().encode())
    except OSError as error:
        raise ConfigError(f"ssl.keystore.location cannot be read: {error.strerror}.") from None
    except ValueError:
        raise ConfigError(
            "ssl.keystore.location cannot be used: not PKCS#12, or a wrong ssl.keystore.password."
        ) from None
    if store.key is None or store.cert is None:
        raise ConfigError("ssl.keystore.location has no private key with its certificate in it.")
    password = secrets.token_urlsafe(32)
    chain = [store.cert, *store.additional_certs]
    key = store.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(password.encode()))
    return replace(
        tls,
        certificate_pem=Secret("".join(entry.certificate.public_bytes(Encoding.PEM).decode() for entry in chain)),
        key_pem=Secret(key.decode()),
        key_password=Secret(password),
        store_location=None,
        store_password=None,
    )
