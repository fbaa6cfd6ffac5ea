"""The command line of `membership-client groups`."""

from __future__ import annotations

import argparse
import datetime as dt
import re
from importlib import import_module
from typing import Any

from membership_client.arguments import duration_s
from membership_client.cli.values import path, seconds
from membership_client.types import TopicPartition

EXIT_CODES = """\
exit codes:
  0  done, or nothing to report
  1  a finding: the group waits for a member, something is in the way of a change, a member was not removed, ...
  2  not possible: the command line is wrong, the brokers do not answer or refuse, there is no access, or no such group
  3  not done, because it was not confirmed (answer y, or give --yes)
  130  interrupted
  141  the reader of the output has closed it, as in "| head -1"
"""

_EXAMPLES = {
    "list": "membership-client groups list --bootstrap-server localhost:9092 --state reconciling",
    "describe": "membership-client groups describe shop --command-config client.properties",
    "waiting": "membership-client groups waiting shop --bootstrap-server localhost:9092 --watch 10",
    "check": """\
membership-client groups check shop --bootstrap-server localhost:9092
  membership-client groups check shop --config consumer.properties --pattern '^orders.*' --json ...
  membership-client groups check shop --to static --config consumer.properties ...""",
    "migrate-watch": "membership-client groups migrate-watch shop --bootstrap-server localhost:9092",
    "remove": """\
membership-client groups remove shop till-3 --reason "node lost" --bootstrap-server localhost:9092
  membership-client groups remove shop till-3 --force --yes --bootstrap-server localhost:9092   # at once""",
    "offsets": """\
membership-client groups offsets show shop --bootstrap-server localhost:9092
  membership-client groups offsets reset shop --topic orders --to-time 2026-11-16T06:00:00+01:00 ...   # shows the plan
  membership-client groups offsets reset shop --topic orders --by-duration PT6H --execute ...
  membership-client groups offsets export shop ... > offsets.csv
  membership-client groups offsets import shop offsets.csv --execute ...""",
    "config": """\
membership-client groups config show shop --bootstrap-server localhost:9092
  membership-client groups config set shop consumer.session.timeout.ms=60000 ...
  membership-client groups config set shop consumer.session.timeout.ms=default ...""",
}

_SubParsers = Any


def add_groups(groups: argparse.ArgumentParser) -> None:
    groups.description = "Describe groups of both protocols, find the members that a group waits for, remove members, change offsets and settings."
    groups.formatter_class = argparse.RawDescriptionHelpFormatter
    groups.epilog = (
        f"examples:\n  {_EXAMPLES['list']}\n  {_EXAMPLES['waiting']}\n  {_EXAMPLES['remove']}\n\n{EXIT_CODES}"
    )
    commands = groups.add_subparsers(required=True, metavar="command")
    _add_list(_command(commands, "list", "all groups of consumers, from every broker"))
    _add_group(_command(commands, "describe", "members, their partitions and targets, offsets and lag"), "describe")
    _add_waiting(_command(commands, "waiting", "the members that the group waits for, and how long that can last"))
    _add_check(_command(commands, "check", "what stands in the way of KIP-848, static membership or membership_client"))
    _add_migrate_watch(
        _command(commands, "migrate-watch", "the members that have moved to the other protocol, until all have")
    )
    _add_remove(_command(commands, "remove", "remove members, with a reason for the broker's log"))
    _add_offsets(_command(commands, "offsets", "show, reset, export, import or forget committed offsets"))
    _add_config(_command(commands, "config", "session timeout and intervals of a KIP-848 group"))


def _command(commands: _SubParsers, name: str, about: str, example: str | None = None) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = commands.add_parser(
        name,
        help=about,
        description=about[0].upper() + about[1:] + ".",
        epilog=f"examples:\n  {_EXAMPLES[example or name]}\n\n{EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    return made


def _runs(parser: argparse.ArgumentParser, module: str, function: str) -> None:
    """Set the parser's command. The command's module is imported when it runs, so that --help is fast."""

    def run(options: argparse.Namespace) -> int:
        from membership_client.admin.commands import groups_command  # noqa: PLC0415 - see above

        command = getattr(import_module(f"membership_client.admin.commands.{module}"), function)
        return groups_command.run(options, command)

    parser.set_defaults(run=run)
    add_connection(parser)
    parser.add_argument("--json", action="store_true", help="for programs; see docs/admin.md")


def add_connection(parser: argparse._ActionsContainer) -> None:
    """The connection options of Kafka's own tools."""
    parser.add_argument("--bootstrap-server", metavar="HOST:PORT,...", help="addresses of brokers")
    parser.add_argument(
        "--command-config",
        type=path,
        metavar="FILE",
        help="a client.properties of Kafka's own tools; it may also name bootstrap.servers",
    )
    parser.add_argument(
        "--timeout",
        type=seconds,
        metavar="SECONDS",
        help="time limit for each answer; default: request.timeout.ms of FILE, or 10",
    )


def _add_group(parser: argparse.ArgumentParser, function: str, module: str = "look_command") -> None:
    parser.add_argument("group", metavar="GROUP")
    _runs(parser, module, function)


def _add_list(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--state", action="append", default=[], help="for example stable, empty; may be repeated")
    parser.add_argument(
        "--protocol",
        action="append",
        default=[],
        type=str.lower,
        choices=["consumer", "classic"],
        help="may be repeated",
    )
    parser.add_argument("--prefix", default="", help="groups whose names begin with this")
    _runs(parser, "look_command", "list_groups")


def _add_waiting(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--watch", type=seconds, default=0.0, metavar="SECONDS", help="observe the group for this time; default: once"
    )
    _add_group(parser, "waiting")


def _add_named_group(parser: argparse.ArgumentParser) -> None:
    """The group as the argument GROUP, as in other commands, or as `--group`, as in Kafka's own tools."""
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument("group", nargs="?", default=argparse.SUPPRESS, metavar="GROUP")
    group.add_argument("--group", metavar="GROUP", default=argparse.SUPPRESS, help="the same")


def _add_check(parser: argparse.ArgumentParser) -> None:
    _add_named_group(parser)
    parser.add_argument(
        "--to",
        choices=["consumer", "static", "membership-client"],
        default="consumer",
        help="consumer is KIP-848 (default); membership-client is the move from another client",
    )
    parser.add_argument(
        "--config",
        type=path,
        metavar="FILE",
        help="key=value lines: the configuration that members will have. Its keys are checked, and the ACLs of its user",
    )
    parser.add_argument(
        "--pattern",
        action="append",
        default=[],
        metavar="REGEX",
        help="a subscription with ^ in front; may be repeated",
    )
    _runs(parser, "check_command", "check")


def _add_migrate_watch(parser: argparse.ArgumentParser) -> None:
    _add_named_group(parser)
    parser.add_argument("--to", choices=["consumer", "classic"], default="consumer", help="default: consumer (KIP-848)")
    parser.add_argument("--every", type=seconds, default=1.0, metavar="SECONDS", help="how often to look; default: 1")
    parser.add_argument("--once", action="store_true", help="look once; exit code 1 if a member has not moved")
    _runs(parser, "migrate_command", "migrate_watch")


def _add_yes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", help="do not ask")


def _add_remove(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("group", metavar="GROUP")
    parser.add_argument("members", nargs="*", metavar="MEMBER", help="instance ids or member ids")
    parser.add_argument("--all", action="store_true", help="all members")
    parser.add_argument("--reason", help="for the broker's log; default: removed by an admin")
    parser.add_argument(
        "--force", action="store_true", help="also remove members that are or may be alive, without watching them"
    )
    parser.add_argument(
        "--watch",
        type=seconds,
        default=10.0,
        metavar="SECONDS",
        help="watch members for this time before removing them; default: 10",
    )
    _add_yes(parser)
    _runs(parser, "change_command", "remove")


def _add_offsets(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(required=True, metavar="command")
    _add_group(_command(commands, "show", "committed offsets, ends of partitions, and lag", "offsets"), "offsets")
    _add_group(
        _command(commands, "export", "committed offsets as topic,partition,offset", "offsets"),
        "export",
        "offsets_command",
    )
    _add_reset(_command(commands, "reset", "set offsets; without --execute only the plan is shown", "offsets"))
    _add_import(_command(commands, "import", "set offsets to those of a CSV file", "offsets"))
    _add_forget(_command(commands, "forget", "delete offsets of topics that no member subscribes to", "offsets"))


def _add_execution(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--execute", action="store_true", help="carry out the plan; without this it is only shown")
    _add_yes(parser)


def _add_topics(parser: argparse.ArgumentParser, *, required: bool) -> None:
    parser.add_argument(
        "--topic",
        action="append",
        required=required,
        default=[],
        type=_topic,
        dest="topics",
        metavar="TOPIC[:NUMBER,...]",
        help="may be repeated",
    )


def _add_reset(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("group", metavar="GROUP")
    _add_topics(parser, required=False)
    parser.add_argument("--all-topics", action="store_true", help="all partitions that the group has committed")
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--to-earliest", action="store_true", help="the start of each partition")
    where.add_argument("--to-latest", action="store_true", help="the end of each partition")
    where.add_argument("--to-time", type=_time, metavar="TIME", help="ISO 8601; without a zone it is UTC")
    where.add_argument("--by-duration", type=_duration, metavar="PnDTnHnMnS", help="this long ago, for example PT6H")
    where.add_argument("--to-offset", type=int, metavar="OFFSET", help="this offset in every partition")
    where.add_argument("--shift-by", type=int, metavar="COUNT", help="this many records forward; back if negative")
    _add_execution(parser)
    _runs(parser, "offsets_command", "reset")


def _add_import(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("group", metavar="GROUP")
    parser.add_argument("file", type=path, metavar="FILE", help="lines of topic,partition,offset")
    _add_execution(parser)
    _runs(parser, "offsets_command", "import_offsets")


def _add_forget(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("group", metavar="GROUP")
    _add_topics(parser, required=True)
    _add_execution(parser)
    _runs(parser, "offsets_command", "forget")


def _add_config(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(required=True, metavar="command")
    _add_group(
        _command(commands, "show", "with the brokers' defaults and limits", "config"), "show_settings", "change_command"
    )
    change = _command(commands, "set", "change settings of one group", "config")
    change.add_argument("group", metavar="GROUP")
    change.add_argument("settings", nargs="+", type=_setting, metavar="NAME=MS", help="or NAME=default")
    _add_yes(change)
    _runs(change, "change_command", "change")


# --- values ----------------------------------------------------------------------------------------------------------


def _topic(text: str) -> str | tuple[TopicPartition, ...]:
    """A topic, or partitions of a topic as Kafka's tool writes them: `orders`, or `orders:0,1,2`."""
    topic, colon, numbers = text.partition(":")
    if not colon:
        return topic
    if not topic or not re.fullmatch(r"[0-9]{1,10}(,[0-9]{1,10})*", numbers):
        raise argparse.ArgumentTypeError(f"{text!r} is not TOPIC or TOPIC:NUMBER,NUMBER,...")
    return tuple(TopicPartition(topic, int(number)) for number in numbers.split(","))


def _time(text: str) -> dt.datetime:
    try:
        return dt.datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time such as 2026-11-16T06:00:00+01:00") from None


def _duration(text: str) -> dt.timedelta:
    if (long_s := duration_s(text)) is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a duration such as P1D, PT6H or PT1H30M")
    try:
        return dt.timedelta(seconds=long_s)
    except OverflowError:
        raise argparse.ArgumentTypeError(f"{text[:100]!r} is too long for a duration") from None


def _setting(text: str) -> tuple[str, int | None]:
    name, equals, value = text.partition("=")
    if not equals or not re.fullmatch(r"default|[0-9]{1,10}", value):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=MILLISECONDS or NAME=default")
    return name, None if value == "default" else int(value)
