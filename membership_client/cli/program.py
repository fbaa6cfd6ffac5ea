"""The command `membership-client`."""

from __future__ import annotations

import argparse
import contextlib
import functools
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, cast

from membership_client.admin.commands.groups_parser import add_connection, add_groups
from membership_client.cli.output import GuardedOutput, OutputError
from membership_client.cli.values import duration, path, seconds

if TYPE_CHECKING:
    from collections.abc import Sequence


_DEMO = """\
Three members of one group, each a process of its own, share a topic: one joins late, one restarts as
a static member without a rebalance, one is killed with SIGKILL and its replacement takes over. Then a summary is
computed from what was recorded, and the exit code is 1 if anything did not come out as expected.
"""

_REPLAY = """\
Runs every step of each trace through the state machine of this version, and compares the result with the trace.
The exit code is 0 if nothing differs, 1 at the first step that differs, 2 if a trace cannot be read.
"""

_DIAGNOSE = """\
Puts the traces of a group's members together, from any number of machines, restarts and rotated files, and says what
went wrong, which lines show it, and what to do. If the traces do not show a cause, it says so. Some causes, such as an
administrator's reason, are only in the brokers' logs: give these with --broker-log.
Without traces, --group watches a group from outside: members that come and go, commit nothing, delay the group, or lag.
The exit code is 0 if nothing is wrong, 1 if something is, 2 if a file or the group cannot be read.
"""

_DIAGNOSE_EXAMPLES = """\
examples:
  membership-client diagnose traces/*.jsonl --broker-log server.log
  membership-client diagnose --group shop --bootstrap-server localhost:9092 --for 60s
"""

_REPORT = """\
Draws the traces of a group's members: which member owned which partition when, what each member and its callbacks did, and what
diagnose found, in one page that opens in any browser without a network, or in a file for ui.perfetto.dev.
The exit code is 0 if the report was written, 2 if not.
"""

_WATCH = """\
Shows a group of either protocol as its coordinator describes it: members with instance ids, hosts and epochs, the partitions
that each has and should have, its lag, and for which member the group has been waiting, and how long.
The exit code is 0, or 2 if the group cannot be read.
"""

_WATCH_EXAMPLES = """\
examples:
  membership-client watch shop --bootstrap-server localhost:9092
  membership-client watch shop --command-config client.properties --every 5 --json >> shop.jsonl
"""

_EXAMPLES = """\
examples:
  membership-client demo
  membership-client watch shop --bootstrap-server localhost:9092
  membership-client groups waiting shop --bootstrap-server localhost:9092
  membership-client diagnose traces/*
"""

_COMPLETION = """\
Prints what makes the shell complete commands and options of membership-client.
Put this into ~/.bashrc (or zsh into ~/.zshrc): eval "$(membership-client completion bash)"
"""

_DEMO_BROKERS = """\
The broker is embedded in this process and needs nothing else. Real Kafka needs Java 17 or newer and Kafka's jars, which
scripts/test downloads.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; a wrong command line exits with 2 and says what is wrong.

    The code is 2 also if standard output cannot be written, and 141 if its reader has closed it, as `| head -1` does.
    """
    # Standard output is None if it was closed before the command began: then print() does nothing.
    if sys.stdout is None:
        return _run(arguments)
    output, code = GuardedOutput(sys.stdout), 0
    with contextlib.suppress(OutputError), contextlib.redirect_stdout(cast("TextIO", output)):
        try:
            code = _run(arguments)
        finally:
            # Flushed also after --help, which exits, so that an error is raised here and not when Python ends.
            output.flush()
    return output.exit_code(code)


def _run(arguments: Sequence[str] | None) -> int:
    options = _parser().parse_args(arguments)
    return int(options.run(options))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="membership-client",
        description="Kafka consumer-group membership that says at every moment what the group is doing and why.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {_version()}")
    commands = parser.add_subparsers(required=True, metavar="command")
    _add_demo(commands.add_parser("demo", help="watch a group live: joins, a restart, a SIGKILL and a takeover"))
    _add_replay(commands.add_parser("replay", help="run traces through this version's state machine"))
    _add_diagnose(commands.add_parser("diagnose", help="say what went wrong in a group, from its members' traces"))
    _add_report(commands.add_parser("report", help="draw a group's history, from its members' traces"))
    _add_watch(
        commands.add_parser("watch", help="see a group as its coordinator sees it, and which members it waits for")
    )
    add_groups(commands.add_parser("groups", help="list and describe groups, remove members, set offsets and settings"))
    _add_completion(commands.add_parser("completion", help="complete commands in your shell"))
    return parser


def _add_demo(demo: argparse.ArgumentParser) -> None:
    demo.description, demo.epilog = _DEMO, _DEMO_BROKERS
    where = demo.add_mutually_exclusive_group()
    where.add_argument("--broker", choices=["embedded", "kafka"], help="which broker; default: embedded")
    where.add_argument(
        "--bootstrap-servers",
        metavar="HOST:PORT,...",
        help="use this cluster (Kafka 4.0 or newer, plaintext) instead; a topic and a group with new, unique names "
        "are created there and deleted at the end, and nothing else is touched",
    )
    demo.add_argument(
        "--plain", action="store_true", help="lines instead of the live view, as when the output is not a terminal"
    )
    demo.add_argument("--svg", type=path, metavar="FILE", help="also write the picture of the run to FILE (needs rich)")
    demo.set_defaults(run=_demo)


def _demo(options: argparse.Namespace) -> int:
    # Commands are imported when they run, so that --help and --version are fast.
    from membership_client.demo.run import Options, run  # noqa: PLC0415

    return run(
        Options(
            broker=options.broker,
            bootstrap_servers=options.bootstrap_servers,
            plain=options.plain,
            svg=options.svg,
        )
    )


def _add_replay(replay: argparse.ArgumentParser) -> None:
    replay.description = _REPLAY
    replay.add_argument("files", nargs="+", type=path, metavar="FILE", help="traces, written by trace.file")
    replay.set_defaults(run=_replay)


def _replay(options: argparse.Namespace) -> int:
    from membership_client.debugger.commands.replay_command import replay_files  # noqa: PLC0415

    return replay_files(options.files)


def _add_diagnose(diagnose: argparse.ArgumentParser) -> None:
    diagnose.description, diagnose.epilog = _DIAGNOSE, _DIAGNOSE_EXAMPLES
    diagnose.formatter_class = argparse.RawDescriptionHelpFormatter
    diagnose.add_argument("files", nargs="*", type=path, metavar="FILE", help="traces of any members, in any order")
    form = diagnose.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", dest="in_json", help="for programs; see docs/debugging.md")
    form.add_argument("--brief", action="store_true", help="only the first line: what went wrong")
    diagnose.add_argument(
        "--skew",
        type=seconds,
        default=2.0,
        metavar="SECONDS",
        help="by how much the machines' clocks may differ; nothing is concluded from less (default: 2)",
    )
    _add_broker_log(diagnose)
    outside = diagnose.add_argument_group(
        "without traces", "what the group's coordinator shows, for members of any client"
    )
    outside.add_argument("--group", metavar="GROUP", help="watch this group")
    outside.add_argument(
        "--for",
        type=duration,
        default=60.0,
        dest="watch",
        metavar="DURATION",
        help="how long to watch it, such as 60s or 2m; default: 60s",
    )
    add_connection(outside)
    diagnose.set_defaults(run=functools.partial(_diagnose, diagnose))


def _add_broker_log(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--broker-log",
        nargs="+",
        action="extend",
        default=[],
        type=path,
        metavar="FILE",
        help="server.log of the brokers: it says why the coordinator removed members; give it after the traces, or alone",
    )


def _diagnose(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    if options.group is not None and (options.files or options.broker_log):
        parser.error("--group watches a group, and files are read: give one of them, not both.")
    if options.group is not None:
        from membership_client.admin.commands.diagnose_group import diagnose_group  # noqa: PLC0415

        options.json = options.in_json
        return diagnose_group(options)
    if not options.files and not options.broker_log:
        parser.error("There is nothing to diagnose: give traces, or --broker-log, or --group with --bootstrap-server.")
    from membership_client.debugger.commands import diagnose_command  # noqa: PLC0415

    if not options.files:
        return diagnose_command.diagnose_broker_logs(options.broker_log, in_json=options.in_json, brief=options.brief)
    return diagnose_command.diagnose_files(
        options.files,
        skew_s=options.skew,
        in_json=options.in_json,
        brief=options.brief,
        broker_logs=options.broker_log,
    )


def _add_report(report: argparse.ArgumentParser) -> None:
    report.description = _REPORT
    report.add_argument("files", nargs="+", type=path, metavar="FILE", help="traces of any members, in any order")
    report.add_argument("-o", "--output", type=path, metavar="FILE", help="default: report.html, or report.json")
    report.add_argument("--format", choices=["html", "perfetto"], default="html", help="default: html")
    report.add_argument(
        "--skew",
        type=seconds,
        default=2.0,
        metavar="SECONDS",
        help="by how much the machines' clocks may differ; two owners for less are only perhaps two (default: 2)",
    )
    _add_broker_log(report)
    report.set_defaults(run=_report)


def _report(options: argparse.Namespace) -> int:
    from membership_client.debugger.commands.report_command import report_files  # noqa: PLC0415

    output = options.output or Path("report.html" if options.format == "html" else "report.json")
    return report_files(
        options.files, output=output, form=options.format, skew_s=options.skew, broker_logs=options.broker_log
    )


def _add_watch(watch: argparse.ArgumentParser) -> None:
    watch.description, watch.epilog = _WATCH, _WATCH_EXAMPLES
    watch.formatter_class = argparse.RawDescriptionHelpFormatter
    watch.add_argument("group", metavar="GROUP")
    add_connection(watch)
    watch.add_argument("--every", type=seconds, default=1.0, metavar="SECONDS", help="how often to look; default: 1")
    watch.add_argument("--once", action="store_true", help="look once, then end")
    watch.add_argument("--json", action="store_true", help="print a line of JSON for every look")
    watch.set_defaults(run=_watch)


def _watch(options: argparse.Namespace) -> int:
    from membership_client.admin.commands.look_command import watch  # noqa: PLC0415

    return watch(options)


def _add_completion(completion: argparse.ArgumentParser) -> None:
    completion.description = _COMPLETION
    completion.add_argument("shell", choices=["bash", "zsh"])
    completion.set_defaults(run=_completion)


def _completion(options: argparse.Namespace) -> int:
    print(_script(options.shell, _parser()), end="")
    return 0


def _version() -> str:
    try:
        return version("membership-client")
    except PackageNotFoundError:
        return "(not installed)"


# --- completion ------------------------------------------------------------------------------------------------------


_BASH = """\
_membership_client() {{
    local path="" word words=""
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "$path $word" in
            {paths}) path="$path $word" ;;
        esac
    done
    case "$path" in
{words}
    esac
    COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _membership_client membership-client
"""
_ZSH = "autoload -U +X bashcompinit && bashcompinit\n"


def _script(shell: str, parser: argparse.ArgumentParser) -> str:
    """The script to `eval` in bash or zsh. If no word fits, the shell completes file names."""
    found = dict(_words(parser, ""))
    paths = "|".join(f'"{path}"' for path in found if path)
    words = "\n".join(f'        "{path}") words="{" ".join(offered)}" ;;' for path, offered in found.items())
    return (_ZSH if shell == "zsh" else "") + _BASH.format(paths=paths, words=words)


def _words(parser: argparse.ArgumentParser, path: str) -> Iterator[tuple[str, list[str]]]:
    """For each command, such as " groups list", the words that may follow it."""
    # argparse has no public way to list its options.
    actions = parser._actions  # noqa: SLF001
    yield path, [str(word) for action in actions for word in action.option_strings or action.choices or ()]
    for action in actions:
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for name, command in action.choices.items():
                yield from _words(command, f"{path} {name}")
