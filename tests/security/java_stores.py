"""Java key stores and trust stores, made with the JDK's keytool."""

from __future__ import annotations

import subprocess
from pathlib import Path

import trustme
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, load_pem_private_key, pkcs12

from membership_client.testing import find_java

STORE_PASSWORD = "store-password-Hg29"


def keytool(*arguments: str) -> None:
    java = find_java()
    assert java, "Java was not found. Run scripts/test, which installs it."
    quick = ("-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC")
    subprocess.run([java.with_name("keytool"), *quick, *arguments], check=True, capture_output=True, timeout=60)


def exchange_file(issued: trustme.LeafCert, path: Path, alias: str = "me") -> Path:
    """A PKCS#12 file as other programs than Java write it, with the whole chain."""
    key = load_pem_private_key(issued.private_key_pem.bytes(), None)
    own, *rest = (x509.load_pem_x509_certificate(pem.bytes()) for pem in issued.cert_chain_pems)
    assert isinstance(key, EllipticCurvePrivateKey), "trustme makes others than it did"
    made = pkcs12.serialize_key_and_certificates(
        alias.encode(), key, own, rest, BestAvailableEncryption(STORE_PASSWORD.encode())
    )
    path.write_bytes(made)
    return path


def key_store(
    issued: trustme.LeafCert, store: Path, kind: str, key_password: str = STORE_PASSWORD, alias: str = "me"
) -> Path:
    """The same in a store of this kind; added to an existing store, if there is one."""
    exchanged = exchange_file(issued, store.with_suffix(".exchanged"), alias)
    keytool(
        *("-importkeystore", "-noprompt", "-srckeystore", str(exchanged), "-srcstorepass", STORE_PASSWORD),
        *("-srcalias", alias, "-destkeystore", str(store), "-deststoretype", kind),
        *("-deststorepass", STORE_PASSWORD, "-destkeypass", key_password),
    )
    return store


def trust_store(authority: Path, store: Path, kind: str) -> Path:
    keytool(
        *("-importcert", "-noprompt", "-alias", "ca", "-file", str(authority), "-keystore", str(store)),
        *("-storetype", kind, "-storepass", STORE_PASSWORD),
    )
    return store
