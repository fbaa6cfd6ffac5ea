"""Whatever happened, and whatever is left of the files: a diagnosis comes out, and always the same one."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from membership_client.core.machine import Step
from membership_client.debugger.commands.diagnose_command import diagnose_files
from membership_client.debugger.diagnose import diagnose
from membership_client.debugger.findings.finding import Finding, Kind
from membership_client.trace import Section
from tests.diagnose.traces import EPOCH_S, read_all, sections_of, shifted, written
from tests.simulation.generate import script_of
from tests.trace.test_replay import lives as lives_of
from tests.trace.test_replay import recorded as record_steps

pytestmark = pytest.mark.deep

SEEDS = range(100)
KIP_848 = tuple(seed for seed in SEEDS if not script_of(seed).classic)
"""In an eager classic group every rebalance leaves partitions without an owner for a moment: how long is a matter of clocks."""

_OWN_CLOCK = frozenset(Kind) - {
    Kind.BROKER_RESTARTED,
    Kind.KILLED,
    Kind.NETWORK_LOST,
    Kind.REBALANCE,
    Kind.REBALANCE_STORM,
    Kind.REMOVED_FROM_OUTSIDE,
    Kind.THROWN_OUT,
    Kind.TWO_OWNERS,
    Kind.UNOWNED_PARTITION,
}
"""Kinds that a single member's clock decides. For the others two clocks are compared, or a restart that is seen by two
explains them.
"""


@cache
def recorded(seed: int) -> tuple[Section, ...]:
    return tuple(sections_of(script_of(seed)))


def gist(findings: Iterable[Finding]) -> Counter[tuple[Kind, tuple[str, ...]]]:
    return Counter((finding.kind, tuple(sorted(finding.members))) for finding in findings)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_order_of_files_does_not_matter(seed: int) -> None:
    """Nor does it matter how often one asks."""
    sections = list(recorded(seed))
    findings = diagnose(sections)
    random.Random(seed).shuffle(sections)
    assert diagnose(sections) == findings
    assert all(finding.evidence and finding.sentence and finding.advice for finding in findings)
    assert all(finding.began <= finding.ended for finding in findings)


def skewed(seed: int) -> list[Section]:
    """Each machine's clock is fast by something below two seconds."""
    chance = random.Random(seed)
    return [shifted(section, chance.uniform(0.0, 2.0)) for section in recorded(seed)]


@pytest.mark.parametrize("seed", SEEDS)
def test_clocks_that_differ_change_no_verdict_about_a_single_member(seed: int) -> None:
    """Nor which rebalances there were, because the coordinator counts them."""
    true, moved = diagnose(list(recorded(seed))), diagnose(skewed(seed))
    assert gist(f for f in true if f.kind in _OWN_CLOCK) == gist(f for f in moved if f.kind in _OWN_CLOCK)
    assert epochs(true) == epochs(moved)


def epochs(findings: list[Finding]) -> list[str]:
    return sorted(f.sentence.partition(":")[0] for f in findings if f.kind is Kind.REBALANCE)


@pytest.mark.parametrize("seed", KIP_848)
def test_what_is_clear_with_true_clocks_is_found_with_wrong_ones(seed: int) -> None:
    """And nothing is found with wrong ones that true ones do not show at all."""
    sections = list(recorded(seed))
    clear, any_, moved = diagnose(sections, 4.0), diagnose(sections, 0.0), diagnose(skewed(seed), 2.0)
    assert dead(clear) <= dead(moved) <= dead(any_)
    assert unowned(clear) <= unowned(moved) <= unowned(any_)


def dead(findings: list[Finding]) -> set[str]:
    return {str(finding.evidence[0].path) for finding in findings if finding.kind is Kind.KILLED}


def unowned(findings: list[Finding]) -> set[str]:
    return {str(p) for finding in findings if finding.kind is Kind.UNOWNED_PARTITION for p in finding.partitions}


@pytest.mark.parametrize("seed", SEEDS)
def test_files_that_are_cut_off_anywhere_are_diagnosed(seed: int, tmp_path: Path) -> None:
    """In the middle of a line, after the header, near the end."""
    chance = random.Random(seed)
    for path in written(recorded(seed), tmp_path):
        content = path.read_bytes()
        header = content.index(b"\n") + 1
        path.write_bytes(content[: chance.randrange(header, len(content) + 1)])
    sections = read_all(sorted(tmp_path.iterdir()))
    assert diagnose(sections) == diagnose(sections[::-1])
    assert diagnose_files(sorted(tmp_path.iterdir()), skew_s=2.0, in_json=True) in {0, 1}


@pytest.mark.parametrize("seed", SEEDS[::5])
def test_a_trace_that_is_there_twice_counts_once(seed: int) -> None:
    """The file, and what was saved from memory beside it."""
    whole = list(recorded(seed))
    copies = [replace(s, path=Path(f"saved-{s.path}"), entries=json.loads(json.dumps(s.entries))) for s in whole]
    assert gist(diagnose(whole)) == gist(diagnose(whole + copies))


@pytest.mark.parametrize("seed", SEEDS[::5])
def test_a_trace_in_pieces_is_the_same_trace(seed: int, tmp_path: Path) -> None:
    """As rotation leaves it: each piece begins with the member as it was."""
    lives = [steps for steps in lives_of(seed).values() if steps]
    whole = [
        part for number, steps in enumerate(lives) for part in recorded_in(tmp_path / f"{number}-whole", steps, 10**9)
    ]
    pieces = [
        part for number, steps in enumerate(lives) for part in recorded_in(tmp_path / f"{number}-cut", steps, 6_000)
    ]
    assert (
        len(pieces) > len(whole) or max(map(len, lives)) < 20
    )  # All runs may be so short that each fits into one piece.
    assert gist(diagnose(whole)) == gist(diagnose(pieces))


def recorded_in(path: Path, steps: list[Step], max_bytes: int) -> list[Section]:
    """With the clocks of the simulation, in which the steps were taken, and not those of this machine."""
    clocks = {"wall": EPOCH_S, "at": 0.0}
    sections = read_all(record_steps(steps, path, max_bytes))
    return [replace(section, header=section.header | clocks) for section in sections]
