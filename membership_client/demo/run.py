"""Runs the demonstration from beginning to end and returns its exit code."""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from confluent_kafka import KafkaException

from membership_client import ConfigError
from membership_client.demo.clusters import (
    BrokerKind,
    DemoCluster,
    DemoError,
    Say,
    embedded_cluster,
    kafka_cluster,
    user_cluster,
)
from membership_client.demo.kit import CANNOT_RUN, INTERRUPTED, NOT_AS_EXPECTED, OK, interruptible, svg_problem
from membership_client.demo.recording import Recording
from membership_client.demo.sentences import PlainView
from membership_client.demo.steps import Demonstration
from membership_client.demo.summary import Summary, summarize
from membership_client.testing import KafkaStartError, KafkaUnavailableError

if TYPE_CHECKING:
    from pathlib import Path

    from membership_client.demo.live import LiveView


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The command line."""

    broker: BrokerKind | None = None
    """The address of the user's cluster; None for an embedded broker."""
    bootstrap_servers: str | None = None
    plain: bool = False
    svg: Path | None = None


def run(options: Options) -> int:
    """Runs the steps, shows them, and sums them up. Returns one of the exit codes of `kit`."""
    try:
        with interruptible():
            return _run(options)
    except (ConfigError, KafkaUnavailableError, KafkaStartError, DemoError) as error:
        print(f"membership-client demo: {error}", file=sys.stderr)
        return CANNOT_RUN
    except KafkaException as error:
        print(f"membership-client demo: the cluster refused: {error.args[0].str()}", file=sys.stderr)
        return CANNOT_RUN
    except KeyboardInterrupt:
        print("membership-client demo: interrupted; nothing is left running.", file=sys.stderr)
        return INTERRUPTED


def _run(options: Options) -> int:
    if problem := svg_problem(options.svg):
        raise DemoError(problem)
    recording = Recording()
    with _view(options, recording) as view:
        with _cluster(options, recording.remark) as cluster, Demonstration(cluster, recording) as demonstration:
            demonstration.run()
        summary = summarize(recording.events)
        view.show(summary)
    if options.svg is not None:
        _save_picture(recording, summary, options.svg)
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
    """Whether the output is a terminal that can be redrawn, with colours and Unicode."""
    out = sys.stdout
    return out.isatty() and os.environ.get("TERM") != "dumb" and (out.encoding or "").lower().startswith("utf")


def _save_picture(recording: Recording, summary: Summary, file: Path) -> None:
    from membership_client.demo.live import save_run  # noqa: PLC0415 - rich is an extra

    save_run(recording, summary, file)
    print(f"The picture is in {file}.")


def _cluster(options: Options, say: Say) -> AbstractContextManager[DemoCluster]:
    if options.bootstrap_servers is not None:
        return user_cluster(options.bootstrap_servers, say)
    return kafka_cluster(say) if options.broker == "kafka" else embedded_cluster(say)
