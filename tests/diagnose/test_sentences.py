"""The reader that holds sentences against the traces: it finds what is wrong in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from membership_client.debugger.diagnose import diagnose
from membership_client.debugger.findings.finding import Finding
from tests.diagnose.sentences import complaints
from tests.diagnose.traces import sections_of
from tests.diagnose.truth import truth_of
from tests.simulation.generate import script_of


@pytest.mark.parametrize("seed", range(6))
def test_a_sentence_with_another_number_or_partition_is_found(seed: int) -> None:
    """Each of them; and as it was written, nothing is wrong."""
    sections = sections_of(script_of(seed))
    truth, findings = truth_of(sections, 0.0), diagnose(sections, 0.0)
    assert complaints(truth, findings) == []
    for finding in findings:
        for wrong in falsified(finding):
            assert complaints(truth, [wrong]) != complaints(truth, [finding]), wrong.sentence


def falsified(finding: Finding) -> Iterator[Finding]:
    """The finding with one number of seconds that is too large, or with one group of partitions that does not exist."""
    text = finding.sentence
    for found in re.finditer(r"(\d+\.\d) s\b", text):
        yield replace(finding, sentence=f"{text[: found.start(1)]}{float(found[1]) + 1.3:.1f}{text[found.end(1) :]}")
    for found in re.finditer(r"\w\[([\d,-]+)\]", text):
        yield replace(finding, sentence=f"{text[: found.start(1)]}99{text[found.end(1) :]}")
