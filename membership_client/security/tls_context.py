"""Makes SSLContexts from TLS settings. Imported only when a configuration has TLS."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import secrets
import ssl
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from membership_client.errors import ConfigError
from membership_client.security.keys import require_library
from membership_client.security.secret import Secret
from membership_client.security.settings import Tls

_PIPE_BYTES = 65536


def context_of(tls: Tls) -> ssl.SSLContext:
    """The context for these settings; the same context until one of the files changes. For any thread.

    Raises:
        ConfigError: a file cannot be used. The text names the configuration key, and shows nothing of the content.
    """
    files = (tls.ca_location, tls.crl_location, tls.certificate_location, tls.key_location, tls.store_location)
    return _context(tls, tuple(map(_changed_at, files)))


def _changed_at(location: str | None) -> int:
    try:
        return Path(location).stat().st_mtime_ns if location else 0
    except OSError:
        return 0


@functools.lru_cache(maxsize=16)
def _context(tls: Tls, _changed: tuple[int, ...]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = tls.verifies and tls.checks_host
    context.verify_mode = ssl.CERT_REQUIRED if tls.verifies else ssl.CERT_NONE
    if tls.verifies:
        trust(context, tls.ca_location, tls.ca_pem, "ssl.ca")
    if tls.verifies and tls.crl_location is not None:
        _distrust(context, tls.crl_location)
    if tls.cipher_suites is not None:
        _limit_ciphers(context, tls.cipher_suites)
    if tls.has_certificate:
        _load_certificate(context, tls)
    elif tls.store_location is not None:
        _load_certificate(context, unpacked(tls))
    return context


def _distrust(context: ssl.SSLContext, location: str) -> None:
    """Refuse revoked certificates, and certificates whose issuer has no list in the file, as librdkafka does."""
    _load("ssl.crl.location", lambda: context.load_verify_locations(cafile=location))
    context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF


def _limit_ciphers(context: ssl.SSLContext, suites: str) -> None:
    try:
        context.set_ciphers(suites)
    except ssl.SSLError:
        raise ConfigError("ssl.cipher.suites names no cipher suite that OpenSSL knows.") from None


def trust(context: ssl.SSLContext, location: str | None, pem: str | None, key: str) -> None:
    """Trust these authorities, or the system's. `key` is the prefix of their configuration keys. Raises ConfigError."""
    if pem is not None:
        _load(f"{key}.pem", lambda: context.load_verify_locations(cadata=pem))
    elif location is None or location == "probe":
        context.load_default_certs()
    else:
        _load(f"{key}.location", lambda: _trust_files(context, location))


def _trust_files(context: ssl.SSLContext, location: str) -> None:
    if Path(location).is_dir():
        context.load_verify_locations(capath=location)
    else:
        context.load_verify_locations(cafile=location)


def check_trust(location: str | None, pem: str | None, key: str) -> None:
    """ConfigError if the authorities cannot be used, or are set twice; `key` as for `trust`."""
    if location is not None and pem is not None:
        raise ConfigError(f"{key}.location and {key}.pem are both set: set one of them.")
    if (
        location is not None or pem is not None
    ):  # The system's authorities take 100 ms to load, and loading cannot fail.
        trust(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), location, pem, key)


def _load_certificate(context: ssl.SSLContext, tls: Tls) -> None:
    """Load the client's certificate and key."""
    certificate = "ssl.certificate.pem" if tls.certificate_pem else "ssl.certificate.location"
    key = "ssl.key.pem" if tls.key_pem else "ssl.key.location"
    password = tls.key_password.reveal() if tls.key_password else ""
    with (
        _as_file(tls.certificate_pem, tls.certificate_location, certificate) as certificate_file,
        _as_file(tls.key_pem, tls.key_location, key) as key_file,
    ):
        # A password is always given, because OpenSSL would otherwise ask for it on the terminal.
        _load(
            f"{certificate}, {key} or ssl.key.password",
            lambda: context.load_cert_chain(certificate_file, key_file, password=lambda: password),
        )


def _load(key: str, load: Callable[[], None]) -> None:
    try:
        load()
    except ssl.SSLError as error:
        # OpenSSL's reason is a fixed phrase, without any content of the file.
        raise ConfigError(f"{key} cannot be used: {error.reason or 'not PEM, or a wrong password'}.") from None
    except OSError as error:
        # If the file is a pipe, OpenSSL reports the error of a seek, and not the real one.
        if error.errno == errno.ESPIPE:
            raise ConfigError(f"{key} cannot be used: not PEM, or a wrong password.") from None
        raise ConfigError(f"{key} cannot be read: {error.strerror}.") from None
    except (ValueError, TypeError):  # TypeError: characters that are not ASCII.
        raise ConfigError(f"{key} cannot be used: not PEM.") from None


@contextlib.contextmanager
def _as_file(pem: Secret | None, location: str | None, key: str) -> Iterator[str]:
    """The path of a file with `pem`. OpenSSL reads only files; this one is a pipe, so nothing is written to a disk."""
    if pem is None:
        assert location is not None
        yield location
        return
    content = pem.reveal().encode()
    if len(content) > _PIPE_BYTES:
        raise ConfigError(f"{key} is longer than {_PIPE_BYTES} bytes.")
    reader, writer = os.pipe()
    try:
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(content)
        yield f"/dev/fd/{reader}"
    finally:
        os.close(reader)


# --- PKCS#12 files ---------------------------------------------------------------------------------------------------


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
    )
