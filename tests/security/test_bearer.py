"""Every source of tokens that the configuration can name: its requests, and the configurations that are refused."""

from __future__ import annotations

import base64
import datetime as dt
import json
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from membership_client import ConfigError, Security
from membership_client.security import keys
from membership_client.security.tokens import Token, TokenError
from tests.security.assertions import AUDIENCE, PASSPHRASE, claims_of, ec_key, locked_pem, rsa_key
from tests.security.secure_kafka import USER, make_token
from tests.security.token_endpoint import TokenEndpoint

B = "sasl.oauthbearer."
JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
BASE = {"security.protocol": "sasl_ssl", "sasl.mechanism": "OAUTHBEARER"}
UNSECURED = {**BASE, "enable.sasl.oauthbearer.unsecure.jwt": True}
OIDC = {**BASE, f"{B}method": "OIDC", f"{B}token.endpoint.url": "https://idp.test/token"}
ASSERTION = {**OIDC, f"{B}grant.type": JWT_BEARER}
AZURE = {**BASE, f"{B}method": "oidc", f"{B}metadata.authentication.type": "azure_imds"}
AWS = {**AZURE, f"{B}metadata.authentication.type": "aws_iam"}
CLIENT = {f"{B}client.id": "alice", f"{B}client.secret": "hunter2"}


def source(config: dict[str, Any]) -> Callable[[], Token]:
    """The source of tokens of a configuration."""
    sasl = Security.from_dict(config).sasl
    assert sasl is not None
    assert sasl.tokens is not None
    return sasl.tokens._fetch


def payload_of(token: str) -> dict[str, Any]:
    part = token.split(".")[1]
    found: dict[str, Any] = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return found


# --- tokens without a signature --------------------------------------------------------------------------------------


def test_an_unsecured_token() -> None:
    """It has librdkafka's names and defaults, and extensions."""
    config = (
        "principal=alice principalClaimName=user scope=a,b,,a scopeClaimName=roles lifeSeconds=600 extension_tenant=red"
    )
    token = source({**UNSECURED, f"{B}config": config})()
    claims = payload_of(token.text.reveal())
    assert (claims["user"], claims["roles"], claims["exp"] - claims["iat"]) == ("alice", ["a", "b"], 600)
    assert token.life_s == 600
    assert token.extensions == {"tenant": "red"}
    plain = payload_of(source({**UNSECURED, f"{B}config": "principal=alice"})().text.reveal())
    assert (plain.keys(), plain["exp"] - plain["iat"]) == ({"sub", "iat", "exp"}, 3600)


@pytest.mark.parametrize(
    "config",
    [
        "hunter2",
        "lifeSeconds=60",
        "principal=",
        "principal=a lifeSeconds=0",
        "principal=a lifeSeconds=hunter2",
        "x=hunter2",
    ],
)
def test_what_is_no_unsecured_token(config: str) -> None:
    """It is refused when the member is made, and not shown, because people put secrets into this key."""
    with pytest.raises(ConfigError, match=r"sasl\.oauthbearer\.config") as refused:
        Security.from_dict({**UNSECURED, f"{B}config": config})
    assert "hunter2" not in str(refused.value)


# --- assertions ------------------------------------------------------------------------------------------------------


def signed(**more: Any) -> dict[str, Any]:
    """A configuration whose assertions the endpoint accepts."""
    prefix = f"{B}assertion."
    key = {f"{prefix}private.key.pem": locked_pem(rsa_key()), f"{prefix}private.key.passphrase": PASSPHRASE}
    claims = {f"{prefix}claim.aud": AUDIENCE, f"{prefix}claim.iss": USER}
    return {
        **ASSERTION,
        **key,
        **claims,
        **{f"{prefix}{name.replace('_', '.')}": value for name, value in more.items()},
    }


def assertion_of(config: dict[str, Any]) -> dict[str, Any]:
    """The claims of the next assertion, as an endpoint reads them."""
    made: Any = source(config)
    claims = claims_of(made.assertion().reveal())
    assert claims is not None
    return claims


@pytest.mark.parametrize("algorithm", ["RS256", "es256"])
def test_a_signed_assertion(algorithm: str) -> None:
    """Both algorithms work; it is valid from a minute ago for five minutes, with the claims of the configuration."""
    key = rsa_key() if algorithm == "RS256" else ec_key()
    claims = assertion_of(signed(algorithm=algorithm, private_key_pem=locked_pem(key), claim_sub="till"))
    assert claims["header"] == {"alg": algorithm.upper(), "typ": "JWT"}
    assert (claims["exp"] - claims["iat"], claims["iat"] - claims["nbf"]) == (300, 60)
    assert (claims["sub"], claims["iss"]) == ("till", USER)
    assert "jti" not in claims


def test_an_assertion_with_everything(tmp_path: Path) -> None:
    """It has a template, other times, and a new id each time."""
    template = tmp_path / "template.json"
    template.write_text(json.dumps({"header": {"kid": "one", "alg": "none"}, "payload": {"iss": "x", "tenant": "red"}}))
    config = signed(
        jwt_template_file=str(template), claim_exp_seconds="60", claim_nbf_seconds=5.0, claim_jti_include="true"
    )
    first, second = assertion_of(config), assertion_of(config)
    assert first["header"] == {"kid": "one", "alg": "RS256", "typ": "JWT"}
    assert (first["exp"] - first["iat"], first["iat"] - first["nbf"]) == (60, 5)
    assert (first["iss"], first["tenant"]) == (USER, "red")
    assert first["jti"] != second["jti"]


@pytest.mark.parametrize("template", ["", "[]", "{}", '{"header": {}, "payload": 7}', "[" * 100_000])
def test_a_template_that_is_none_is_told_in_a_sentence(tmp_path: Path, template: str) -> None:
    """This holds for any content of the file."""
    (tmp_path / "template.json").write_text(template)
    with pytest.raises(ConfigError, match=r"jwt\.template\.file is not a JSON object with a header and a payload"):
        Security.from_dict(signed(jwt_template_file=str(tmp_path / "template.json")))


@pytest.mark.parametrize("key", [ec.generate_private_key(ec.SECP384R1()), ed25519.Ed25519PrivateKey.generate()])
def test_a_key_of_another_curve_is_refused(key: Any) -> None:
    """ES256 has numbers of 32 bytes."""
    with pytest.raises(ConfigError, match="ES256 needs a key on the curve P-256"):
        Security.from_dict(signed(algorithm="ES256", private_key_pem=locked_pem(key)))


def test_the_key_of_assertions_may_be_a_file(tmp_path: Path) -> None:
    """The error for a file that cannot be read names it."""
    (tmp_path / "key.pem").write_text(locked_pem(rsa_key()))
    config = signed(private_key_file=str(tmp_path / "key.pem"))
    del config[f"{B}assertion.private.key.pem"]
    assert assertion_of(config)["iss"] == USER
    (tmp_path / "key.pem").unlink()
    with pytest.raises(ConfigError, match=r"private\.key\.file cannot be read: No such file"):
        Security.from_dict(config)


def test_an_assertion_that_somebody_else_renews(endpoint: TokenEndpoint, tmp_path: Path) -> None:
    """The file is read for every token. Without the file there is no token, until it is there again."""
    file = tmp_path / "assertion"
    fetch = source({**ASSERTION, f"{B}token.endpoint.url": endpoint.url, f"{B}assertion.file": str(file)})
    with pytest.raises(TokenError, match=r"assertion\.file cannot be read: FileNotFoundError"):
        fetch()
    made: Any = source(signed())
    file.write_text(made.assertion().reveal() + "\n")
    assert fetch().text.reveal() == endpoint.given[-1]
    file.write_text(made.assertion().reveal()[:-8] + "AAAAAAAA")
    with pytest.raises(TokenError, match="HTTP status 401, invalid_grant"):
        fetch()


@pytest.mark.parametrize(
    ("answer", "chosen"),
    [
        ({"access_token": "opaque", "expires_in": 9}, "opaque"),
        ({"id_token": "a.b.c", "expires_in": 9}, "a.b.c"),
        ({"access_token": "opaque", "id_token": "a.b.c", "expires_in": 9}, "a.b.c"),
        ({"access_token": "x.y.z", "id_token": "a.b.c", "expires_in": 9}, "x.y.z"),
    ],
)
def test_which_token_is_shown(
    answer: dict[str, Any], chosen: str, endpoint: TokenEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some endpoints also return an id token, which a broker can read if it cannot read the other."""
    monkeypatch.setattr(endpoint, "_answer", lambda *_: (200, answer))
    fetch = source(signed() | {f"{B}token.endpoint.url": endpoint.url})
    assert fetch().text.reveal() == chosen


def test_an_endpoint_that_says_the_assertion_back(endpoint: TokenEndpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    """The assertion is a secret as long as it is valid."""
    monkeypatch.setattr(
        endpoint,
        "_answer",
        lambda _, form: (400, {"error": f"what is {form['assertion'][0]}, in scope {form['scope'][0]}?"}),
    )
    fetch = source(signed() | {f"{B}token.endpoint.url": endpoint.url, f"{B}scope": "kafka"})
    with pytest.raises(TokenError, match=r"what is \*\*\*, in scope kafka\?"):
        fetch()


# --- clouds ----------------------------------------------------------------------------------------------------------


def test_the_identity_of_a_machine_in_azure(endpoint: TokenEndpoint) -> None:
    """The query of the configuration is added to the address, with the header that the service needs."""
    config = {**AZURE, f"{B}config": "query=api-version=2018-02-01&resource=api://kafka"}
    token = source({**config, f"{B}token.endpoint.url": endpoint.url})()
    assert (token.text.reveal(), token.life_s) == (endpoint.given[-1], 3600)
    whole: Any = source({**AZURE, f"{B}token.endpoint.url": f"{endpoint.url}?resource=api://kafka"})
    assert whole().text.reveal() == endpoint.given[-1]
    assert Security.from_dict(config).sasl is not None


def test_azure_has_one_address() -> None:
    """It is the address that librdkafka uses, too; every virtual machine has it."""
    made: Any = source({**AZURE, f"{B}config": "query=resource=x"})
    assert made.url == "http://169.254.169.254/metadata/identity/oauth2/token"


class FakeSts:
    """A client of STS that gives prepared answers, and keeps its requests."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.error: Exception | None = None
        self.token: Any = make_token()
        self.expires_at = dt.datetime.now(dt.UTC) + dt.timedelta(minutes=5)

    def get_web_identity_token(self, **asked: Any) -> dict[str, Any]:
        self.asked.append(asked)
        if self.error is not None:
            raise self.error
        return {"WebIdentityToken": self.token, "Expiration": self.expires_at}


@pytest.fixture
def sts(monkeypatch: pytest.MonkeyPatch) -> FakeSts:
    """Replaces the package boto3, which needs an account."""
    made = FakeSts()
    boto3 = types.ModuleType("boto3")
    boto3.Session = lambda **_: types.SimpleNamespace(  # type: ignore[attr-defined]
        client=lambda name, **more: made if (name, more["region_name"]) == ("sts", "eu-west-1") else None
    )
    monkeypatch.setitem(sys.modules, "boto3", boto3)
    monkeypatch.setattr(keys, "_is_there", lambda module: module == "boto3")
    return made


def test_the_identity_of_a_process_in_aws(sts: FakeSts) -> None:
    """The names are those of confluent-kafka; an escaped comma is a part of its value."""
    config = "region=eu-west-1,audience=https://kafka\\,test,duration_seconds=600,signing_algorithm=RS256,tag_team=red"
    token = source({**AWS, f"{B}config": config, f"{B}extensions": "logicalCluster=one"})()
    assert sts.asked == [
        {
            "Audience": ["https://kafka,test"],
            "SigningAlgorithm": "RS256",
            "DurationSeconds": 600,
            "Tags": [{"Key": "team", "Value": "red"}],
        }
    ]
    assert 0 < token.life_s <= 300
    assert token.extensions == {"logicalCluster": "one"}


def test_aws_that_gives_no_token(sts: FakeSts) -> None:
    """The error has its code, and not its text, which may quote credentials."""
    fetch = source({**AWS, f"{B}config": "region=eu-west-1,audience=a"})
    sts.error = type("ClientError", (Exception,), {"response": {"Error": {"Code": "AccessDenied"}}})("hunter2")
    with pytest.raises(TokenError, match=r"AWS STS gave no token: ClientError, AccessDenied$"):
        fetch()
    sts.error = RuntimeError("hunter2")
    with pytest.raises(TokenError, match=r"AWS STS gave no token: RuntimeError$"):
        fetch()


@pytest.mark.parametrize(
    "response",
    [
        None,
        [],
        {"Error": None},
        {"Error": {"Code": "hunter2 "}},
        {"Error": {"Code": ["hunter2"]}},
        {"Error": {"Code": "\x1b[2J"}},
    ],
)
def test_an_error_of_aws_without_a_code_is_a_token_error(sts: FakeSts, response: Any) -> None:
    """For timeouts, boto3's response is None, which once raised AttributeError."""
    fetch = source({**AWS, f"{B}config": "region=eu-west-1,audience=a"})
    sts.error = type("ReadTimeoutError", (Exception,), {"response": response})("hunter2")
    with pytest.raises(TokenError, match=r"AWS STS gave no token: ReadTimeoutError$"):
        fetch()


@pytest.mark.parametrize("text", [None, 5, "", "a b", "a\1b"])
def test_what_aws_gives_is_no_token(sts: FakeSts, text: Any) -> None:
    """None was once sent as the token `None`."""
    sts.token = text
    with pytest.raises(TokenError, match="its answer is not a bearer token"):
        source({**AWS, f"{B}config": "region=eu-west-1,audience=a"})()


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ("audience=a", "must have region: aws_iam needs it"),
        ("region=", "must have region and audience"),
        ("region=a,audience=b,password=hunter2", "takes region, audience"),
        ("region=a,audience=b,duration_seconds=hunter2", "duration_seconds must be"),
        ("region=a,audience=b,duration_seconds=59", "duration_seconds must be"),
        ("region=a,audience=b,duration_seconds=3601", "duration_seconds must be"),
        ("region=a,audience=b,signing_algorithm=none", "signing_algorithm must be"),
        ("region=a,audience=b,tag_=hunter2", "tag_NAME, separated"),
        ("hunter2", "name=value pairs"),
    ],
)
def test_what_aws_cannot_use(sts: FakeSts, config: str, told: str) -> None:
    """It is refused when the member is made, and not shown."""
    with pytest.raises(ConfigError, match=told) as refused:
        Security.from_dict({**AWS, f"{B}config": config})
    assert "hunter2" not in str(refused.value)
    assert not sts.asked


# --- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "told"),
    [
        (UNSECURED, "sasl.oauthbearer.config must be set"),
        ({**UNSECURED, "oauth_cb": print, f"{B}config": "principal=a"}, "oauth_cb: no effect"),
        ({**OIDC, **CLIENT, "enable.sasl.oauthbearer.unsecure.jwt": "true"}, "a source of tokens"),
        ({**OIDC, **CLIENT, f"{B}grant.type": "password"}, f"must be one of client_credentials, {JWT_BEARER}"),
        ({**OIDC, **CLIENT, f"{B}assertion.file": "x"}, "no effect, because sasl.oauthbearer.grant.type is"),
        ({**OIDC, **CLIENT, f"{B}config": "hunter2"}, "sasl.oauthbearer.config: no effect"),
        ({**OIDC, **CLIENT, f"{B}sub.claim.name": " "}, "sub.claim.name must be a non-empty"),
        ({**ASSERTION, **CLIENT}, "client.secret: no effect, because"),
        (ASSERTION, "needs one of sasl.oauthbearer.assertion.file, "),
        ({**ASSERTION, f"{B}assertion.file": "x", f"{B}assertion.claim.sub": "a"}, "claim.sub: no effect"),
        (signed(private_key_file="x"), "needs one of"),
        (signed(private_key_pem="hunter2"), "not a key in PEM, or a wrong passphrase"),
        (signed(private_key_passphrase="hunter2"), "not a key in PEM, or a wrong passphrase"),
        (signed(algorithm="ES256"), "ES256 needs a key on the curve P-256"),
        (signed(private_key_pem=locked_pem(ec_key())), "RS256 needs an RSA key"),
        (signed(jwt_template_file="/nowhere.json"), "jwt.template.file is not a JSON object"),
        (signed(claim_exp_seconds=0), "claim.exp.seconds must be a whole number of seconds from 1"),
        (signed(claim_nbf_seconds="soon"), "claim.nbf.seconds must be a whole number of seconds from 0"),
        (AZURE, "config must have query="),
        ({**AZURE, **CLIENT, f"{B}config": "query=a"}, "Azure identifies the virtual machine itself"),
        ({**AZURE, f"{B}token.endpoint.url": "http://[::1"}, "token.endpoint.url must be a URL"),
        ({**OIDC, **CLIENT, f"{B}token.endpoint.url": "https://"}, "token.endpoint.url must be a URL"),
        ({**OIDC, **CLIENT, f"{B}token.endpoint.url": "https://idp:99999/"}, "token.endpoint.url must be a URL"),
        ({**OIDC, **CLIENT, f"{B}token.endpoint.url": "https://idp/a b"}, "token.endpoint.url must be a URL"),
        ({**OIDC, **CLIENT, f"{B}token.endpoint.url": "https://idp/a\r\nX: y"}, "token.endpoint.url must be a URL"),
        ({**OIDC, **CLIENT, "https.ca.pem": "hunter2"}, "https.ca.pem cannot be used"),
        ({**AWS, f"{B}config": "region=a,audience=b", "https.ca.pem": "hunter2"}, "https.ca.pem cannot be used"),
        ({**AZURE, f"{B}config": "query=a", "https.ca.location": "/nowhere"}, "https.ca.location cannot be read"),
        ({**AZURE, f"{B}metadata.authentication.type": "gcp"}, "must be one of none, azure_imds, aws_iam"),
        (
            {**OIDC, **CLIENT, f"{B}client.credentials.client.secret": "hunter3"},
            "sasl.oauthbearer.client.credentials.client.secret are two names of one key",
        ),
    ],
)
def test_what_cannot_work_is_refused_at_once(config: dict[str, Any], told: str) -> None:
    """As in librdkafka. The error says what is missing or contradicts what, and shows no value that could be a secret."""
    with pytest.raises(ConfigError) as refused:
        Security.from_dict(config)
    assert told in str(refused.value)
    assert not [secret for secret in ("hunter2", "hunter3", PASSPHRASE, "PRIVATE KEY") if secret in str(refused.value)]


def test_second_names_of_keys() -> None:
    """There are two names for the client's id and secret in librdkafka."""
    second = {f"{B}client.credentials.client.id": "alice", f"{B}client.credentials.client.secret": "hunter2"}
    assert source({**OIDC, **second}) == source({**OIDC, **CLIENT})


@pytest.mark.parametrize(
    ("config", "package", "extra"),
    [
        (signed(), "cryptography", "crypto"),
        ({**AWS, f"{B}config": "region=a,audience=b"}, "boto3", "aws"),
        ({"security.protocol": "sasl_ssl", "sasl.mechanism": "GSSAPI"}, "gssapi", "gssapi"),
        ({"security.protocol": "sasl_ssl"}, "gssapi", "gssapi"),
        (
            {"security.protocol": "ssl", "ssl.keystore.location": "x", "ssl.keystore.password": "y"},
            "cryptography",
            "crypto",
        ),
    ],
)
def test_a_package_that_is_missing_is_named(
    config: dict[str, Any], package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error has the command that installs it, and comes when the member is made, not when it connects."""
    monkeypatch.setattr(keys, "_is_there", lambda _: False)
    with pytest.raises(ConfigError, match=rf"needs the package {package}: pip install 'membership-client\[{extra}\]'"):
        Security.from_dict(config)
