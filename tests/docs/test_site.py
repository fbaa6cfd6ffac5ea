"""The site that scripts/docs builds has no warning, and can be read without a network."""

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
    """The built site. MkDocs fails at its first warning: a dead link, or a page in no menu."""
    target = tmp_path_factory.mktemp("site")
    subprocess.run([str(ROOT / "scripts" / "docs"), "--site-dir", str(target)], check=True, cwd=ROOT)
    return target


def test_every_page_is_there(site: Path) -> None:
    """These are the files of docs/, the README as the first page, and the generated pages."""
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
    """A page that is opened from a disk is complete without a network."""
    asked = {found for page in site.glob("*.html") for found in SCRIPTS.findall(page.read_text())}
    assert asked == set()


def test_the_reference_has_the_contracts(site: Path) -> None:
    """It has signatures and docstrings, and not only names."""
    page = (site / "reference.html").read_text()
    assert 'id="membership_client.Consumer.subscribe"' in page
    assert 'id="membership_client_spark.epochs"' in page


def test_every_command_is_on_the_page_of_commands(site: Path) -> None:
    """This includes subcommands such as `groups offsets reset`, and commands that `python -m` runs."""
    page = (site / "commands.html").read_text()
    commands = ("membership-client-diagnose", "membership-client-groups-offsets-reset", "membership-client-spark-demo")
    for command in (*commands, "python-m-membership_clienttesting", "python-m-membership_clienthealth"):
        assert f'id="{command}"' in page, command
    assert "usage: membership-client groups offsets reset" in page
