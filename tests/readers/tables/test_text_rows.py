"""Text is cut into the same rows in any bites: the kernels equal the oracle in plain Python."""

from __future__ import annotations

import gzip
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables_oracle import BLANKS, NEWLINE, RefusedError, rows_of_text

from daskgraphpart.errors import InputFileError
from daskgraphpart.readers.tables.describe import text_rows
from daskgraphpart.readers.tables.describe.text_rows import TextRows

PIECES = ("a", "bc", "ä", "1", ",", " ", "  ", "\t", '"', '""', "\n", "\r", "\r\n", '"x\ny"', '",', "#")


def read(rows: TextRows, num_fields: int) -> tuple[list[int], list[list[Any]]]:
    """Lines and fields of all rows, in small batches."""
    lines, fields = list[int](), list[list[Any]]()
    for of_batch, columns in rows.batches(num_fields, range(num_fields)):
        lines += of_batch.tolist()
        fields += map(list, zip(*(column.to_pylist() for column in columns), strict=True))
    return lines, fields


@given(st.lists(st.sampled_from(PIECES), max_size=30), st.sampled_from(", \t"), st.integers(1, 9), st.booleans())
def test_rows_are_those_of_the_oracle_in_any_bites(
    pieces: list[str], delimiter: str, nbytes: int, is_packed: bool
) -> None:
    text = "".join(pieces)
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as directory:
        path = Path(directory, "t.csv")
        path.write_bytes(gzip.compress(text.encode()) if is_packed else text.encode())
        whole = TextRows(str(path), str(path), "gzip" if is_packed else "none", delimiter)
        rows, _ = whole.without_comments("#")
        try:
            expected = rows_of_text(text, delimiter)
        except RefusedError as refused:
            if str(refused) == "no rows":
                assert not rows.head(1)
                return
            with pytest.raises(InputFileError):
                read(rows, len(rows.head(1)[0].fields))
            return
        patch.setattr(text_rows, "BYTES_PER_READ", nbytes)
        patch.setattr(text_rows, "ROWS_PER_BATCH", 2)
        lines, fields = read(rows, len(expected[0]))
    assert fields == expected
    if '"' not in text:
        of_text = enumerate(NEWLINE.split(text), 1)
        found = [line for line, row in of_text if row.strip(BLANKS)]
        assert lines == found[len(found) - len(lines) :]


@pytest.mark.parametrize("delimiter", [",", " "])
def test_the_first_rows_tell_their_fields_and_what_follows(delimiter: str, tmp_path: Path) -> None:
    text = 'a,"b\n""c"\n\n1,2,3\n , \nlast'.replace(",", delimiter)
    (tmp_path / "t.csv").write_text(text)
    rows = TextRows("t.csv", str(tmp_path / "t.csv"), "none", delimiter)
    head, following = rows.head(9), rows.without_first()
    blank = [(5, ["", ""])] if delimiter == "," else []
    assert [(row.line, row.fields) for row in head] == [
        (1, ["a", 'b\n"c']), (4, ["1", "2", "3"]), *blank, (6, ["last"]),
    ]  # fmt: skip
    assert following.line() == ""
    assert (following.first_line, following.without_comments("")[0].line()) == (
        3,
        "1,2,3".replace(",", delimiter),
    )
