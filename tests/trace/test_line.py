"""Limits of one line of a trace; test_hostile_files.py tests whole files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from membership_client.trace import TraceError, read_trace, reading
from membership_client.trace.reading import LineError, parse_line, partitions_of

HEADER = '{"trace":1,"group":"g","member":"m"}'


def nested(depth: int) -> bytes:
    return ('{"a":' * depth + "1" + "}" * depth).encode()


def test_lines_of_the_greatest_length_and_depth_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """One byte or one level more is refused."""
    monkeypatch.setattr(reading, "LONGEST_BYTES", 2 << 20)
    padding = b" " * ((2 << 20) - len(b'{"at":1}'))
    assert parse_line(b'{"at":1}' + padding) == {"at": 1}
    with pytest.raises(LineError, match="is longer than 2 MiB"):
        parse_line(b'{"at":1}' + padding + b" ")
    assert parse_line(nested(24)) == json.loads(nested(24))
    with pytest.raises(LineError, match="is nested deeper than 24 levels"):
        parse_line(nested(25))
    with pytest.raises(LineError, match="is nested deeper than 24 levels"):
        parse_line(b'{"a":' + b"[" * 24 + b"]" * 24 + b"}")
    with pytest.raises(LineError, match="is nested too deeply"):
        parse_line(nested(200_000))


@pytest.mark.parametrize(
    ("number", "fits"),
    [(str(2**63 - 1), True), (str(2**63), False), (str(-(2**63)), True), (str(-(2**63) - 1), False), ("1e300", False)],
)
def test_numbers_have_64_bits(number: str, fits: bool) -> None:
    """Kafka's numbers have 64 bits. The limit also holds in lists and in inner objects."""
    for text in (f'{{"a":{number}}}', f'{{"a":[{{"b":{number}}}]}}'):
        if fits:
            assert parse_line(text.encode()) == json.loads(text)
        else:
            with pytest.raises(LineError, match="has a number that is too large"):
                parse_line(text.encode())


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_constants_that_json_does_not_have_are_refused(constant: str) -> None:
    """Python's reader accepts them by default."""
    with pytest.raises(LineError, match=f"has {constant} as a number"):
        parse_line(f'{{"at":{constant}}}'.encode())


@pytest.mark.parametrize("text", [b"", b"hello", b"[1]", b'"x"', b"1", b'{"at":'])
def test_what_is_no_object_is_no_line(text: bytes) -> None:
    """Every other JSON value is refused."""
    with pytest.raises(LineError, match="is not a line of a trace"):
        parse_line(text)


def test_half_characters_are_replaced() -> None:
    """They are replaced in keys, values and lists, because no file and no terminal can take them."""
    assert parse_line(b'{"\\ud83d":["\\ud83d","a\\udc00b",1],"b":{"c":"\\ud83d\\ude00"}}') == {
        "\N{REPLACEMENT CHARACTER}": ["\N{REPLACEMENT CHARACTER}", "a\N{REPLACEMENT CHARACTER}b", 1],
        "b": {"c": "\N{GRINNING FACE}"},
    }
    assert parse_line(b'{"a":"\xff"}') == {"a": "\N{REPLACEMENT CHARACTER}"}


def test_partitions_are_counted_where_fields_name_them_by_ranges() -> None:
    """They are counted everywhere in a line, and in no other field."""
    entry = {"owned": {"orders": "0-9,11"}, "effects": [{"request": {"assignment": {"x": "3"}}}], "note": {"x": "0-99"}}
    assert partitions_of(entry) == 12
    assert partitions_of({"partitions": ["orders-1"], "owned": {"orders": ["0-9"]}}) == 0


def test_a_line_may_name_as_many_partitions_as_the_largest_member_has() -> None:
    """The limit is 200,000; a range of thirty letters once took all memory."""
    assert partitions_of({"owned": {"orders": "0-199999"}}) == 200_000
    with pytest.raises(LineError, match="names 200001 partitions; the limit is 200000"):
        partitions_of({"owned": {"orders": "0-200000"}})
    with pytest.raises(LineError, match="cannot be read: "):
        partitions_of({"owned": {"orders": "9-0"}})


def test_a_file_may_name_as_many_partitions_as_fit_into_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is for all lines together."""
    monkeypatch.setattr(reading, "MOST_PARTITIONS_OF_A_FILE", 20)
    path, entry = tmp_path / "t", '{"at":1,"owned":{"orders":"0-9"}}'
    path.write_text(f"{HEADER}\n{entry}\n{entry}\n")
    (section,) = read_trace(path)
    assert len(section.entries) == 2
    path.write_text(f'{HEADER}\n{entry}\n{entry}\n{{"at":1,"owned":{{"orders":"0"}}}}\n')
    with pytest.raises(TraceError, match="line 4: the lines up to here name 21 partitions; the limit for a file is 20"):
        read_trace(path)


def test_a_line_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """Its number is that of the file, as an editor shows it."""
    path = tmp_path / "t"
    path.write_text(f'{HEADER}\n{{"at":1}}\nhello\n{{"at":2}}\n')
    with pytest.raises(TraceError, match="t, line 3 is not a line of a trace"):
        read_trace(path)


@pytest.mark.parametrize("version", ["2", "true", '"1"', "null"])
def test_another_version_is_refused(version: str, tmp_path: Path) -> None:
    """The version `true` is refused, too, although `true` equals 1 in Python."""
    (tmp_path / "t").write_text(f'{{"trace":{version}}}\n')
    with pytest.raises(TraceError, match="and this program reads version 1"):
        read_trace(tmp_path / "t")


def test_steps_that_are_missing_stand_in_the_header(tmp_path: Path) -> None:
    """A header without the key means that no step is missing."""
    (tmp_path / "t").write_text(f'{HEADER}\n{{"trace":1,"dropped":3}}\n')
    assert [section.dropped for section in read_trace(tmp_path / "t")] == [0, 3]


@pytest.mark.parametrize(("instance", "name"), [('"till-1"', "till-1"), ("null", "shop@node-1:17")])
def test_a_member_is_named_by_its_instance_id_or_else_by_client_and_process(
    instance: str, name: str, tmp_path: Path
) -> None:
    """The log uses the same name."""
    process = '"host":"node-1","pid":17,"start":{"config":{"client_id":"shop"}}'
    (tmp_path / "t").write_text(f'{{"trace":1,"member":"m","instance":{instance},{process}}}\n')
    assert read_trace(tmp_path / "t")[0].name == name
