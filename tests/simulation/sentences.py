"""Compares the sentences of `diagnose`, the report and `watch` about simulated groups with what happened."""

from __future__ import annotations

import time
from collections.abc import Iterator

from membership_client.debugger.commands.report_command import compose
from membership_client.debugger.diagnose import findings_of
from membership_client.debugger.model.timeline import groups_of
from membership_client.debugger.model.unowned import unowned_totals_of
from membership_client.trace import Section
from tests.diagnose.report_truth import report_complaints, total_complaints
from tests.diagnose.sentences import complaints
from tests.diagnose.traces import sections_of
from tests.diagnose.truth import truth_of
from tests.simulation.fleet import Outcome
from tests.simulation.generate import script_of
from tests.simulation.watched import watch_complaints

_SKEWS = (0.0, 2.0)
"""Clocks that are known to be right, and clocks as they are by default."""


def read_seeds(seeds: range) -> Outcome:
    """The errors in the sentences about these seeds; empty if there are none."""
    began_at = time.process_time()
    found = [f"seed {seed}, {text}" for seed in seeds for text in _wrong(seed)]
    return Outcome(len(seeds), time.process_time() - began_at, "\n".join(found[:20]) or None)


def _wrong(seed: int) -> Iterator[str]:
    """The errors with all traces, without those of one member, and of `watch`, which knows only what the coordinator tells."""
    yield from watch_complaints(script_of(seed))
    sections = sections_of(script_of(seed))
    names = sorted({_name(section) for section in sections})
    yield from _contradicted(sections)
    if len(names) > 1:
        untraced = names[seed % len(names)]
        rest = [section for section in sections if _name(section) != untraced]
        yield from (f"without {untraced}: {text}" for text in _contradicted(rest))


def _name(section: Section) -> str:
    return str(section.header["instance"] or section.header["member"])


def _contradicted(sections: list[Section]) -> Iterator[str]:
    for skew_s in _SKEWS if any(section.entries for section in sections) else ():
        truth = truth_of(sections, skew_s)
        (group,) = groups_of(sections, skew_s)
        told = [*complaints(truth, findings_of(group)), *total_complaints(truth, unowned_totals_of(group))]
        told += report_complaints(truth, compose(sections, skew_s))
        yield from (f"clocks within {skew_s:g} s: {text}" for text in told)
