"""Pages of the site that are made from other files of the project: README, changelog, examples, and the reference.

A hook of MkDocs (`hooks` in mkdocs.yml). The reference has every name of docs/api.md's packages, from their docstrings. The page
of commands has what each `--help` prints.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from unittest import mock

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

import membership_client.admin.errors
import membership_client.errors
from membership_client.cli.program import _parser
from membership_client.errors import FatalError, MembershipError

ROOT = Path(__file__).resolve().parent.parent

PACKAGES = {
    "membership_client": "membership_client",
    "membership_client.aio": "membership_client/aio",
    "membership_client.admin": "membership_client/admin",
    "membership_client.health": "membership_client/health",
    "membership_client.identity": "membership_client/identity",
    "membership_client.trace": "membership_client/trace",
    "membership_client.testing": "membership_client/testing",
    "membership_client_spark": "integrations/spark/membership_client_spark",
}
"""Packages whose names are ours; those of `membership_client.confluent` are confluent-kafka's."""

LINKS = {"docs/": "", "../examples/testing": "examples.md", "examples/": "examples.md", "examples": "examples.md"}
LINKS |= {"../CONTRIBUTING.md": "contributing.md", "CONTRIBUTING.md": "contributing.md", "../README.md": "index.md"}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages that have no file in docs/, and the scripts that scripts/docs has fetched."""
    pages = {"index.md": _read("README.md"), "contributing.md": _read("CONTRIBUTING.md")}
    pages |= {"changelog.md": _read("CHANGELOG.md"), "examples.md": _examples(), "reference.md": _reference()}
    pages |= {"errors.md": _errors(), "commands.md": _commands()}
    for name, text in pages.items():
        files.append(File.generated(config, name, content=text))
    for script in (ROOT / "build" / "site-scripts").glob("*.js"):
        files.append(File.generated(config, f"scripts/{script.name}", abs_src_path=str(script)))
    config.extra_javascript += [file.src_uri for file in files if file.src_uri.startswith("scripts/mermaid-")]
    return files


def on_post_template(output_content: str, **_: object) -> str:
    """As `on_post_page`, for the page that a server shows for addresses that do not exist."""
    return on_post_page(output_content)


def on_post_page(output: str, **_: object) -> str:
    """The theme's search loads this from another host in pages that were opened from a disk."""
    return output.replace("https://unpkg.com/iframe-worker/shim", "scripts/iframe-worker-1.0.4.js")


def on_page_markdown(markdown: str, **_: object) -> str:
    """Links that leave docs/ in the repository lead to the page of the site that has the same."""
    return re.sub(r"\]\(([^)\s#]+)", lambda found: f"]({_target(found[1])}", markdown)


def _target(link: str) -> str:
    for prefix, page in LINKS.items():
        if link == prefix or (prefix == "docs/" and link.startswith(prefix)):
            return page + link.removeprefix(prefix)
    return link


def _read(name: str) -> str:
    return (ROOT / name).read_text()


def _examples() -> str:
    """Each example with its first docstring as text, and its code."""
    parts = ["# Examples\n\nFor programmers who begin with a program that works. The tests run all of them."]
    for file in sorted((ROOT / "examples").rglob("*.py")):
        code = file.read_text()
        docstring = ast.get_docstring(ast.parse(code)) or ""
        body = code.partition('"""\n')[2].strip() if docstring else code
        parts.append(f"## {file.relative_to(ROOT / 'examples')}\n\n{docstring}\n\n```python\n{body}\n```")
    return "\n\n".join(parts)


def _reference() -> str:
    """A directive per public name, which mkdocstrings replaces by signature and docstring."""
    parts = [
        "# API reference\n\nFor programmers who call a name and need to know its contract: the docstring of every public name. What each name is for\nis told in one line in [all public names](api.md)."
    ]
    for package, directory in PACKAGES.items():
        parts.append(f"## {package}")
        parts += [f"::: {package}.{name}" for name in sorted(_public(ROOT / directory / "__init__.py"))]
    return "\n\n".join(parts)


def _errors() -> str:
    """A table of all errors, from their docstrings and the advice that ends their texts."""
    modules = (membership_client.errors, membership_client.admin.errors)
    ours = (found for module in modules for found in vars(module).values() if _is_error_of(module, found))
    rows = (f"| `{error.__name__}` | {error.__doc__} | {error.advice or _TOLD} | {_ends(error)} |" for error in ours)
    return "\n".join((_ERRORS_BEGIN, *rows))


_ERRORS_BEGIN = """# Errors

For people who found an error of this library in a log. The text of each error ends with what to do; this page lists all of them. A fatal
error ends the member. After any other error the member goes on.

| error | what happened | what to do | fatal |
|---|---|---|---|"""


_TOLD = "The text of the error says it, because it depends on what happened."


def _is_error_of(module: ModuleType, found: object) -> bool:
    return isinstance(found, type) and issubclass(found, MembershipError) and found.__module__ == module.__name__


def _ends(error: type[MembershipError]) -> str:
    if not issubclass(error, FatalError):
        return ""
    return "yes" if error.may_resubscribe else "yes; a new member is needed"


_COMMANDS_BEGIN = """# Commands

For people who type commands, or write them into scripts. Each section is what `--help` of a command prints. How to use them is
told in [debugging](debugging.md), [administration](admin.md) and [testing](testing.md)."""

_MODULES = ("membership_client.testing", "membership_client.health")
"""Those that `python -m` runs."""

_WIDTH = 100


def _commands() -> str:
    """The help of each command, and of each of its subcommands below it."""
    # The module is run as a file, because its package cannot be imported without pyspark.
    spark = runpy.run_path(str(ROOT / "integrations/spark/membership_client_spark/cli.py"))
    parsers = [*_with_subcommands(_parser()), *_with_subcommands(spark["_parser"]())]
    sections = [(parser.prog, _help_of(parser)) for parser in parsers]
    sections += [(f"python -m {module}", _help_of_module(module)) for module in _MODULES]
    return "\n\n".join((_COMMANDS_BEGIN, *(f"## {name}\n\n```text\n{told}```" for name, told in sections)))


def _with_subcommands(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to list them
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for below in action.choices.values():
                yield from _with_subcommands(below)


def _help_of(parser: argparse.ArgumentParser) -> str:
    """As on a terminal of that width."""
    with mock.patch.dict(os.environ, {"COLUMNS": str(_WIDTH)}):
        return parser.format_help()


def _help_of_module(module: str) -> str:
    command = [sys.executable, "-m", module, "--help"]
    environment = {**os.environ, "COLUMNS": str(_WIDTH)}
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT, env=environment).stdout


def _public(file: Path) -> list[str]:
    """The names in `__all__`."""
    assigned = (node for node in ast.parse(file.read_text()).body if isinstance(node, ast.Assign))
    (names,) = (node.value for node in assigned if ast.unparse(node.targets[0]) == "__all__")
    return list(ast.literal_eval(names))
