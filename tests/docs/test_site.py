"""The site that scripts/docs builds: without a warning, and readable without a network."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.deep, pytest.mark.timeout(600)]

SCRIPTS = re.compile(r"<(?:script|link|img)\b[^>]*?(?:src|href)=\"?(https?://[^\s\">]+)")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """MkDocs fails at its first warning: a link that leads nowhere, a page that no menu has."""
    target = tmp_path_factory.mktemp("site")
    subprocess.run([str(ROOT / "scripts" / "docs"), "--site-dir", str(target)], check=True, cwd=ROOT)
    return target


def test_every_page_is_there(site: Path) -> None:
    """Each file of docs/, the README as the first page, and those that are made."""
    wanted = {page.stem for page in (ROOT / "docs").glob("*.md")} | {
        "index",
        "changelog",
        "commands",
        "errors",
        "examples",
        "reference",
    }
    assert wanted <= {page.stem for page in site.glob("*.html")}


def test_no_page_asks_another_host(site: Path) -> None:
    """A page that is opened from a disk, without a network, is whole."""
    asked = {found for page in site.glob("*.html") for found in SCRIPTS.findall(page.read_text())}
    assert asked == set()


def test_the_reference_has_the_contracts(site: Path) -> None:
    """Signatures and docstrings, not only names."""
    page = (site / "reference.html").read_text()
    assert 'id="membership_client.Consumer.subscribe"' in page
    assert 'id="membership_client_spark.epochs"' in page


def test_every_command_is_on_the_page_of_commands(site: Path) -> None:
    """Also those below another, such as `groups offsets reset`, and those that `python -m` runs."""
    page = (site / "commands.html").read_text()
    commands = ("membership-client-diagnose", "membership-client-groups-offsets-reset", "membership-client-spark-demo")
    for command in (*commands, "python-m-membership_clienttesting", "python-m-membership_clienthealth"):
        assert f'id="{command}"' in page, command
    assert "usage: membership-client groups offsets reset" in page
