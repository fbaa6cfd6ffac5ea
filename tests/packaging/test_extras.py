"""The wheel works with what its metadata asks for, in each of its extras, and nothing else installed."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import tests.spark  # noqa: F401 - installs what the extra `spark` names
from tests.needs import need
from tests.packaging.conftest import ROOT
from tests.packaging.environment import Environment

pytestmark = [pytest.mark.deep, pytest.mark.timeout(900)]

MAP_IN_ARROW = """
from pyspark.sql import SparkSession
import membership_client_spark
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
print(spark.range(3).mapInArrow(lambda batches: batches, "id long").count())
"""
"""How slots and epochs run."""


def test_without_an_extra(wheel: Path, tmp_path: Path) -> None:
    """The package, its command, its testing kit and every module that a user may import; no rich and no Spark."""
    bare = Environment(tmp_path / "bare", wheel, None)
    program = "import membership_client, membership_client.aio, membership_client.admin, membership_client.testing"
    told = bare.run("-c", f"{program}, membership_client.confluent; print(membership_client.Consumer.__name__)")
    assert told.stdout == "Consumer\n", told.stderr
    assert bare.run("-m", "membership_client", "groups", "--help").returncode == 0
    spark = bare.run("-c", "import membership_client_spark")
    assert "pip install 'membership-client[spark]'" in spark.stderr
    command = bare.run("-c", "from membership_client.cli.spark_program import main; raise SystemExit(main())", "--help")
    assert (command.returncode, command.stderr.count("\n")) == (2, 1)
    assert "pip install 'membership-client[spark]'" in command.stderr


@pytest.mark.parametrize(
    ("extra", "told"), [(None, "pip install 'membership-client[crypto]'"), ("crypto", "not PKCS#12")]
)
def test_a_key_store(extra: str | None, told: str, wheel: Path, tmp_path: Path) -> None:
    """The extra that the error names is the one that mends it."""
    store = f'{{"security.protocol": "ssl", "ssl.keystore.location": "{__file__}", "ssl.keystore.password": "x"}}'
    program = f"from membership_client import Security; Security.from_dict({store})"
    assert told in Environment(tmp_path / "made", wheel, extra).run("-c", program).stderr


AWS = {
    "security.protocol": "sasl_ssl",
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.oauthbearer.method": "oidc",
    "sasl.oauthbearer.metadata.authentication.type": "aws_iam",
    "sasl.oauthbearer.config": "region=eu-west-1 audience=kafka",
}
KERBEROS = {"security.protocol": "sasl_plaintext", "sasl.mechanism": "GSSAPI"}


@pytest.mark.parametrize(
    ("extra", "package", "config"), [("aws", "boto3", AWS), ("gssapi", "gssapi", KERBEROS)], ids=["aws", "gssapi"]
)
def test_an_extra_that_is_installed_by_hand(
    extra: str, package: str, config: dict[str, str], wheel: Path, tmp_path: Path
) -> None:
    """The error names the extra, and the extra names the package; the tests do without both packages, one of which needs a compiler."""
    bare = Environment(tmp_path / "bare", wheel, None)
    program = f"from membership_client import Security; Security.from_dict({config})"
    assert f"pip install 'membership-client[{extra}]'" in bare.run("-c", program).stderr
    assert [one.name for one in bare.requirements(extra)] == [package]


def test_every_extra_is_tested() -> None:
    """A new one needs a test here."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(project["optional-dependencies"]) == {"aws", "cli", "crypto", "gssapi", "prometheus", "spark", "test"}


METRICS = """
from membership_client import GroupMember
from prometheus_client import generate_latest
with GroupMember({"bootstrap.servers": "127.0.0.1:1", "group.id": "shop"}):
    print(generate_latest().decode())
"""


def test_metrics_for_prometheus(wheel: Path, tmp_path: Path) -> None:
    """The program of docs/operations.md, on a free port."""
    (program,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "operations.md").read_text(), re.DOTALL)
    made = Environment(tmp_path / "prometheus", wheel, "prometheus")
    told = made.run("-c", program.replace("9464", "0") + METRICS)
    assert 'membership_members{membership_state="unsubscribed",messaging_consumer_group_name="shop"' in told.stdout


def test_the_command_line(wheel: Path, tmp_path: Path) -> None:
    """The demonstration draws with rich."""
    made = Environment(tmp_path / "cli", wheel, "cli")
    told = made.run("-c", "import rich, membership_client.demo.clusters")
    assert told.returncode == 0, told.stderr
    assert made.run("-m", "membership_client", "demo", "--help").returncode == 0


def test_spark(wheel: Path, tmp_path: Path) -> None:
    """A session maps batches of Arrow, as slots do: pandas, which that needs, was not installed by the extra."""
    need("java")
    told = Environment(tmp_path / "spark", wheel, "spark").run("-c", MAP_IN_ARROW)
    assert told.stdout == "3\n", told.stderr[-2000:]


def test_tests(wheel: Path, tmp_path: Path) -> None:
    """The extra for users' own tests brings pytest."""
    made = Environment(tmp_path / "test", wheel, "test")
    told = made.run("-m", "pytest", "--version")
    assert told.returncode == 0, told.stderr
