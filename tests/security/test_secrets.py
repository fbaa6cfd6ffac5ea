"""Everything that a run produced is searched for every secret that it was given."""

from __future__ import annotations

import base64
import contextlib
import logging
import pickle
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from membership_client import Consumer, GroupMember, MemberState
from membership_client.telemetry import backend
from tests.security import secure_kafka
from tests.security.certificates import KEY_PASSWORD
from tests.security.secure_kafka import CLIENT_SECRET, PATIENCE_S, PLAIN_PASSWORD, SCRAM_PASSWORD, SecureKafka
from tests.security.token_endpoint import TokenEndpoint
from tests.telemetry.recorder import Recorder

pytestmark = pytest.mark.kafka

SECRETIVE = ("locked-key", "pem-strings", "plain", "scram-512", "token", "oidc")
WRONG = "wrong-secret-Jf60"


class Evidence:
    """Whatever anybody could read afterwards."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.recorder = Recorder()
        self.tokens: list[str] = []
        self._found: list[bytes] = []

    def add(self, *things: object) -> None:
        """Their texts, and their pickles where they have any."""
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

    def add_files(self) -> None:
        traces = [path.read_bytes() for path in self.directory.rglob("*") if path.is_file()]
        assert any(b"STABLE" in trace for trace in traces)
        self._found += traces

    def assert_free_of(self, secrets: list[str]) -> None:
        """As they are, and as they are sent in headers."""
        everything = b"\n".join(self._found)
        forms = [form for secret in secrets for form in (secret.encode(), base64.b64encode(secret.encode())[:-4])]
        assert not [form for form in forms if form in everything]


@pytest.fixture
def evidence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> Iterator[Evidence]:
    """Of a process that tells all it can."""
    evidence = Evidence(tmp_path)
    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(backend, "of_process", lambda: evidence.recorder.backend)
    monkeypatch.setattr(secure_kafka, "make_token", remembering(evidence.tokens))
    yield evidence
    evidence.recorder.close()


def spoilt(config: dict[str, Any]) -> dict[str, Any]:
    """The same with another secret, where a broker or a token endpoint is the one to notice it."""
    keys = {"sasl.password", "sasl.oauthbearer.client.secret"}
    wrong = dict.fromkeys(config.keys() & keys, WRONG)
    return {**config, **wrong, **({"oauth_cb": lambda _: (WRONG, 0.0)} if "oauth_cb" in config else {})}


def secrets_of(secured: SecureKafka, tokens: list[str]) -> list[str]:
    keys = (secured.certificates.key_pem, secured.certificates.locked_key_pem)
    lines = [line for pem in keys for line in pem.splitlines()[1:-1]]
    return [PLAIN_PASSWORD, SCRAM_PASSWORD, CLIENT_SECRET, KEY_PASSWORD, WRONG, *lines, *tokens]


@pytest.mark.parametrize("way", SECRETIVE)
def test_no_secret_is_left_anywhere(
    way: str,
    secured: SecureKafka,
    endpoint: TokenEndpoint,
    evidence: Evidence,
    request: pytest.FixtureRequest,
) -> None:
    """Traces, logs, spans, metrics, errors, texts, pickles and files: of a life that goes well, and of one that does not."""
    topic = secured.new_topic()
    more = {"group.id": topic, "trace.file": str(evidence.directory / "{member}.trace")}
    config = {**secured.ways_in(endpoint.url)[way], **more}
    live(config, topic, evidence)
    fail(spoilt(config), topic, evidence)
    read({**config, "debug": "all", "logger": logging.getLogger("librdkafka")}, topic, evidence)
    evidence.add_telemetry()
    evidence.add_files()
    evidence.add(request.getfixturevalue("caplog").text, *request.getfixturevalue("capfd").readouterr())
    evidence.assert_free_of(secrets_of(secured, [*evidence.tokens, *endpoint.given]))


def remembering(tokens: list[str]) -> Any:
    make = secure_kafka.make_token

    def made(*args: Any) -> str:
        tokens.append(make(*args))
        return tokens[-1]

    return made


def live(config: dict[str, Any], topic: str, evidence: Evidence) -> None:
    with GroupMember(config, observers=[evidence.add]) as member:
        member.subscribe([topic])
        member.wait_until(MemberState.STABLE, PATIENCE_S)
        evidence.add(member, member.snapshot, member.health(), member.trace.lines(), vars(member))
        evidence.add(vars(member._transport), member._transport._security)


def fail(config: dict[str, Any], topic: str, evidence: Evidence) -> None:
    with GroupMember(config, observers=[evidence.add]) as member:
        member.subscribe([topic])
        found = member.wait_until(lambda snapshot: snapshot.error is not None or bool(snapshot.owned), PATIENCE_S)
        evidence.add(member.snapshot, member.health(), member.trace.lines())
        if found.error is not None:
            evidence.add_error(found.error)


def read(config: dict[str, Any], topic: str, evidence: Evidence) -> None:
    consumer = Consumer(config)
    consumer.subscribe([topic])
    consumer.poll(0.5)
    evidence.add(consumer, consumer.snapshot, vars(consumer))
    consumer.close()
