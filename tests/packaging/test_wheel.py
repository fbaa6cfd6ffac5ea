"""What is shipped, and what must not be in the repository."""

from __future__ import annotations

import re
import subprocess
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.metadata import Metadata

from index_page import RELATIVE, description, urls

ROOT = Path(__file__).parents[2]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]

# A path of one developer's machine, or the address of one package registry, is wrong everywhere else.
FORBIDDEN = re.compile(r"(?:^|[^\w.])/(?:work|root)/|https?://[^/\s]*(?:pypi|pythonhosted|maven)", re.MULTILINE)


@pytest.fixture
def contents(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.mark.parametrize("package", ["membership_client", "membership_client_pytest", "membership_client_spark"])
def test_the_wheel_holds_typed_packages(contents: set[str], package: str) -> None:
    """Each package is importable by its own name and tells type checkers that it has types."""
    assert {f"{package}/__init__.py", f"{package}/py.typed"} <= contents


def test_the_wheel_holds_nothing_else(contents: set[str]) -> None:
    """Tests, scripts and documents stay out of site-packages."""
    top_level = {name.partition("/")[0] for name in contents}
    assert top_level == {
        "membership_client",
        "membership_client_pytest",
        "membership_client_spark",
        f"membership_client-{VERSION}.dist-info",
    }


def test_the_wheel_holds_what_a_report_is_made_of(contents: set[str]) -> None:
    """Style, program and frame of the page are files of the package, and no Python."""
    assets = Path("membership_client/debugger/report/assets")
    there = {str(assets / file.name) for file in (ROOT / assets).iterdir()}
    assert str(assets / "page.html") in there
    assert there <= contents


def test_an_index_takes_its_metadata(wheel: Path) -> None:
    """Each field has a form that indexes accept, the licence and the classifiers too."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = Metadata.from_email(archive.read(name))
    assert metadata.description_content_type == "text/markdown"
    assert metadata.license_expression == "Apache-2.0"
    assert metadata.description is not None
    assert RELATIVE.findall(metadata.description) == []
    assert "pip install membership-client" in metadata.description


def test_links_of_the_index_page_lead_into_the_public_repository() -> None:
    """Relative ones lead nowhere on an index: pages as a reader sees them, pictures as files."""
    told = description((ROOT / "README.md").read_text(), "https://example.org/shop/client")
    assert RELATIVE.findall(told) == []
    assert "[tutorial](https://example.org/shop/client/blob/HEAD/docs/start.md)" in told
    assert "](https://example.org/shop/client/raw/HEAD/docs/images/demo.svg)" in told
    assert urls("https://example.org/shop/client")["Repository"] == "https://example.org/shop/client"


def test_tracked_files_know_no_machine() -> None:
    """No tracked file names a path of one machine or the host of a package registry."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True)
    files = [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]
    guilty = [str(file.relative_to(ROOT)) for file in files if FORBIDDEN.search(file.read_text(errors="replace"))]
    assert guilty == []
