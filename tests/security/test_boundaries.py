"""Limits and defaults of the security settings, at their boundaries: each was a mutant that no quick test caught."""

from __future__ import annotations

import base64
import datetime as dt
import json
import socket
import ssl
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption
from cryptography.hazmat.primitives.serialization.pkcs12 import serialize_key_and_certificates

from membership_client import ConfigError, Security
from membership_client.security import keys, oidc, tls_context, tokens
from membership_client.security.aws import AwsTokens
from membership_client.security.conversations import ConversationError, converse
from membership_client.security.keys import flag, pairs
from membership_client.security.oidc import _life_s, _UnusableError
from membership_client.security.secret import Secret
from membership_client.security.settings import Tls, split_security, with_password
from membership_client.security.tokens import CallbackTokens, Token, TokenCache, TokenError, unsecured_tokens
from tests.security.assertions import rsa_key
from tests.security.certificates import STORE_PASSWORD, Certificates

B = "sasl.oauthbearer."
AWS = {
    "security.protocol": "sasl_ssl",
    "sasl.mechanism": "OAUTHBEARER",
    f"{B}method": "oidc",
    f"{B}metadata.authentication.type": "aws_iam",
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


def sasl(mechanism: str, **more: Any) -> Security:
    """A configuration with a password, unless other keys are given."""
    keys = {key.replace("_", "."): value for key, value in more.items()}
    return Security.from_dict({"security.protocol": "sasl_ssl", "sasl.mechanism": mechanism, **keys})


# --- AWS -------------------------------------------------------------------------------------------------------------


def aws(monkeypatch: pytest.MonkeyPatch, config: str) -> AwsTokens:
    """The source of tokens for this `sasl.oauthbearer.config`; boto3 is not called."""
    monkeypatch.setattr(keys, "_is_there", lambda module: module == "boto3")
    made = Security.from_dict({**AWS, f"{B}config": f"region=r,audience=a{config}"}).sasl
    assert made is not None
    assert made.tokens is not None
    fetch = made.tokens._fetch
    assert isinstance(fetch, AwsTokens)
    return fetch


def test_aws_takes_fifty_tags_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """STS refuses more than 50 tags, so the configuration does."""
    fifty = "".join(f",tag_t{number}=v" for number in range(50))
    assert len(aws(monkeypatch, fifty).tags) == 50
    with pytest.raises(ConfigError, match="up to 50 of tag_NAME"):
        aws(monkeypatch, f"{fifty},tag_more=v")


def test_aws_has_defaults_and_an_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tokens last 300 s without duration_seconds; sts_endpoint and aws_debug are taken."""
    plain = aws(monkeypatch, "")
    assert (plain.duration_s, plain.algorithm, plain.endpoint, plain.tags, plain.extensions) == (
        300,
        "ES384",
        None,
        {},
        {},
    )
    assert aws(monkeypatch, ",sts_endpoint=https://sts.test,aws_debug=all").endpoint == "https://sts.test"
    made = AwsTokens(region="r", audience="a")
    assert (made.duration_s, made.tags, made.extensions) == (300, {}, {})


@pytest.mark.parametrize("duration_s", [60, 3600])
def test_aws_takes_the_shortest_and_the_longest_duration(monkeypatch: pytest.MonkeyPatch, duration_s: int) -> None:
    """They are a minute and an hour."""
    assert aws(monkeypatch, f",duration_seconds={duration_s}").duration_s == duration_s


def test_an_old_boto3_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its client of STS has no such tokens."""
    boto3 = types.ModuleType("boto3")
    client = types.SimpleNamespace(client=lambda *_, **__: object())
    boto3.Session = lambda **_: client  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "boto3", boto3)
    with pytest.raises(TokenError, match=r"it needs boto3 1\.42\.25 or newer"):
        AwsTokens(region="r", audience="a")()


def test_the_client_and_the_scope_of_the_configuration_are_asked_for() -> None:
    """The token endpoint gets both."""
    keys = {f"{B}method": "oidc", f"{B}client.id": "alice", f"{B}client.secret": "x", f"{B}scope": "kafka"}
    made = sasl("OAUTHBEARER", **keys, **{f"{B}token.endpoint.url": "https://idp.test/"}).sasl
    assert made is not None
    assert made.tokens is not None
    fetch: Any = made.tokens._fetch
    assert (fetch.client_id, fetch.scope) == ("alice", "kafka")


def test_boto3_gets_the_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client of STS is made for the endpoint of the configuration, or without one."""
    asked: list[dict[str, Any]] = []
    answer = {"WebIdentityToken": "a.b.c", "Expiration": dt.datetime.now(dt.UTC) + dt.timedelta(minutes=5)}

    def client(_: str, **more: Any) -> Any:
        asked.append(more)
        return types.SimpleNamespace(get_web_identity_token=lambda **_: answer)

    boto3 = types.ModuleType("boto3")
    boto3.Session = lambda **_: types.SimpleNamespace(client=client)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "boto3", boto3)
    aws(monkeypatch, ",sts_endpoint=https://sts.test")()
    aws(monkeypatch, "")()
    assert asked == [{"region_name": "r", "endpoint_url": "https://sts.test"}, {"region_name": "r"}]


# --- passwords and tickets -------------------------------------------------------------------------------------------


def test_plain_sends_the_user_and_the_password() -> None:
    """RFC 4616: one message, NUL before the user and before the password, and nothing after it."""
    made = sasl("PLAIN", sasl_username="alice", sasl_password="hunter2").sasl
    assert made is not None
    conversation, secret = converse(made, "host", 1.0)
    assert next(conversation) == b"\0alice\0hunter2"
    assert secret == Secret("hunter2")
    with pytest.raises(StopIteration):
        conversation.send(b"")


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_scram_checks_the_last_message(mechanism: str) -> None:
    """Both hashes are supported, and a broker that cannot prove that it knows the password is refused."""
    import scramp

    made = sasl(mechanism, sasl_username="alice", sasl_password="hunter2").sasl
    assert made is not None
    maker = scramp.ScramMechanism(mechanism)
    server = maker.make_server(lambda _: maker.make_auth_info("hunter2"))
    conversation, _ = converse(made, "host", 1.0)
    server.set_client_first(next(conversation).decode())
    server.set_client_final(conversation.send(server.get_server_first().encode()).decode())
    with pytest.raises(ConversationError):
        conversation.send(b"v=bm90IHRoZSBwcm9vZg==")


def test_new_credentials_have_the_new_password() -> None:
    """set_sasl_credentials() replaces the user and the password."""
    changed = with_password(sasl("PLAIN", sasl_username="alice", sasl_password="old"), "bob", "new").sasl
    assert changed is not None
    assert (changed.username, changed.password) == ("bob", Secret("new"))


def test_kerberos_takes_neither_password_nor_token(monkeypatch: pytest.MonkeyPatch) -> None:
    """A password that is not used is refused, and the missing mechanism is named only if it is missing."""
    monkeypatch.setattr(keys, "_is_there", lambda _: True)
    for useless in ({"sasl_password": "hunter2"}, {"sasl_username": "alice"}, {"oauth_cb": print}):
        with pytest.raises(ConfigError, match="no effect, because GSSAPI takes a ticket of Kerberos"):
            Security.from_dict({"security.protocol": "sasl_ssl", "sasl.mechanism": "GSSAPI", **useless})
    monkeypatch.setattr(keys, "_is_there", lambda _: False)
    with pytest.raises(ConfigError, match=r"^sasl\.mechanism=GSSAPI \(librdkafka's default"):
        Security.from_dict({"security.protocol": "sasl_ssl"})
    with pytest.raises(ConfigError, match=r"^sasl\.mechanism=GSSAPI needs the package"):
        sasl("GSSAPI")


# --- tokens ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("life_s", "is_taken"), [("1", True), ("2147483647", True), ("0", False), ("2147483648", False)]
)
def test_the_life_of_an_unsecured_token_has_limits(life_s: str, is_taken: bool) -> None:
    """From 1 s to the largest int32, both included."""
    config = f"principal=alice lifeSeconds={life_s}"
    if is_taken:
        assert unsecured_tokens(config)().life_s == int(life_s)
        return
    with pytest.raises(ConfigError, match="lifeSeconds must be"):
        unsecured_tokens(config)


def test_a_refused_token_that_no_broker_took_is_not_too_old() -> None:
    """forget() is True only for a token that a broker had accepted, and False if there is no token at all."""
    cache = TokenCache(lambda: Token(text=Secret("t"), life_s=100.0))
    assert not cache.forget()
    cache.token(5.0)
    assert not cache.forget()
    cache.token(5.0)
    cache.accepted()
    assert cache.forget()
    assert not cache.forget()


def test_tokens_age_by_the_clock_that_counts_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    """CLOCK_BOOTTIME where the system has it, the monotonic clock elsewhere."""
    monkeypatch.setattr(time, "clock_gettime", lambda clock: 1000.0 + clock)
    monkeypatch.setattr(time, "monotonic", lambda: 5.0)
    monkeypatch.setattr(tokens, "_CLOCK", 7)
    assert tokens.boot_time() == 1007.0
    monkeypatch.setattr(tokens, "_CLOCK", None)
    assert tokens.boot_time() == 5.0


def test_a_plain_connection_has_a_limit_from_the_start() -> None:
    """Sending, too, may wait for the peer."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        connection = oidc._PlainConnection("127.0.0.1", server.getsockname()[1])
        connection.connect()
        with connection.sock:
            assert connection.sock.gettimeout() == oidc.TIMEOUT_S


def test_a_read_waits_for_the_rest_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The socket's timeout is what is left of the answer's time, and at its end the read fails."""
    waits: list[float] = []
    reading: Any = types.SimpleNamespace(settimeout=waits.append)
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    ends_at = oidc._wait_until(reading, None)
    now = 107.0
    assert oidc._wait_until(reading, ends_at) == ends_at == 110.0
    assert waits == [10.0, 3.0]
    now = 110.0
    with pytest.raises(TimeoutError):
        oidc._wait_until(reading, ends_at)


# --- values ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "means"),
    [
        *((word, True) for word in ("true", "T", "1", 1, True)),
        *((word, False) for word in ("false", "F", "0", 0, False)),
    ],
)
def test_a_flag_has_librdkafkas_words(value: object, means: bool) -> None:
    """They may be in any case, a number or a bool."""
    assert flag({"enable": value}, "enable") is means


@pytest.mark.parametrize(
    ("listed", "found"),
    [
        ("a=1,b=2", {"a": "1", "b": "2"}),
        (",a=1", {"a": "1"}),
        ("a=1\\,2,b=3", {"a": "1,2", "b": "3"}),
        ("a=1\\\\,b=2", {"a": "1\\", "b": "2"}),
        ("a=1\\\\\\,2", {"a": "1\\,2"}),
    ],
)
def test_pairs_are_separated_by_commas(listed: str, found: dict[str, str]) -> None:
    """A backslash makes the next comma, or the next backslash, a part of the value."""
    assert pairs({"key": listed}, "key") == found


@pytest.mark.parametrize("listed", ["=b", "a", "a=1,=2"])
def test_pairs_have_names(listed: str) -> None:
    """A value without a name would otherwise have an empty name."""
    with pytest.raises(ConfigError, match="must be name=value pairs"):
        pairs({"key": listed}, "key")


def test_a_secret_is_hidden_as_json_writes_it() -> None:
    """The last letter of the secret is hidden, too."""
    secret = 'say "ö"'
    assert Secret(secret).hide_in(json.dumps([secret])) == '["***"]'
    assert Secret(secret).hide_in(json.dumps([secret]).replace("00f6", "00F6")) == '["***"]'


@pytest.mark.parametrize(
    "form", [quote, quote_plus, lambda text: quote(text).lower(), lambda text: text.encode().decode("latin-1")]
)
def test_a_secret_is_hidden_as_urls_forms_and_headers_write_it(form: Callable[[str], str]) -> None:
    """In URLs the digits of %C3 may be lower-case, too; a header in UTF-8 is read as Latin-1."""
    assert Secret("ö +&").hide_in(f"<{form('ö +&')}>") == "<***>"


def test_no_secret_hides_nothing() -> None:
    """An empty secret once was replaced between any two letters."""
    assert Secret("").hide_in("told") == "told"


def test_a_secret_is_like_another_one_only() -> None:
    """It does not equal a text with the same letters."""
    assert Secret("hunter2") == Secret("hunter2")
    assert Secret("hunter2") != "hunter2"


# --- TLS -------------------------------------------------------------------------------------------------------------


def test_a_directory_of_authorities_is_trusted(files: Certificates) -> None:
    """The certificates of a directory are found when a broker shows one of theirs."""
    made = Security.from_dict({"security.protocol": "ssl", "ssl.ca.location": str(files.hashed(Path(files.authority)))})
    assert made.tls is not None
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    files.leaf("broker.test").configure_cert(server)
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        tls_context.context_of(made.tls).wrap_bio(to_client, to_server, server_hostname="broker.test"),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    for end in ends * 3:
        try:
            end.do_handshake()
        except ssl.SSLWantReadError:
            continue
    assert ends[0].cipher() is not None


def test_a_renewed_key_is_read_again(files: Certificates, tmp_path: Path) -> None:
    """A key file that changes makes a new context, as a changed certificate does."""
    key = tmp_path / "key.pem"
    key.write_bytes(Path(files.key).read_bytes())
    made = Security.from_dict(
        {"security.protocol": "ssl", "ssl.certificate.location": str(files.certificate), "ssl.key.location": str(key)}
    )
    assert made.tls is not None
    first = tls_context.context_of(made.tls)
    assert tls_context.context_of(made.tls) is first
    key.write_text("no key any more")
    with pytest.raises(ConfigError, match=r"ssl\.key\.location"):
        tls_context.context_of(made.tls)


def test_a_renewed_store_is_read_again(files: Certificates, tmp_path: Path) -> None:
    """A PKCS#12 store holds key and certificate, which are renewed as well."""
    store = tmp_path / "client.p12"
    store.write_bytes(Path(files.key_store).read_bytes())
    made = Security.from_dict(
        {"security.protocol": "ssl", "ssl.keystore.location": str(store), "ssl.keystore.password": STORE_PASSWORD}
    )
    assert made.tls is not None
    first = tls_context.context_of(made.tls)
    assert tls_context.context_of(made.tls) is first
    store.write_text("no store any more")
    with pytest.raises(ConfigError, match=r"ssl\.keystore"):
        tls_context.context_of(made.tls)


def test_a_certificate_authority_is_not_shown(files: Certificates) -> None:
    """It is no secret, but would add two kilobytes to every repr of a configuration."""
    made = Security.from_dict({"security.protocol": "ssl", "ssl.ca.pem": Path(files.authority).read_text()})
    assert "BEGIN" not in repr(made)


@pytest.mark.parametrize(("more", "told"), [(0, "cannot be used"), (1, "is longer than 65536 bytes")])
def test_a_certificate_may_fill_the_pipe(more: int, told: str, files: Certificates) -> None:
    """OpenSSL gets 65,536 bytes, in which it finds no certificate; one byte more is refused before."""
    with pytest.raises(ConfigError, match=rf"ssl\.certificate\.pem.*{told}"):
        Security.from_dict(
            {
                "security.protocol": "ssl",
                "ssl.certificate.pem": "x" * (65536 + more),
                "ssl.key.pem": files.key_pem,
            }
        )


def test_a_store_without_a_key_is_refused(files: Certificates, tmp_path: Path) -> None:
    """A PKCS#12 file with a certificate alone, or with a key alone, cannot identify the client."""
    certificate = x509.load_pem_x509_certificate(Path(files.certificate).read_bytes())
    store = tmp_path / "client.p12"
    locked = BestAvailableEncryption(b"password")
    for key, others in ((None, [certificate]), (rsa_key(), None)):
        store.write_bytes(serialize_key_and_certificates(None, key, None, others, locked))
        with pytest.raises(ConfigError, match="has no private key with its certificate"):
            Security.from_dict(
                {"security.protocol": "ssl", "ssl.keystore.location": str(store), "ssl.keystore.password": "password"}
            )


@pytest.mark.parametrize(("verification", "mode"), [("true", ssl.CERT_REQUIRED), ("false", ssl.CERT_NONE)])
def test_certificates_are_verified_unless_switched_off(verification: str, mode: ssl.VerifyMode) -> None:
    """enable.ssl.certificate.verification decides whether a broker's certificate is verified."""
    made = Security.from_dict({"security.protocol": "ssl", "enable.ssl.certificate.verification": verification})
    assert made.tls is not None
    context = tls_context.context_of(made.tls)
    assert (context.verify_mode, context.check_hostname) == (mode, verification == "true")


# --- keys without effect ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", [f"{B}scope", f"{B}grant.type", f"{B}assertion.file", f"{B}client.id"])
@pytest.mark.parametrize("kind", ["azure_imds", "aws_iam"])
def test_clouds_take_no_keys_of_token_endpoints(kind: str, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that has no effect with the cloud's identity is refused by its name."""
    monkeypatch.setattr(keys, "_is_there", lambda _: True)
    config = {**AWS, f"{B}metadata.authentication.type": kind, f"{B}config": "query=a,region=r,audience=a"}
    with pytest.raises(ConfigError, match=rf"^{key}: no effect"):
        Security.from_dict({**config, key: "client_credentials"})


def test_aws_needs_a_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the key that is missing."""
    monkeypatch.setattr(keys, "_is_there", lambda _: True)
    config = {key: value for key, value in AWS.items() if key != f"{B}config"}
    with pytest.raises(ConfigError, match=r"sasl\.oauthbearer\.config must be set: .*aws_iam needs it"):
        Security.from_dict(config)


def test_aws_takes_no_token_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    """aws_iam asks AWS STS, so an URL would have no effect."""
    monkeypatch.setattr(keys, "_is_there", lambda _: True)
    config = {**AWS, f"{B}config": "region=r,audience=a", f"{B}token.endpoint.url": "https://idp.test"}
    with pytest.raises(ConfigError, match=r"token\.endpoint\.url: no effect, because aws_iam asks AWS STS"):
        Security.from_dict(config)


def test_two_names_of_a_key_may_agree() -> None:
    """A configuration may be written for two clients."""
    given = {"security.protocol": "sasl_ssl", "sasl.username": "a", "sasl.password": "b"}
    made = Security.from_dict({**given, "sasl.mechanism": "PLAIN", "sasl.mechanisms": "plain"})
    assert made.sasl is not None
    with pytest.raises(ConfigError, match="two names of one key"):
        Security.from_dict({**given, "sasl.mechanism": "PLAIN", "sasl.mechanisms": "SCRAM-SHA-256"})


def test_parts_are_of_their_classes() -> None:
    """A path in place of TLS settings was once found only when the first connection was made."""
    given: Any = "authority.pem"
    with pytest.raises(ConfigError, match="tls must be a Tls"):
        Security(tls=given)
    with pytest.raises(ConfigError, match="sasl must be a Sasl"):
        Security(sasl=given)


def test_tls_verifies_unless_told_otherwise() -> None:
    """This holds for TLS settings without a configuration, too."""
    assert (Tls().verifies, Tls().checks_host) == (True, True)


def test_new_credentials_need_a_mechanism_with_a_password() -> None:
    """Without SASL, or with tokens, there is no password to replace, which is a ConfigError."""
    tokens = {"security.protocol": "sasl_ssl", "sasl.mechanism": "OAUTHBEARER", "oauth_cb": lambda _: ("token", 0.0)}
    for security in (Security.from_dict({}), Security.from_dict(tokens)):
        with pytest.raises(ConfigError, match="this configuration has no password"):
            with_password(security, "bob", "new")


@pytest.mark.parametrize(("username", "password"), [(None, "new"), ("bob", None)])
def test_new_credentials_are_a_user_and_a_password(username: str | None, password: str | None) -> None:
    """None is no password: the next connection would have no credentials."""
    plain = {"security.protocol": "sasl_ssl", "sasl.mechanism": "PLAIN", "sasl.username": "a", "sasl.password": "b"}
    with pytest.raises(ConfigError, match=r"sasl\.(username|password) must be set: set_sasl_credentials\(\) needs it"):
        with_password(Security.from_dict(plain), username, password)


def test_a_key_without_a_value_is_not_set() -> None:
    """Programs may pass on an unset environment variable, which is None."""
    none = dict.fromkeys(("security.protocol", "sasl.password", "ssl.ca.location"))
    assert split_security({**none, "group.id": "g"}) == (Security.from_dict({}), {"group.id": "g"})


def test_without_authorities_those_of_the_system_are_trusted(
    files: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are OpenSSL's own; here SSL_CERT_FILE names them."""
    monkeypatch.setenv("SSL_CERT_FILE", str(files.authority))
    for location in (None, "probe"):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        tls_context.trust(context, location, None, "ssl.ca")
        assert len(context.get_ca_certs()) >= 1


def test_a_token_that_is_awaited_is_not_told_by_an_earlier_error() -> None:
    """The first attempt failed; the second has not ended."""
    over = threading.Event()
    attempts: Iterator[Callable[[], object]] = iter([lambda: 1 / 0, over.wait])

    def fetch() -> Token:
        next(attempts)()
        raise AssertionError("it has ended")

    cache = TokenCache(fetch)
    with pytest.raises(ZeroDivisionError):
        cache.token(10.0)
    try:
        with pytest.raises(TokenError, match=r"has not answered within 0\.01 s"):
            cache.token(0.01)
    finally:
        over.set()


def test_extensions_of_a_callback_may_be_none() -> None:
    """Confluent-kafka accepts it, too."""
    assert CallbackTokens(lambda _: ("token", 0.0, "alice", None))().extensions == {}


@pytest.mark.parametrize("claims", ["", "{}", '{"exp": null}', "[]", '{"exp": 1e999}', f'{{"exp": {10**400}}}'])
def test_a_token_that_does_not_tell_its_end_is_refused_in_words(claims: str) -> None:
    """The endpoint does not report it either."""
    token = f"a.{base64.urlsafe_b64encode(claims.encode()).decode()}.c"
    with pytest.raises(_UnusableError, match="says for how many seconds the token is valid"):
        _life_s(token, None, 0.0)
    with pytest.raises(_UnusableError, match="says for how many seconds the token is valid"):
        _life_s("opaque", None, 0.0)


@pytest.mark.parametrize("exp", [100, 1000, 10_000])
def test_claims_of_any_length_tell_when_a_token_ends(exp: int) -> None:
    """In a token, Base64 has no padding."""
    claims = base64.urlsafe_b64encode(f'{{"exp":{exp}}}'.encode()).decode().rstrip("=")
    assert _life_s(f"a.{claims}.c", None, 0.0) == exp


@pytest.mark.parametrize("config", ["principal=a  lifeSeconds=60", " principal=a lifeSeconds=60 "])
def test_spaces_between_the_parts_of_an_unsecured_token_are_ignored(config: str) -> None:
    """Two spaces, or one at an end, make no empty part."""
    assert unsecured_tokens(config)().life_s == 60


@pytest.mark.parametrize(
    "config",
    ["principal=a extension_=x", "principal=a extension_a1=x", "principal=a other=x", "principal=a lifeSeconds=\u0663"],
)
def test_extensions_have_letters_and_numbers_are_ascii(config: str) -> None:
    """RFC 7628 allows letters only in the name of an extension; other digits than 0 to 9 are refused."""
    with pytest.raises(ConfigError):
        unsecured_tokens(config)


def test_the_duration_of_aws_has_ascii_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python accepts Arabic digits, and AWS does not."""
    with pytest.raises(ConfigError, match="duration_seconds must be"):
        aws(monkeypatch, ",duration_seconds=\u0663\u0660\u0660")
