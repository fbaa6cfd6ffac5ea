"""Runs the demonstration from beginning to end and returns its exit code."""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaException

from membership_client import ConfigError
from membership_client.demo.plain import PlainView
from membership_client.demo.play import Play
from membership_client.demo.recording import Recording
from membership_client.demo.stage import (
    BrokerKind,
    DemoCluster,
    Say,
    StageError,
    embedded_stage,
    kafka_stage,
    user_stage,
)
from membership_client.demo.summary import Summary, summarize
from membership_client.testing import KafkaStartError, KafkaUnavailableError

if TYPE_CHECKING:
    from pathlib import Path

    from membership_client.demo.live import LiveView

OK, NOT_AS_EXPECTED, CANNOT_RUN, INTERRUPTED = 0, 1, 2, 130


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The command line."""

    broker: BrokerKind | None = None
    """None: embedded."""
    bootstrap_servers: str | None = None
    plain: bool = False
    svg: Path | None = None


def run(options: Options) -> int:
    """Plays, shows, sums up. 0: as expected, 1: not so, 2: could not run, 130: interrupted."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # As nohup sets it.
            signal.signal(number, _interrupt)
    try:
        return _run(options)
    except (ConfigError, KafkaUnavailableError, KafkaStartError, StageError) as error:
        print(f"membership-client demo: {error}", file=sys.stderr)
        return CANNOT_RUN
    except KafkaException as error:
        print(f"membership-client demo: the cluster refused: {error.args[0].str()}", file=sys.stderr)
        return CANNOT_RUN
    except KeyboardInterrupt:
        print("membership-client demo: interrupted; nothing is left running.", file=sys.stderr)
        return INTERRUPTED


def _interrupt(*_: Any) -> None:
    """Whoever ends us otherwise than by Ctrl-C means the same."""
    raise KeyboardInterrupt


def _run(options: Options) -> int:
    _check_svg(options)
    recording = Recording()
    with _view(options, recording) as view:
        with _stage(options, recording.remark) as stage, Play(stage, recording) as play:
            play.perform()
        summary = summarize(recording.happenings)
        view.show(summary)
    if options.svg is not None:
        _photograph(recording, summary, options.svg)
    return OK if summary.as_expected else NOT_AS_EXPECTED


def _view(options: Options, recording: Recording) -> PlainView | LiveView:
    if options.plain or not _is_screen():
        return PlainView(recording)
    try:
        from membership_client.demo.live import LiveView  # noqa: PLC0415 - rich is an extra
    except ModuleNotFoundError:
        print("(The live view needs rich: pip install 'membership-client[cli]'. Plain lines instead.)")
        return PlainView(recording)
    return LiveView(recording)


def _is_screen() -> bool:
    """Can the output be redrawn, in colours, with more than ASCII?"""
    out = sys.stdout
    return out.isatty() and os.environ.get("TERM") != "dumb" and (out.encoding or "").lower().startswith("utf")


def _check_svg(options: Options) -> None:
    """Before the play, not after it."""
    if options.svg is None:
        return
    if importlib.util.find_spec("rich") is None:
        raise StageError("--svg needs rich: pip install 'membership-client[cli]'.")
    if not options.svg.absolute().parent.is_dir():
        raise StageError(f"--svg {options.svg}: there is no such directory.")


def _photograph(recording: Recording, summary: Summary, file: Path) -> None:
    from membership_client.demo.photo import take_photo  # noqa: PLC0415 - rich is an extra

    take_photo(recording, summary, file)
    print(f"The picture is in {file}.")


def _stage(options: Options, say: Say) -> AbstractContextManager[DemoCluster]:
    if options.bootstrap_servers is not None:
        return user_stage(options.bootstrap_servers, say)
    return kafka_stage(say) if options.broker == "kafka" else embedded_stage(say)
