"""Colours of members, for every kind of eye."""

from __future__ import annotations

import itertools
import math
import re
from importlib.resources import files

import pytest

from membership_client.debugger.report.page import COLOURS, colours_of

Triple = tuple[float, float, float]

# How each sees linear red, green and blue: Machado, Oliveira and Fernandes (2009), full deficiency.
EYES: dict[str, tuple[Triple, Triple, Triple]] = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}


def palette() -> list[Triple]:
    """Linear light, out of the style sheet."""
    style = (files("membership_client.debugger.report") / "assets" / "page.css").read_text()
    found = re.findall(r"--member-\d: #(..)(..)(..);", style)
    return [(linear(red), linear(green), linear(blue)) for red, green, blue in found]


def linear(digits: str) -> float:
    value = int(digits, 16) / 255
    return value / 12.92 if value <= 0.04045 else float(((value + 0.055) / 1.055) ** 2.4)


def dot(one: Triple, other: Triple) -> float:
    return max(sum(a * b for a, b in zip(one, other, strict=True)), 0.0)


def perceived(light: Triple, eye: tuple[Triple, Triple, Triple]) -> Triple:
    """CIE Lab, in which a distance of 2 is just seen side by side."""
    seen = (dot(eye[0], light), dot(eye[1], light), dot(eye[2], light))
    x, y, z = (
        root(dot((0.4124, 0.3576, 0.1805), seen) / 0.9505),
        root(dot((0.2126, 0.7152, 0.0722), seen)),
        root(dot((0.0193, 0.1192, 0.9505), seen) / 1.089),
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def root(value: float) -> float:
    return math.cbrt(value) if value > 0.008856 else 7.787 * value + 16 / 116


@pytest.mark.parametrize("eye", EYES)
def test_no_two_colours_look_alike(eye: str) -> None:
    """Not to those who see less of red, of green or of blue either."""
    seen = [perceived(colour, EYES[eye]) for colour in palette()]
    assert len(seen) == COLOURS
    assert min(math.dist(one, other) for one, other in itertools.combinations(seen, 2)) > 18


def test_members_of_a_small_group_have_different_colours_and_keep_them() -> None:
    """Ten colours before the first texture; a name alone decides as long as its colour is free."""
    names = [f"m{number}" for number in range(50)]
    assert len({colour for colour, _ in colours_of(names[:COLOURS]).values()}) == COLOURS
    assert len(set(colours_of(names).values())) == 50
    assert colours_of(["m7"])["m7"] == colours_of(["m7", "zz"])["m7"]
