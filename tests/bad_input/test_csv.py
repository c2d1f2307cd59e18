"""CSV edges that are not what they should be."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from bad_input.judge import ETYPE, RANDOM, cases, change, contents, refuse_graph, run, write_graph

if TYPE_CHECKING:
    from pathlib import Path

FIRST, SECOND = "edges/0-0.csv", "edges/0-1.csv"
NOT_CSV = (FIRST, "row 0", "not a CSV file")
NO_INTEGERS = ("not two integers",)
PLAIN = ("without header, quotes and floats",)

WHOLE_FILES = [
    ("empty", change(FIRST, lambda _: b""), (f"edges.{ETYPE}", "expected 50 edges", "found 25 lines")),
    ("blank", change(FIRST, lambda _: b"\n \n\t\n\r\n" * 30), (f"edges.{ETYPE}", "found 25 lines")),
    ("old newlines", change(FIRST, lambda c: c.replace(b"\n", b"\r")), ("expected 50 edges", "found 26 lines")),
    ("truncated", change(SECOND, lambda c: c[: c.rindex(b" ")]), (SECOND, "row 24", "second column")),
    ("twice as long", change(FIRST, lambda c: c + c), ("expected 50 edges", "found 75 lines")),
    ("header", change(FIRST, lambda c: b"src dst\n" + c), NOT_CSV),
    ("header of R", change(FIRST, lambda c: b'"src" "dst"\n' + c), NOT_CSV),
    ("comment", change(FIRST, lambda c: b"# made by me\n" + c), NOT_CSV),
    ("JSON", change(FIRST, lambda _: b'{"src": [1], "dst": [2]}\n'), NOT_CSV),
    ("all commas", change(FIRST, lambda c: c.replace(b" ", b",")),
     (FIRST, "row 0", "delimiter that metadata.json declares")),
    ("all tabs", change(FIRST, lambda c: c.replace(b" ", b"\t")), (FIRST, "row 0", *NO_INTEGERS)),
    ("all semicolons", change(SECOND, lambda c: c.replace(b" ", b";")), (SECOND, "row 0", "separated by ' '")),
    ("all floats", change(FIRST, lambda c: c.replace(b" ", b".0 ")), (FIRST, "row 0", *PLAIN)),
    ("one column", change(FIRST, lambda c: b"7\n" * 25), (FIRST, "row 0", "second column is missing")),
    ("a line without end", change(FIRST, lambda _: b"1" * (18 << 20)), (FIRST, "line without end")),
    ("a very long number", change(FIRST, lambda _: b"1" * (1 << 20) + b" 2\n"), ("found 26 lines",)),
    ("sparse and huge", lambda graph: os.truncate(graph / FIRST, 1 << 30), (FIRST,)),
]  # fmt: skip

LINES = [
    ("too large for int64", b"9223372036854775808 1", ("too large",)),
    ("much too large", b"1 99999999999999999999999", ("too large",)),
    ("too large for int32", b"4294967296 1", ("out of range", "[0, 20)", "found 4,294,967,296")),
    ("wraps around to 0 in int32", b"1 -4294967296", ("out of range", "found -4,294,967,296")),
    ("one too large", b"20 1", ("'n' node out of range", "found 20")),
    ("destination too large", b"1 20", ("out of range", "found 20")),
    ("negative", b"1 -1", ("out of range", "found -1")),
    ("smallest", b"-9223372036854775807 1", ("out of range",)),
    ("float", b"1.0 1", (*NO_INTEGERS, *PLAIN)),
    ("exponent", b"1e3 1", PLAIN),
    ("not a number", b"1 NaN", NO_INTEGERS),
    ("one number and blanks", b"1   ", ("second column is missing",)),
    ("a comma", b"1,2", ("separated by ' '",)),
    ("thousands", b"1,000 2", NO_INTEGERS),
    ("underscores", b"1_0 2", NO_INTEGERS),
    ("hexadecimal", b"0x1 2", NO_INTEGERS),
    ("two signs", b"--1 2", NO_INTEGERS),
    ("only a sign", b"- 2", NO_INTEGERS),
    ("quotes", b'"1" "2"', PLAIN),
    ("digits of another script", "\u0661 \u0662".encode(), ("ASCII",)),
    ("latin-1", b"\xe9 1", NO_INTEGERS),
    ("NUL", b"1\0 2", NO_INTEGERS),
    ("escape codes", b"\x1b[31m1 2", NO_INTEGERS),
    ("glued", b"1 2x", NO_INTEGERS),
    ("long and wrong", b"x" * 100_000, NO_INTEGERS),
]


@cases(WHOLE_FILES)
def test_a_file_that_is_no_csv_is_one_error(damage: Any, words: tuple[str, ...], tmp_path: Path) -> None:
    graph = write_graph(tmp_path / "in")
    damage(graph)
    refuse_graph(graph, words)


@cases(LINES)  # type: ignore[arg-type]
def test_a_bad_line_is_named(damage: Any, words: tuple[str, ...], tmp_path: Path) -> None:
    graph = write_graph(tmp_path / "in")
    lines = (graph / SECOND).read_bytes().splitlines()
    (graph / SECOND).write_bytes(b"\n".join([*lines[:13], damage, *lines[14:]]) + b"\n")
    refuse_graph(graph, (SECOND, "row 13", *words))


def test_other_ways_to_write_the_same_lines_are_read_alike(tmp_path: Path) -> None:
    found = []
    for number, how in enumerate(
        (
            lambda text: text,
            lambda text: text.replace(b"\n", b"\r\n"),
            lambda text: text.replace(b"\n", b"\n\n"),
            lambda text: text.replace(b" ", b"   ").replace(b"\n", b" extra columns \xff\n"),
            lambda text: text.rstrip(b"\n"),
        )
    ):
        graph = write_graph(tmp_path / f"{number}" / "in")
        for name in (FIRST, SECOND):
            change(name, how)(graph)
        assert run("partition", graph, tmp_path / f"{number}" / "out", *RANDOM)[0] == 0
        found.append(contents(tmp_path / f"{number}" / "out"))
    assert all(other == found[0] for other in found)
