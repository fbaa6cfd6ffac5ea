"""All output of a run is searched for every secret that the run was given."""

from __future__ import annotations

import base64
import contextlib
import logging
import pickle
import tempfile
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

import pytest
from confluent_kafka import KafkaException

from membership_client import ConfigError, Consumer, GroupMember, MembershipError, MemberState, health
from membership_client.admin import GroupAdmin
from membership_client.cli.program import main
from membership_client.health.file import HealthFile
from membership_client.security import split_security
from membership_client.telemetry import backend
from tests.security import secure_kafka
from tests.security.assertions import PASSPHRASE, locked_pem, rsa_key
from tests.security.certificates import KEY_PASSWORD, STORE_PASSWORD
from tests.security.secure_kafka import (
    CALLBACK_CONFIG,
    CLIENT_SECRET,
    PATIENCE_S,
    PLAIN_PASSWORD,
    SCRAM_PASSWORD,
    USER,
    SecureKafka,
)
from tests.security.token_endpoint import TokenEndpoint
from tests.telemetry.recorder import Recorder

pytestmark = [pytest.mark.kafka, pytest.mark.deep]

SECRETIVE = ("locked-key", "pem-strings", "key-store", "plain", "scram-512", "token", "oidc", "jwt-bearer")
WRONG = "wrong-secret-Jf60"


class Evidence:
    """All output that others could read afterwards."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.recorder = Recorder()
        self.tokens: list[str] = []
        self._found: list[bytes] = []

    def add(self, *things: object) -> None:
        """Add the texts of these objects, and their pickles if they have any."""
        for thing in things:
            self._found += [repr(thing).encode(), str(thing).encode()]
            with contextlib.suppress(Exception):
                self._found.append(pickle.dumps(thing))

    def add_error(self, error: BaseException) -> None:
        self.add(error, "".join(traceback.format_exception(error)))

    def add_telemetry(self) -> None:
        metrics = self.recorder.reader.get_metrics_data()
        assert metrics is not None
        assert self.recorder.spans()
        self.add(*(span.to_json() for span in self.recorder.spans()), metrics.to_json())

    def add_log(self, log: pytest.LogCaptureFixture) -> None:
        """Add the log of this library, and of librdkafka."""
        assert {"membership_client", "librdkafka"} <= {record.name.partition(".")[0] for record in log.records}
        self.add(log.text)

    def add_files(self) -> None:
        traces = [path.read_bytes() for path in self.directory.rglob("*") if path.is_file()]
        assert any(b"STABLE" in trace for trace in traces)
        self._found += traces

    def assert_free_of(self, secrets: list[str]) -> None:
        """Search for the secrets as they are, and as they are sent in headers and in forms."""
        everything = b"\n".join(self._found)
        assert not [form for secret in secrets for form in forms_of(secret) if form in everything]


def forms_of(secret: str) -> set[bytes]:
    """The secret itself, escaped, and in base64, which depends on the bytes before it; no form is so short that other text may have it."""
    plain = secret.encode()
    aligned = (base64.b64encode(bytes(before) + plain)[4:-4] for before in range(3))
    return {form for form in (plain, quote_plus(secret).encode(), *aligned) if len(form) >= 8}


@pytest.fixture
def evidence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> Iterator[Evidence]:
    """The output of a process that writes everything it can."""
    evidence = Evidence(tmp_path)
    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(backend, "of_process", lambda: evidence.recorder.backend)
    monkeypatch.setattr(secure_kafka, "make_token", remembering(evidence.tokens))
    yield evidence
    evidence.recorder.close()


def spoilt(config: dict[str, Any]) -> dict[str, Any]:
    """The configuration with a wrong secret: a broker or a token endpoint notices it, or OpenSSL at once."""
    keys = {
        "sasl.password",
        "sasl.oauthbearer.assertion.private.key.passphrase",
        "sasl.oauthbearer.client.secret",
        "ssl.key.password",
        "ssl.keystore.password",
    }
    wrong = dict.fromkeys(config.keys() & keys, WRONG)
    return {**config, **wrong, **({"oauth_cb": lambda _: (WRONG, time.time() + 3600)} if "oauth_cb" in config else {})}


def secrets_of(secured: SecureKafka, tokens: list[str]) -> list[str]:
    keys = (secured.certificates.key_pem, secured.certificates.locked_key_pem, locked_pem(rsa_key()))
    lines = [line for pem in keys for line in pem.splitlines()[1:-1]]
    given = [
        PLAIN_PASSWORD,
        SCRAM_PASSWORD,
        CLIENT_SECRET,
        CALLBACK_CONFIG,
        KEY_PASSWORD,
        STORE_PASSWORD,
        PASSPHRASE,
        WRONG,
    ]
    return [*given, *lines, *tokens]


@pytest.mark.parametrize("way", SECRETIVE)
def test_no_secret_is_left_anywhere(
    way: str,
    secured: SecureKafka,
    endpoint: TokenEndpoint,
    evidence: Evidence,
    request: pytest.FixtureRequest,
) -> None:
    """Traces, logs, spans, metrics, errors, texts, pickles and files are searched, of a run that succeeds and of one that fails."""
    topic = secured.new_topic()
    more = {"group.id": topic, "trace.file": str(evidence.directory / "{member}.trace")}
    config = {**secured.ways_in(endpoint.url)[way], **more}
    be_made(config, evidence)
    live(config, topic, evidence)
    fail(spoilt(config), topic, evidence)
    fail_to_read(spoilt(config) | {"log_level": 0}, topic, evidence)
    fail_to_administer(spoilt(secured.ways_in(endpoint.url)[way]), evidence)
    fail_at_the_prompt(secured, request.getfixturevalue("tmp_path_factory").mktemp("prompt"))
    read({**config, "debug": "all", "logger": logging.getLogger("librdkafka")}, topic, evidence)
    evidence.add_telemetry()
    evidence.add_files()
    evidence.add_log(request.getfixturevalue("caplog"))
    evidence.add(*request.getfixturevalue("capfd").readouterr())
    evidence.assert_free_of(secrets_of(secured, [*evidence.tokens, *endpoint.given]))


def remembering(tokens: list[str]) -> Any:
    make = secure_kafka.make_token

    def made(*args: Any) -> str:
        tokens.append(make(*args))
        return tokens[-1]

    return made


def be_made(config: dict[str, Any], evidence: Evidence) -> None:
    """Make the objects before there is a token, which alone would keep them from being pickled."""
    security, _ = split_security(config)
    evidence.add(security, security.sasl and security.sasl.tokens and security.sasl.tokens._fetch)


def live(config: dict[str, Any], topic: str, evidence: Evidence) -> None:
    with GroupMember(config, observers=[evidence.add]) as member:
        member.subscribe([topic])
        member.wait_until(MemberState.STABLE, PATIENCE_S)
        evidence.add(member, member.snapshot, member.health(), member.trace.lines(), vars(member))
        evidence.add(
            member.explain(), member.last_rebalance, *told_by(health.write(evidence.directory / "live", member))
        )
        evidence.add(vars(member._transport), member._transport.security)


def told_by(probe: HealthFile) -> list[str]:
    with probe:
        return [probe.path.read_text()]


def fail(config: dict[str, Any], topic: str, evidence: Evidence) -> None:
    try:
        with GroupMember(config, observers=[evidence.add]) as member:
            member.subscribe([topic])
            found = member.wait_until(lambda snapshot: snapshot.error is not None, PATIENCE_S)
            evidence.add(member.snapshot, member.health(), member.trace.lines(), member.explain())
            evidence.add(*told_by(health.write(evidence.directory / "live", member)))
            assert found.error is not None
            evidence.add_error(found.error)
    except ConfigError as error:
        evidence.add_error(error)


def read(config: dict[str, Any], topic: str, evidence: Evidence) -> None:
    consumer = Consumer(config)
    consumer.subscribe([topic])
    consumer.poll(0.5)
    evidence.add(consumer, consumer.snapshot, vars(consumer))
    consumer.close()


def fail_to_read(config: dict[str, Any], topic: str, evidence: Evidence) -> None:
    try:
        with contextlib.closing(Consumer(config)) as consumer:
            consumer.subscribe([topic])
            evidence.add(consumer, vars(consumer))
            evidence.add(consumer.poll(2.0), consumer.snapshot)
    except KafkaException as error:
        evidence.add_error(error)


def fail_to_administer(config: dict[str, Any], evidence: Evidence) -> None:
    try:
        with GroupAdmin(config, timeout_s=3) as admin:
            evidence.add(admin, vars(admin))
            admin.list()
    except MembershipError as error:
        evidence.add_error(error)
    else:
        pytest.fail("it was let in")


def fail_at_the_prompt(secured: SecureKafka, directory: Path) -> None:
    """Let the interpreter print the traceback, so that it is among the output."""
    file = directory / "client.properties"
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    jaas = f'{module} required username="{USER}" password="{WRONG}";'
    file.write_text(f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config={jaas}\n")
    address = secured.cluster.address_of("SASL")
    assert main(["groups", "list", "--bootstrap-server", address, "--command-config", str(file)]) != 0
