"""The description that package indexes show: the README, with links that also work outside of the repository.

A metadata hook of hatchling (`tool.hatch.metadata.hooks.custom` in pyproject.toml). An index resolves no relative link. Once
the project has a public home, its address stands there as `repository`, and links lead to it. Until then a link
becomes its text, and pictures and tables that consist of links are left out.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

README = Path(__file__).resolve().parent.parent / "README.md"

RELATIVE = re.compile(r"(!?)\[([^\]]*)\]\((?!https?://|#)([^)\s]+)\)")
SECTION = re.compile(r"^## (?:What it looks like|Where to read on)\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
PAGES = {"Documentation": "docs/start.md", "Changelog": "CHANGELOG.md"}
"""By the name that indexes show."""


class IndexPage(MetadataHookInterface):
    """Fills in `readme` and `urls`, which pyproject.toml names as dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        repository: str = self.config["repository"]
        metadata["readme"] = {"content-type": "text/markdown", "text": description(README.read_text(), repository)}
        metadata["urls"] = urls(repository)


def description(readme: str, repository: str) -> str:
    """The README for an index."""
    if not repository:
        return RELATIVE.sub(lambda link: link[2], SECTION.sub("", readme))
    return RELATIVE.sub(lambda link: f"{link[1]}[{link[2]}]({address(repository, link[3], raw=bool(link[1]))})", readme)


def urls(repository: str) -> dict[str, str]:
    """The links beside the description; none without a home."""
    if not repository:
        return {}
    return {"Repository": repository} | {name: address(repository, page) for name, page in PAGES.items()}


def address(repository: str, file: str, *, raw: bool = False) -> str:
    """A page of the repository's newest state, or a file as it is."""
    return f"{repository}/{'raw' if raw else 'blob'}/HEAD/{file}"
