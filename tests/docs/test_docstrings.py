"""`help()` of the public names: each has a sentence, and those with which programs begin have a program that runs."""

from __future__ import annotations

import ast
import asyncio
import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any, cast

import pytest

from membership_client.testing import EmbeddedKafka

PACKAGES = (
    "membership_client",
    "membership_client.aio",
    "membership_client.admin",
    "membership_client.health",
    "membership_client.identity",
    "membership_client.testing",
    "membership_client.trace",
)
SHOWN = {
    "membership_client": (
        "Consumer",
        "GroupMember",
        "MemberConfig",
        "Offset",
        "RebalanceListener",
        "Security",
        "register_assignor",
    ),
    "membership_client.aio": ("Consumer", "GroupMember"),
    "membership_client.admin": ("GroupAdmin",),
    "membership_client.health": ("serve", "write"),
    "membership_client.identity": ("HostSlot",),
    "membership_client.testing": ("EmbeddedKafka", "explore", "play"),
    "membership_client.trace": ("read_trace",),
}
"""The public names whose docstrings have an example."""


@pytest.fixture(scope="module")
def kafka() -> Iterator[EmbeddedKafka]:
    with EmbeddedKafka(topics={"orders": 6}) as started:
        yield started


@pytest.mark.parametrize("package", PACKAGES)
def test_help_says_what_every_class_and_function_is_for(package: str) -> None:
    """The errors once had no docstring: `help()` showed the constructor of their base class."""
    ours = {name: it for name, it in names_in(package).items() if inspect.isclass(it) or inspect.isfunction(it)}
    assert [name for name, found in ours.items() if not _says_something(found)] == []


def _says_something(found: Any) -> bool:
    """False for the docstring that a dataclass makes, which is its signature."""
    own = found.__doc__ or ""
    return bool(own) and not own.startswith(f"{found.__name__}(")


@pytest.mark.parametrize(("package", "name"), [(package, name) for package, names in SHOWN.items() for name in names])
def test_the_example_in_a_docstring_runs(
    package: str, name: str, kafka: EmbeddedKafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It runs with the package's names, and with a broker of the test instead of localhost:9092."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    names = {**names_in("membership_client"), **names_in(package)}
    example = compiled(example_of(names[name]).replace("localhost:9092", kafka.bootstrap_servers))

    async def run() -> None:
        outcome = eval(example, names)
        if inspect.isawaitable(outcome):
            await outcome

    asyncio.run(run())


def names_in(package: str) -> dict[str, Any]:
    module = importlib.import_module(package)
    return {name: getattr(module, name) for name in module.__all__}


def example_of(found: object) -> str:
    """The first indented block of a docstring."""
    (block, *_) = re.findall(r"(?:^    .*\n|^\n(?=    ))+", inspect.getdoc(found) or "", re.MULTILINE)
    return textwrap.dedent(block).strip("\n")


def compiled(program: str) -> CodeType:
    """The compiled example, in which `await` may be outside of functions."""
    return cast("CodeType", compile(program, "<docstring>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT))
