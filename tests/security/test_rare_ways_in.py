"""Rare mechanisms, with a real broker: a PKCS#12 store, signed assertions, Azure, and unsecured tokens."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.security.assertions import ec_key, locked_pem, rsa_key
from tests.security.secure_kafka import RARE_WAYS_IN, SecureKafka
from tests.security.token_endpoint import TokenEndpoint
from tests.security.using import join_and_commit, read_a_record

pytestmark = [pytest.mark.kafka, pytest.mark.deep]


@pytest.mark.parametrize("way", RARE_WAYS_IN)
def test_a_member_joins(way: str, secured: SecureKafka, endpoint: TokenEndpoint) -> None:
    """It owns its partitions, commits, and leaves, all over such connections."""
    join_and_commit(secured, secured.ways_in(endpoint.url)[way])


@pytest.mark.parametrize("way", RARE_WAYS_IN)
def test_a_consumer_reads(way: str, secured: SecureKafka, endpoint: TokenEndpoint) -> None:
    """The same configuration works for librdkafka."""
    read_a_record(secured, secured.ways_in(endpoint.url)[way])


@pytest.mark.parametrize("algorithm", ["RS256", "ES256"])
def test_an_assertion_of_a_template(
    algorithm: str, secured: SecureKafka, endpoint: TokenEndpoint, tmp_path: Path
) -> None:
    """Key and template are files, and claims of the configuration win over the template's; librdkafka does the same.

    Except for its signatures on a curve, which are in ASN.1 (seen in 2.16.0), and which RFC 7518 does not allow.
    """
    key, template = tmp_path / "key.pem", tmp_path / "template.json"
    key.write_text(locked_pem(ec_key() if algorithm == "ES256" else rsa_key()))
    template.write_text(json.dumps({"header": {"kid": "one"}, "payload": {"iss": "somebody", "tenant": "red"}}))
    prefix = "sasl.oauthbearer.assertion."
    config = secured.ways_in(endpoint.url)["jwt-bearer"] | {
        f"{prefix}private.key.file": str(key),
        f"{prefix}jwt.template.file": str(template),
        f"{prefix}algorithm": algorithm,
        f"{prefix}claim.jti.include": "true",
    }
    del config[f"{prefix}private.key.pem"]
    join_and_commit(secured, config)
    if algorithm == "RS256":
        read_a_record(secured, config)
