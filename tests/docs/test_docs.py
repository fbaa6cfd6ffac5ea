"""The pages and the examples are true, because they are run."""

from __future__ import annotations

import ast
import re
import signal
import subprocess
import sys
import uuid
from dataclasses import fields
from pathlib import Path

import pytest
from confluent_kafka import Producer

from membership_client import MemberConfig
from membership_client.core import reasons
from membership_client.telemetry import names
from membership_client.testing import ClusterAdmin, KafkaCluster

ROOT = Path(__file__).parent.parent.parent


def code_blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


def run_example(name: str, *args: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(ROOT / "examples" / name), *args]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)


@pytest.fixture(scope="module")
def orders(kafka: KafkaCluster) -> KafkaCluster:
    ClusterAdmin(kafka.bootstrap_servers).create_topic("orders", 6)
    return kafka


def test_the_readme_shows_the_example_that_is_run() -> None:
    """The programs in the README are the bodies of two examples, letter by letter."""
    first, block = code_blocks("README.md")
    assert (ROOT / "examples" / "first.py").read_text().endswith(first)
    assert block in (ROOT / "examples" / "consumer.py").read_text()
    assert len(block.splitlines()) <= 15


def test_every_page_that_is_linked_exists() -> None:
    """There are no dead links between the pages of the project."""
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.stem)
def test_every_page_begins_with_its_readers(page: Path) -> None:
    """Its first sentence says for which readers it is."""
    assert re.match(r"# .+\n\nFor [a-z]+\b", page.read_text())


PUBLIC = {
    f"membership_client{package}": ROOT / "membership_client" / package.strip(".") / "__init__.py"
    for package in ("", ".aio", ".confluent", ".admin", ".health", ".identity", ".trace", ".testing")
} | {"membership_client_spark": ROOT / "integrations" / "spark" / "membership_client_spark" / "__init__.py"}


def names_of(source: Path) -> set[str]:
    """The names in `__all__`. The module is not imported: that of Spark needs pyspark."""
    assigned = (node for node in ast.parse(source.read_text()).body if isinstance(node, ast.Assign))
    (names,) = (
        node.value for node in assigned if isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__"
    )
    return set(ast.literal_eval(names))


@pytest.mark.parametrize("package", PUBLIC)
def test_every_public_name_is_on_the_page_of_names(package: str) -> None:
    """docs/api.md has a section for each public package, with all its names and no others."""
    sections = re.split(r"^## `(.+)`$", (ROOT / "docs" / "api.md").read_text(), flags=re.MULTILINE)
    section = sections[sections.index(package) + 1]
    firsts = re.findall(r"^\| (`[^|]+) \|", section, re.MULTILINE)
    assert {name for first in firsts for name in re.findall(r"`(\w+)`", first)} == names_of(PUBLIC[package])


def anchors_of(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_heading_that_is_linked_exists() -> None:
    """A link with a `#` leads to a heading of that page."""
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for target, anchor in re.findall(r"\]\((?!http)([^)#]*)#([^)]+)\)", page.read_text()):
            linked = page.parent / target if target else page
            assert anchor in anchors_of(linked), f"{page.name} links to {target}#{anchor}"


def test_the_files_of_common_changes_exist() -> None:
    """CONTRIBUTING.md names a file for each of ten changes, and its tests."""
    section = (ROOT / "CONTRIBUTING.md").read_text().partition("## Where does my change go?")[2].partition("\n## ")[0]
    table = section[section.index("\n| ") :]
    named = re.findall(r"`([\w./]+(?:/|\.py|\.md))`|`(tests/[\w/]+)`", table)
    for name in filter(None, (name for pair in named for name in pair)):
        outside = name.startswith(("tests/", "docs/", "scripts/"))
        assert (ROOT / ("" if outside else "membership_client") / name).exists(), f"CONTRIBUTING.md names {name}"
    assert len(re.findall(r"^\| ", table, re.MULTILINE)) == 11  # with the heading


def test_the_bridge_is_drawn_from_its_tables() -> None:
    """Run scripts/draw_bridge.py after a change of them."""
    subprocess.run([sys.executable, str(ROOT / "scripts" / "draw_bridge.py"), "--check"], check=True)


def test_the_benchmarks_page_is_drawn_from_its_figures() -> None:
    """Run scripts/draw_benchmarks.py after new figures."""
    subprocess.run([sys.executable, str(ROOT / "scripts" / "draw_benchmarks.py"), "--check"], check=True)


def test_the_states_page_is_drawn_from_the_table() -> None:
    """Run scripts/draw_states.py after a change of the table."""
    subprocess.run([sys.executable, str(ROOT / "scripts" / "draw_states.py"), "--check"], check=True)


def test_every_configuration_key_is_documented() -> None:
    """The table has each key with its default, and no other keys."""
    first = (ROOT / "docs" / "configuration.md").read_text().partition("\n## ")[0]
    rows = re.findall(r"^\| `([a-z._]+)` \| ([^|]+) \|", first, re.MULTILINE)
    known = {field.name: field.default for field in fields(MemberConfig)}
    documented = {key.replace(".", "_"): told for key, told in rows}
    assert documented.keys() == known.keys()
    for name, told in documented.items():
        if isinstance(known[name], str | int):
            assert told.strip("` ") == str(known[name])


def test_the_table_of_librdkafkas_keys_is_that_of_the_code() -> None:
    """Run scripts/write_key_table.py after a change of the table."""
    subprocess.run([sys.executable, str(ROOT / "scripts" / "write_key_table.py"), "--check"], check=True)


def test_the_tables_of_the_trace_format_are_those_of_the_code() -> None:
    """Run scripts/write_trace_tables.py after a change of the format, and say what a new tag means."""
    subprocess.run([sys.executable, str(ROOT / "scripts" / "write_trace_tables.py"), "--check"], check=True)


def test_the_reasons_of_joins_and_leaves_are_documented() -> None:
    """Every reason in a broker's log is on the page."""
    page = (ROOT / "docs" / "configuration.md").read_text()
    vocabulary = [value for name, value in vars(reasons).items() if name.isupper() and isinstance(value, str)]
    assert vocabulary
    assert all(f"| `{reason}" in page for reason in vocabulary)


@pytest.mark.kafka
@pytest.mark.parametrize("block", code_blocks("docs/guide.md"))
def test_the_guides_code_runs(block: str, orders: KafkaCluster) -> None:
    """Each block is a whole program, given a broker and a group of its own."""
    program = block.replace("localhost:9092", orders.bootstrap_servers).replace('"shop"', f'"{uuid.uuid4()}"')
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60, cwd=ROOT)


@pytest.mark.kafka
def test_the_telemetry_pages_program_tells_what_the_page_says(orders: KafkaCluster) -> None:
    """With the application's own providers, on a free port: a join and a leave, and the callback in between."""
    (block,) = code_blocks("docs/telemetry.md")
    program = block.replace("localhost:9092", orders.bootstrap_servers).replace('"shop"', f'"{uuid.uuid4()}"')
    command = [sys.executable, "-c", program.replace("9464", "0")]
    output = subprocess.run(command, check=True, timeout=60, cwd=ROOT, capture_output=True, text=True).stdout
    assert output.count('"name": "membership.rebalance"') == 2
    assert '"name": "membership.callback.assigned"' in output


def test_every_name_that_telemetry_uses_is_documented() -> None:
    """These are spans, metrics and attributes; names that contain a kind are there with it."""
    page = (ROOT / "docs" / "telemetry.md").read_text()
    told = [name for key, name in vars(names).items() if key.isupper() and key != "SCOPE" and "{" not in name]
    assert [name for name in told if f"`{name}`" not in page] == []


def test_the_first_example_needs_nothing() -> None:
    """It reads its record, and prints the last rebalance and the state of the member."""
    output, _ = run_example("first.py").communicate(timeout=60)
    assert output.startswith("b'two pears'\nstable at epoch ")


@pytest.mark.kafka
def test_the_consumer_example_ends_by_signal_and_says_why(orders: KafkaCluster) -> None:
    """It prints the orders, and gives up its partitions because of the signal."""
    producer = Producer({"bootstrap.servers": orders.bootstrap_servers})
    producer.produce("orders", b"two pears")
    producer.flush()
    process = run_example("consumer.py", orders.bootstrap_servers)
    assert process.stdout is not None
    assert "order b'two pears' epoch" in process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=60)
    assert "giving up [0, 1, 2, 3, 4, 5] because closed: SIGTERM" in output
    assert process.returncode == 0


@pytest.mark.kafka
def test_the_minimal_example_tells_its_story(orders: KafkaCluster) -> None:
    """It joins, is assigned all partitions, and leaves with its reason."""
    output, _ = run_example("minimal_member.py", orders.bootstrap_servers).communicate(timeout=60)
    assert "assigned orders-0 orders-1 orders-2 orders-3 orders-4 orders-5 because " in output
    assert "clean close (end of the example)" in output
    assert "client reason: end of the example" in orders.log()


@pytest.mark.kafka
def test_the_static_example_survives_a_kill(orders: KafkaCluster) -> None:
    """Killed and started again, it owns the same partitions at the same epoch."""
    first = run_example("static_member.py", orders.bootstrap_servers, "clerk-1")
    assert first.stdout is not None
    before = first.stdout.readline()
    first.kill()
    first.communicate()
    second = run_example("static_member.py", orders.bootstrap_servers, "clerk-1")
    assert second.stdout is not None
    assert second.stdout.readline() == before
    second.send_signal(signal.SIGTERM)
    second.communicate(timeout=30)
    assert second.returncode == 0


@pytest.mark.kafka
def test_the_asyncio_example_reads_until_it_is_told_to_stop(orders: KafkaCluster) -> None:
    """It handles an order, releases its partitions on SIGTERM, and exits with 0."""
    producer = Producer({"bootstrap.servers": orders.bootstrap_servers})
    producer.produce("orders", b"a book")
    producer.flush()
    process = run_example("asyncio_consumer.py", orders.bootstrap_servers)
    assert process.stdout is not None
    assert process.stdout.readline().startswith("order b'")
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=60)
    assert "giving up [0, 1, 2, 3, 4, 5] because closed" in output
    assert process.returncode == 0


@pytest.mark.kafka
def test_the_long_work_example_waits_for_its_worker(orders: KafkaCluster) -> None:
    """The revoke callback waits until the worker thread has stopped."""
    output, _ = run_example("long_work.py", orders.bootstrap_servers, "1").communicate(timeout=60)
    assert "working" in output
