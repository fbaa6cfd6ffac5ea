"""The summary as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from membership_client.demo.facts import Facts
from membership_client.demo.summary import verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from membership_client.demo.expectations import Check
    from membership_client.demo.summary import Summary


_HEADINGS = ("moved", "longest\nownerless", "callbacks\nall/others", "others'\nrebalances", "group\nepoch", "met")
"""The others are the bystanders: members nothing was done to."""


def summary_view(summary: Summary, width: int) -> Group:
    title = f"computed from {summary.happenings} recorded happenings"
    table = Table(title=title, title_style="dim", width=width, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("step", ratio=1)
    for heading in _HEADINGS:
        table.add_column(heading, justify="right", no_wrap=True)
    for facts, checks in summary.steps:
        table.add_row(*_row(facts, checks))
    style = "bold green" if summary.as_expected else "bold red"
    return Group(table, *_remarks(summary), Text(verdict(summary), style=style))


def _row(facts: Facts, checks: Sequence[Check]) -> list[str | Text]:
    met = sum(check.met for check in checks)
    longest = facts.longest_ownerless_s
    return [
        f"{facts.step.number} {facts.step.title}",
        str(len(facts.moved)),
        f"{longest:.2f} s" if longest else "-",
        f"{sum(facts.callbacks.values())} / {facts.bystander_callbacks}",
        str(facts.bystander_rebalances),
        f"{facts.epoch_before} → {facts.epoch_after}",
        Text(f"{met}/{len(checks)}", style="green" if met == len(checks) else "bold red"),
    ]


def _remarks(summary: Summary) -> list[Text]:
    """What did not come out as expected."""
    return [
        Text(f"Step {facts.step.number}: {check.text}.", style="red")
        for facts, checks in summary.steps
        for check in checks
        if not check.met
    ]
