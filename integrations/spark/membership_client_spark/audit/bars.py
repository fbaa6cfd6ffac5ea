"""How often and how much over time, as bars: counted by Spark, drawn as SVG."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from membership_client_spark.audit.words import clock

COUNT = 96
_WIDTH, _HEIGHT = 960, 64


@dataclass(frozen=True, slots=True)
class Strip:
    """One row of bars over the time of the whole audit."""

    title: str
    values: tuple[float, ...]


_REBALANCES = """
    SELECT CAST(greatest(0, least(:last, floor((CAST(time AS DOUBLE) - :began) / :width))) AS INT) AS bar,
        CAST(count(*) AS DOUBLE) AS value
    FROM {frame} GROUP BY bar"""

# What lasts is shared out among the bars that it touches.
_SPANS = """
    WITH spans AS (
        SELECT CAST(began AS DOUBLE) - :began AS first, CAST(ended AS DOUBLE) - :began AS final FROM {frame}),
    parts AS (
        SELECT first, final, explode(sequence(CAST(greatest(0, least(:last, floor(first / :width))) AS INT),
            CAST(greatest(0, least(:last, floor(final / :width))) AS INT))) AS bar FROM spans)
    SELECT bar, sum(least(final, (bar + 1) * :width) - greatest(first, bar * :width)) / :width AS value
    FROM parts GROUP BY bar"""


def strips(spark: SparkSession, tables: Mapping[str, DataFrame], began: float, ended: float) -> list[Strip]:
    """Over that time; what lies outside counts in the first bar, or the last."""
    scale = {"began": began, "width": max(ended - began, 1e-3) / COUNT, "last": COUNT - 1}

    def strip(title: str, query: str, table: str) -> Strip:
        found = {row["bar"]: row["value"] for row in spark.sql(query, args=scale, frame=tables[table]).collect()}
        return Strip(title, tuple(max(0.0, found.get(bar, 0.0)) for bar in range(COUNT)))

    return [
        strip("Rebalances", _REBALANCES, "rebalances"),
        strip("Partitions without an owner, on average", _SPANS, "gaps"),
        strip("Partitions with two owners, on average", _SPANS, "overlaps"),
    ]


def drawn(strip: Strip, began: float, ended: float) -> str:
    """An SVG whose bars tell their time and value to a pointer that rests on them."""
    most, step_s = max(strip.values), (ended - began) / COUNT
    bars = "".join(
        _bar(number, value / most, f"{clock(began + number * step_s)}: {value:.3g}")
        for number, value in enumerate(strip.values)
        if value > 0
    )
    shape = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" preserveAspectRatio="none"'
    return f'<svg {shape} role="img" aria-label="{strip.title}, at most {most:.3g}">{bars}</svg>'


def _bar(number: int, part: float, told: str) -> str:
    width = _WIDTH / COUNT
    height = max(2.0, part * _HEIGHT)
    place = f'x="{number * width:g}" y="{_HEIGHT - height:.2f}" width="{width - 1.5:g}" height="{height:.2f}"'
    return f"<rect {place}><title>{told}</title></rect>"
