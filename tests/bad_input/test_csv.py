"""CSV edges that are not what they should be."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from bad_input.judge import ETYPE, Case, Server, cases, contents, expect_refusal, write_graph
from pyarrow import parquet

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FIRST, SECOND = "edges/0-0.csv", "edges/0-1.csv"


def change(name: str, how: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    """Rewrite a file."""
    return lambda graph: (graph / name).write_bytes(how((graph / name).read_bytes()))


def line(row: int, text: bytes) -> Callable[[Path], object]:
    """Replace a line of the second file."""

    def how(content: bytes) -> bytes:
        lines = content.splitlines()
        lines[row] = text
        return b"\n".join(lines) + b"\n"

    return change(SECOND, how)


def as_parquet(_: bytes) -> bytes:
    file = io.BytesIO()
    parquet.write_table(pa.table({"src": [1] * 25, "dst": [1] * 25}), file)
    return file.getvalue()


def as_npy(_: bytes) -> bytes:
    file = io.BytesIO()
    np.save(file, np.zeros((25, 2), int))
    return file.getvalue()


def replace_by(make: Callable[[Path], object]) -> Callable[[Path], object]:
    """Put something that is no file in the place of the first file."""

    def damage(graph: Path) -> None:
        (graph / FIRST).unlink()
        make(graph / FIRST)

    return damage


def loop(path: Path) -> None:
    path.symlink_to(path.with_name("again"))
    path.with_name("again").symlink_to(path)


WHOLE_FILES = [
    Case("gzip", change(FIRST, gzip.compress), (FIRST, "row 0", "not a CSV file")),
    Case("bzip2", change(FIRST, bz2.compress), (FIRST, "row 0", "not a CSV file")),
    Case("xz", change(SECOND, lzma.compress), (SECOND, "row 0", "not a CSV file")),
    Case("zstandard", change(FIRST, lambda _: b"\x28\xb5\x2f\xfd\x04\x00"), (FIRST, "row 0", "not a CSV file")),
    Case("zip", change(FIRST, lambda _: b"PK\x03\x04\x14\x00"), (FIRST, "row 0", "not a CSV file")),
    Case("UTF-16", change(FIRST, lambda c: c.decode().encode("utf-16")), (FIRST, "row 0", "not a CSV file")),
    Case("UTF-16, little", change(FIRST, lambda c: c.decode().encode("utf-16-le")), (FIRST, "row 0", "not a CSV file")),
    Case("UTF-16, big", change(SECOND, lambda c: c.decode().encode("utf-16-be")), (SECOND, "row 0", "not a CSV file")),
    Case("UTF-32", change(FIRST, lambda c: c.decode().encode("utf-32")), (FIRST, "row 0", "not a CSV file")),
    Case("byte-order mark", change(FIRST, lambda c: b"\xef\xbb\xbf" + c), (FIRST, "row 0", "not a CSV file")),
    Case("parquet", change(FIRST, as_parquet), (FIRST, "row 0", "not a CSV file")),
    Case("npy", change(FIRST, as_npy), (FIRST, "row 0", "not a CSV file")),
    Case("zeros", change(FIRST, lambda _: bytes(1000)), (FIRST, "row 0", "not a CSV file")),
    Case("noise", change(FIRST, lambda _: bytes(range(128, 256)) * 50), (FIRST, "row 0", "not a CSV file")),
    Case("empty", change(FIRST, lambda _: b""), (f"edges.{ETYPE}", "expected 50 edges", "found 25 lines")),
    Case("blank", change(FIRST, lambda _: b"\n \n\t\n\r\n" * 30), (f"edges.{ETYPE}", "found 25 lines")),
    Case("old newlines", change(FIRST, lambda c: c.replace(b"\n", b"\r")), ("expected 50 edges", "found 26 lines")),
    Case("truncated", change(SECOND, lambda c: c[: c.rindex(b" ")]), (SECOND, "row 24", "second column")),
    Case("cut short", change(FIRST, lambda c: c[: c.index(b"\n", 30) + 1]), ("expected 50 edges", "lines")),
    Case("twice as long", change(FIRST, lambda c: c + c), ("expected 50 edges", "found 75 lines")),
    Case("header", change(FIRST, lambda c: b"src dst\n" + c), (FIRST, "row 0", "not a CSV file")),
    Case("header of R", change(FIRST, lambda c: b'"src" "dst"\n' + c), (FIRST, "row 0", "not a CSV file")),
    Case("comment", change(FIRST, lambda c: b"# made by me\n" + c), (FIRST, "row 0", "not a CSV file")),
    Case("JSON", change(FIRST, lambda _: b'{"src": [1], "dst": [2]}\n'), (FIRST, "row 0", "not a CSV file")),
    Case("HTML", change(FIRST, lambda _: b"<!DOCTYPE html>\n<p>404</p>\n"), (FIRST, "row 0", "not a CSV file")),
    Case(
        "git LFS pointer",
        change(FIRST, lambda _: b"version https://git-lfs\noid sha\n"),
        (FIRST, "row 0", "not a CSV file"),
    ),
    Case(
        "all commas",
        change(FIRST, lambda c: c.replace(b" ", b",")),
        (FIRST, "row 0", "delimiter that metadata.json declares"),
    ),
    Case("all tabs", change(FIRST, lambda c: c.replace(b" ", b"\t")), (FIRST, "row 0", "not two integers")),
    Case("all semicolons", change(SECOND, lambda c: c.replace(b" ", b";")), (SECOND, "row 0", "separated by ' '")),
    Case(
        "all floats",
        change(FIRST, lambda c: c.replace(b" ", b".0 ")),
        (FIRST, "row 0", "without header, quotes and floats"),
    ),
    Case("one column", change(FIRST, lambda c: b"7\n" * 25), (FIRST, "row 0", "second column is missing")),
    Case("a directory", replace_by(lambda path: path.mkdir()), (FIRST, "no such file, or not a regular one")),
    Case("a FIFO", replace_by(os.mkfifo), (FIRST, "no such file, or not a regular one")),
    Case(
        "a device", replace_by(lambda path: path.symlink_to("/dev/zero")), (FIRST, "no such file, or not a regular one")
    ),
    Case("a loop of links", replace_by(loop), (FIRST, "no such file, or not a regular one")),
    Case("a link to nothing", replace_by(lambda path: path.symlink_to("nothing")), (FIRST, "no such file")),
    Case("missing", replace_by(lambda path: None), (FIRST, "no such file")),
    Case("a line without end", change(FIRST, lambda _: b"1" * (18 << 20)), (FIRST, "line without end")),
    Case(
        "a very long number",
        change(FIRST, lambda _: b"1" * (1 << 20) + b" 2\n"),
        ("expected 50 edges", "found 26 lines"),
    ),
    Case("sparse and huge", lambda graph: os.truncate(graph / FIRST, 1 << 30), (FIRST,)),
    Case(
        "several bad files",
        lambda g: (change(FIRST, as_npy)(g), change(SECOND, as_npy)(g)),
        (FIRST, "row 0", "not a CSV file"),
    ),
]

LINES = [
    Case(name, line(13, text), (SECOND, "row 13", *words))
    for name, text, words in (
        ("too large for int64", b"9223372036854775808 1", ("too large",)),
        ("much too large", b"1 99999999999999999999999", ("too large",)),
        ("too large for int32", b"4294967296 1", ("out of range", "[0, 20)", "found 4,294,967,296")),
        ("wraps around to 0 in int32", b"1 -4294967296", ("out of range", "found -4,294,967,296")),
        ("one too large", b"20 1", ("'n' node out of range", "found 20")),
        ("destination too large", b"1 20", ("out of range", "found 20")),
        ("negative", b"1 -1", ("out of range", "found -1")),
        ("smallest", b"-9223372036854775807 1", ("out of range",)),
        ("float", b"1.0 1", ("not two integers", "without header, quotes and floats")),
        ("exponent", b"1e3 1", ("without header, quotes and floats",)),
        ("not a number", b"1 NaN", ("not two integers",)),
        ("infinite", b"inf 1", ("not two integers",)),
        ("null", b"1 null", ("not two integers",)),
        ("one number", b"1", ("second column is missing",)),
        ("one number and blanks", b"1   ", ("second column is missing",)),
        ("a comma", b"1,2", ("separated by ' '",)),
        ("thousands", b"1,000 2", ("not two integers",)),
        ("underscores", b"1_0 2", ("not two integers",)),
        ("hexadecimal", b"0x1 2", ("not two integers",)),
        ("two signs", b"--1 2", ("not two integers",)),
        ("only a sign", b"- 2", ("not two integers",)),
        ("quotes", b'"1" "2"', ("without header, quotes and floats",)),
        ("digits of another script", "\u0661 \u0662".encode(), ("ASCII",)),
        ("latin-1", b"\xe9 1", ("not two integers",)),
        ("NUL", b"1\0 2", ("not two integers",)),
        ("escape codes", b"\x1b[31m1 2", ("not two integers",)),
        ("a word", b"1 one", ("not two integers",)),
        ("glued", b"1 2x", ("not two integers",)),
        ("long and wrong", b"x" * 100_000, ("not two integers",)),
    )
]


@cases(WHOLE_FILES)
def test_a_file_that_is_no_csv_is_one_error(case: Case, tmp_path: Path, server: Server) -> None:
    graph = write_graph(tmp_path / "in")
    case.damage(graph)
    expect_refusal(server, graph, case)


@cases(LINES)
def test_a_bad_line_is_named(case: Case, tmp_path: Path, server: Server) -> None:
    graph = write_graph(tmp_path / "in")
    case.damage(graph)
    expect_refusal(server, graph, case)


def test_of_several_bad_lines_one_is_named(tmp_path: Path, server: Server) -> None:
    graph = write_graph(tmp_path / "in")
    for number in range(6):
        line(3 + 3 * number, b"x y")(graph)
    expect_refusal(server, graph, Case("", lambda _: None, (SECOND, "'x y'")))


def test_other_ways_to_write_the_same_lines_are_read_alike(tmp_path: Path, server: Server) -> None:
    plain = write_graph(tmp_path / "plain")
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
            (graph / name).write_bytes(how((plain / name).read_bytes()))
        out = tmp_path / f"{number}" / "out"
        assert server.run("partition", graph, out, "--num-parts", "2", "--quiet", "--method", "random")["code"] == 0
        found.append(contents(out))
    assert all(other == found[0] for other in found)
