"""`membership-client groups`: what people and programs see, what is asked first, and which codes it ends with."""

from __future__ import annotations

import datetime as dt
import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from membership_client import TopicPartition
from membership_client.admin import Given, GroupAdmin
from membership_client.cli.program import main
from membership_client.testing import KafkaCluster
from tests.admin.command_line import WIPE, Run, looking, printed, told, typed_on
from tests.integration.members import PATIENCE_S, log_about
from tests.output import ENDS, run_with_output
from tests.peers.group import PeerGroup
from tests.records import filled_topic, produce


@pytest.mark.kafka
def test_groups_are_listed(run: Run, group: str, capsys: pytest.CaptureFixture[str]) -> None:
    """They are listed as a table and as JSON."""
    assert run("list", "--prefix", group, "--state", "empty") == 0
    assert capsys.readouterr().out.split() == ["GROUP", "PROTOCOL", "STATE", group, "classic", "Empty"]
    assert run("list", "--prefix", group, "--json") == 0
    assert printed(capsys) == [{"group": group, "protocol": "classic", "state": "Empty"}]


@pytest.mark.kafka
def test_a_group_is_described_waited_for_and_its_member_removed(
    kafka: KafkaCluster, run: Run, peers: PeerGroup, capsys: pytest.CaptureFixture[str]
) -> None:
    """A static member that left temporarily is seen, waited for, and removed after a yes; then the group waits for no member."""
    member = peers.join("ours", "till-1")
    peers.wait_settled([member])
    member.leave()
    assert run("describe", peers.id) == 0
    shown = capsys.readouterr().out
    assert f"{peers.id}: Reconciling, consumer protocol, uniform assignor" in shown
    assert f"till-1 subscribes to {peers.id}." in shown
    assert run("waiting", peers.id, "--watch", "1.4", "--json") == 1
    shown, progress = capsys.readouterr()
    assert re.fullmatch(rf"watching {peers.id}: \d s left \n", progress)
    (blocker,) = json.loads(shown)["blockers"]
    assert (blocker["instance"], blocker["kind"], blocker["seen_s"] > 0) == ("till-1", "return", True)
    assert run("remove", peers.id, "till-1") == 3
    assert "Standard input is no terminal, so you cannot be asked: give --yes." in capsys.readouterr().err
    assert run("remove", peers.id, "till-1", "--reason", "node lost", "--yes") == 0
    assert capsys.readouterr().out == f"till-1 was removed; it had {peers.id}[0-5].\n"
    assert "client reason: member was removed by an admin: node lost" in log_about(kafka, peers.id)()
    assert run("waiting", peers.id) == 0


@pytest.mark.kafka
def test_where_nobody_is_nobody_is_removed(run: Run, group: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Removing all members of an empty group needs no yes, and says so; it once printed an empty line."""
    assert run("remove", group, "--all") == 0
    assert capsys.readouterr().out == f"{group} has no members.\n"
    assert run("remove", group, "--all", "--json") == 0
    assert printed(capsys) == []


@pytest.mark.kafka
def test_offsets_are_shown_planned_set_exported_and_imported(
    run: Run, admin: GroupAdmin, group: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without --execute nothing is changed, and an export can be imported."""
    assert run("offsets", "export", group) == 0
    exported = capsys.readouterr().out
    assert exported == f"{group},0,10\n{group},1,10\n"
    reset = ("offsets", "reset", group, "--topic", f"{group}:1", "--to-offset", "4")
    assert run(*reset) == 0
    assert "Nothing was changed: give --execute to do it." in capsys.readouterr().err
    assert run(*reset, "--execute", "--yes", "--json") == 0
    assert printed(capsys) == [{"topic": group, "partition": 1, "before": 10, "after": 4, "note": None}]
    assert run("offsets", "show", group) == 0
    assert f"{group}-1  4          10   6    -" in capsys.readouterr().out
    (tmp_path / "offsets.csv").write_text(exported)
    assert run("offsets", "import", group, str(tmp_path / "offsets.csv"), "--execute", "--yes") == 0
    assert admin.committed(group, [TopicPartition(group, 1)])[TopicPartition(group, 1)].offset == 10
    assert run("offsets", "forget", group, "--topic", group, "--execute", "--yes") == 0
    assert admin.describe(group).committed == {}


@pytest.mark.kafka
@pytest.mark.parametrize(
    "change",
    [
        ["offsets", "reset", "--all-topics", "--to-earliest", "--execute"],
        ["offsets", "import", "{csv}", "--execute"],
        ["offsets", "forget", "--topic", "{group}", "--execute"],
        ["config", "set", "consumer.session.timeout.ms=60000"],
    ],
    ids=lambda change: change[1],
)
def test_nothing_is_changed_without_a_yes(
    run: Run, admin: GroupAdmin, group: str, change: list[str], tmp_path: Path
) -> None:
    """Without a terminal a change needs --yes."""
    csv = tmp_path / "offsets.csv"
    csv.write_text(f"{group},0,1\n")
    before = admin.describe(group).committed
    command, verb, *rest = (word.format(group=group, csv=csv) for word in change)
    assert run(command, verb, group, *rest) == 3
    assert admin.describe(group).committed == before
    assert all(setting.value != 60_000 for setting in admin.settings(group))


@pytest.fixture
def interrupts() -> Iterator[None]:
    """Enables SIGINT in started processes, even if the tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.kafka
@pytest.mark.usefixtures("interrupts")
@pytest.mark.parametrize(("command", "code"), [(["groups", "waiting", "--watch", "300"], 130), (["watch"], 0)])
def test_an_interrupt_ends_a_long_look(kafka: KafkaCluster, group: str, command: list[str], code: int) -> None:
    """The exit code is 130, except for `watch`, which has no other end, and exits with 0."""
    arguments = [*command, group, "--bootstrap-server", kafka.bootstrap_servers]
    looking = subprocess.Popen(
        [sys.executable, "-u", "-m", "membership_client", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert looking.stdout is not None
        assert looking.stdout.readline()
        looking.send_signal(signal.SIGINT)
        said, _ = looking.communicate(timeout=PATIENCE_S)
        assert (looking.returncode, "Traceback" in said) == (code, False)
    finally:
        looking.kill()
        looking.communicate()


@pytest.mark.kafka
@pytest.mark.usefixtures("interrupts")
def test_an_interrupt_leaves_no_progress_on_the_terminal(kafka: KafkaCluster, group: str) -> None:
    """The shell's prompt once came behind the progress, on the same line."""
    ours, theirs = pty.openpty()
    with looking(kafka, group, watch_s=300, stderr=theirs) as command:
        os.close(theirs)
        typed = typed_on(ours)
        assert "\rwatching" in next(typed)
        command.send_signal(signal.SIGINT)
        assert "".join(typed).endswith(WIPE)
    assert command.returncode == 130


@pytest.mark.kafka
@pytest.mark.parametrize("command", [["groups", "list"], ["groups", "describe", "{group}"], ["watch", "{group}"]])
@pytest.mark.parametrize("output", ["full", "closed"])
def test_an_output_that_cannot_be_written_ends_a_command(
    kafka: KafkaCluster, group: str, command: list[str], output: str
) -> None:
    """It ends as all other commands do. A closed pipe was once "[Errno 32] Broken pipe"."""
    words = [*(word.format(group=group) for word in command), "--bootstrap-server", kafka.bootstrap_servers]
    assert run_with_output(words, output) == ENDS[output]


HOUR_S = 3600


@pytest.fixture(scope="module")
def old(kafka: KafkaCluster) -> str:
    """A topic with three records of eight hours ago and three of two hours ago; the group of that name is at the fourth."""
    name = filled_topic(kafka.bootstrap_servers, "commands-old", partitions=1, records=0)
    for hours in (8, 2):
        produce(kafka.bootstrap_servers, name, partitions=1, records=3, ago_s=hours * HOUR_S)
    with GroupAdmin(kafka.bootstrap_servers) as admin:
        admin.reset(admin.plan_reset(name, Given({TopicPartition(name, 0): 4})))
    return name


@pytest.mark.kafka
@pytest.mark.parametrize(
    ("target", "offset"),
    [
        (["--to-earliest"], 0),
        (["--to-latest"], 6),
        (["--to-time", "2020-01-01T00:00"], 0),
        (["--to-time", f"{dt.datetime.now(dt.UTC) - dt.timedelta(hours=4):%Y-%m-%dT%H:%M}"], 3),
        (["--to-time", "2100-01-01T00:00+01:00"], 6),
        (["--by-duration", "P1D"], 0),
        (["--by-duration", "PT4H"], 3),
        (["--by-duration", "PT1H"], 6),
        (["--to-offset", "5"], 5),
        (["--shift-by", "-3"], 1),
        (["--shift-by", "1"], 5),
        (["--shift-by", "-99"], 0),
    ],
)
def test_offsets_go_back_and_forth_in_every_way(
    run: Run, old: str, target: list[str], offset: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """The plan shows the offsets before and after."""
    assert run("offsets", "reset", old, "--all-topics", *target, "--json") == 0
    assert [(change["before"], change["after"]) for change in printed(capsys)] == [(4, offset)]


@pytest.mark.kafka
def test_settings_are_shown_and_refused(run: Run, group: str, capsys: pytest.CaptureFixture[str]) -> None:
    """They are shown with limits; a value beyond them is refused with the broker's text."""
    assert "consumer.session.timeout.ms      45000  no" in told(run, group, capsys)
    assert run("config", "set", group, "consumer.session.timeout.ms=1", "--yes") == 2
    assert "The brokers refuse the settings of group" in capsys.readouterr().err


@pytest.mark.kafka
@pytest.mark.parametrize(("answer", "code"), [("n", 3), ("y", 0)])
def test_somebody_at_a_terminal_is_asked(
    kafka: KafkaCluster, admin: GroupAdmin, group: str, answer: str, code: int
) -> None:
    """Nothing is changed without a yes."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "membership_client", "groups", "offsets", "reset", group, "--all-topics"]
    command += ["--to-earliest", "--execute", "--bootstrap-server", kafka.bootstrap_servers]
    os.write(ours, f"{answer}\n".encode())
    done = subprocess.run(command, stdin=theirs, capture_output=True, text=True, check=False, timeout=60)
    os.close(ours)
    os.close(theirs)
    assert (done.returncode, f"Set 2 offsets of {group}? [y/N]" in done.stderr) == (code, True)
    assert {offset.offset for offset in admin.describe(group).committed.values()} == ({0} if code == 0 else {10})


@pytest.mark.kafka
def test_the_cluster_may_be_named_in_a_properties_file(
    kafka: KafkaCluster, group: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An existing client.properties works as it is."""
    file = tmp_path / "client.properties"
    file.write_text(f"bootstrap.servers={kafka.bootstrap_servers}\nsecurity.protocol=PLAINTEXT\ngroup.id=other\n")
    assert main(["groups", "list", "--prefix", group, "--command-config", str(file), "--json"]) == 0
    assert [found["group"] for found in printed(capsys)] == [group]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["list"], "The cluster's address is missing"),
        (["list", "--command-config", "no-such-file"], "no-such-file"),
        (["list", "--bootstrap-server", "127.0.0.1:1", "--timeout", "0.3"], "Given up after 0.3 s"),
        (["list", "--bootstrap-server", "127.0.0.1:1", "--timeout", "3"], "Connection refused. Check the address"),
        (["remove", "shop", "--bootstrap-server", "h:1"], "Give either the members to remove, or --all."),
        (
            ["offsets", "reset", "shop", "--to-latest", "--bootstrap-server", "h:1"],
            "Give either --topic, which may be repeated, or --all-topics.",
        ),
    ],
)
def test_what_cannot_be_done_is_said_and_ends_with_2(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command prints a sentence, and no traceback."""
    assert main(["groups", *arguments]) == 2
    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize("content", ["", "\n\n", "other,orders,0,5\n"], ids=["empty", "blank", "of another group"])
@pytest.mark.parametrize("arguments", [[], ["--execute", "--yes"]], ids=["plan", "execute"])
def test_a_file_without_offsets_of_the_group_is_refused(
    content: str, arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command once printed "Done." with exit code 0, although nothing was imported."""
    file = tmp_path / "offsets.csv"
    file.write_text(content)
    where = ["--bootstrap-server", "127.0.0.1:1", "--timeout", "0.3"]
    assert main(["groups", "offsets", "import", "shop", str(file), *where, *arguments]) == 2
    why = f"no line of {file} is about group shop" if content.strip() else f"{file} has no lines"
    assert capsys.readouterr().err.splitlines()[0] == f"Nothing was changed: {why}."


@pytest.mark.parametrize("arguments", [["list", "--command-config", "{file}"], ["offsets", "import", "shop", "{file}"]])
def test_a_file_that_cannot_be_read_is_a_sentence(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command once printed "[Errno 21] Is a directory: 'dir'"."""
    words = [word.format(file=tmp_path) for word in arguments]
    assert main(["groups", *words, "--bootstrap-server", "127.0.0.1:1"]) == 2
    assert f"{tmp_path} cannot be read: Is a directory." in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["list", "--command-config", "{file}"], ["offsets", "import", "shop", "{file}"]])
def test_a_file_without_an_end_is_a_sentence(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Reading it once took all memory."""
    words = [word.format(file="/dev/zero") for word in arguments]
    assert main(["groups", *words, "--bootstrap-server", "127.0.0.1:1"]) == 2
    assert "/dev/zero has more than 64 MiB: is it the file that you meant?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "arguments"),
    [
        (b"request.timeout.ms=60000", ["--timeout", "0.3"]),
        (b"request.timeout.ms=300", []),
        ("# für Käthe\nrequest.timeout.ms=300".encode("latin-1"), []),
        ("# für Käthe\nrequest.timeout.ms=300".encode(), []),
    ],
)
def test_a_properties_file_is_read_as_java_does_and_the_command_line_wins(
    content: bytes, arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Latin-1 once was an error, and a timeout in the file once overrode the one on the command line."""
    file = tmp_path / "client.properties"
    file.write_bytes(content + b"\nbootstrap.servers=127.0.0.1:1\n")
    assert main(["groups", "list", "--command-config", str(file), *arguments]) == 2
    assert "Given up after 0.3 s" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["reset", "shop", "--topic", "t:x", "--to-latest"],
        ["reset", "shop", "--topic", "t", "--to-time", "noon"],
        ["reset", "shop", "--topic", "t", "--by-duration", "6h"],
        ["reset", "shop", "--topic", "t", "--to-latest", "--to-earliest"],
    ],
)
def test_a_value_that_is_none_is_refused_by_the_command_line(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The error has an example of a right value, or names the options that contradict each other."""
    with pytest.raises(SystemExit, match="2"):
        main(["groups", "offsets", *arguments])
    assert "error: argument" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["list", "describe", "waiting", "remove", "offsets", "config"])
def test_help_has_examples_and_exit_codes(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The help of every command has them."""
    with pytest.raises(SystemExit, match="0"):
        main(["groups", command, "--help"])
    shown = capsys.readouterr().out
    assert f"membership-client groups {command}" in shown.partition("examples:")[2]
    assert "exit codes:" in shown


@pytest.mark.parametrize("arguments", [[], ["groups"], ["watch"]])
def test_help_of_all_commands_has_examples_too(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """The help of `membership-client` itself has examples, too."""
    with pytest.raises(SystemExit, match="0"):
        main([*arguments, "--help"])
    examples = capsys.readouterr().out.partition("examples:\n")[2]
    assert examples.startswith(f"  {' '.join(['membership-client', *arguments])} ")


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("groups wa", {"waiting"}),
        ("groups offsets reset shop --to-", {"--to-earliest", "--to-latest", "--to-time", "--to-offset"}),
        ("completion ", {"-h", "--help", "bash", "zsh"}),
    ],
)
def test_bash_completes_commands_and_options(words: str, offered: set[str], capsys: pytest.CaptureFixture[str]) -> None:
    """What `membership-client completion bash` prints is run by bash itself."""
    assert main(["completion", "bash"]) == 0
    typed = ["membership-client", *words.split(" ")]
    script = f"""{capsys.readouterr().out}
COMP_WORDS=({" ".join(word or '""' for word in typed)}) COMP_CWORD={len(typed) - 1}
_membership_client
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(["bash", "-c", script], check=True, capture_output=True, text=True)
    assert set(done.stdout.split()) == offered


def test_zsh_completes_by_what_it_has_of_bash(capsys: pytest.CaptureFixture[str]) -> None:
    """The script is the same, after zsh has loaded its support for bash's functions."""
    scripts = []
    for shell in ("bash", "zsh"):
        assert main(["completion", shell]) == 0
        scripts.append(capsys.readouterr().out)
    assert scripts[1] == f"autoload -U +X bashcompinit && bashcompinit\n{scripts[0]}"
