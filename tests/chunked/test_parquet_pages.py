"""Footers and pages of parquet files: those that writers make pass, whatever they claim that cannot be is refused."""

from __future__ import annotations

import io
import os
import tempfile
from typing import TYPE_CHECKING, Any

import numpy as np
import parquet_surgery as surgery
import pyarrow as pa
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from parquet_surgery import I32, I64, LIST, STRUCT
from pyarrow import parquet

from daskgraphpart.chunked.open_parquet import opened_parquet
from daskgraphpart.chunked.parquet_delta import read_numbers
from daskgraphpart.chunked.thrift_compact import CompactReader
from daskgraphpart.errors import InputFileError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CODECS = ("none", "snappy", "gzip", "brotli", "lz4", "zstd")
ENCODINGS: dict[str, tuple[str, ...]] = {
    "i8": ("PLAIN", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"),
    "f4": ("PLAIN", "BYTE_STREAM_SPLIT"),
    "strings": ("PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"),
}


def column(kind: str, rows: int, seed: int, has_nulls: bool) -> pa.Array:
    """A column that repeats, compresses well or does not, depending on the seed."""
    rng = np.random.default_rng(seed)
    numbers = rng.integers(0, (1, 3, 1 << 40)[seed % 3], rows)
    made: dict[str, Callable[[], pa.Array]] = {
        "i8": lambda: pa.array(numbers),
        "i4": lambda: pa.array(numbers.astype("i4")),
        "u1": lambda: pa.array(numbers.astype("u1")),
        "f4": lambda: pa.array(numbers.astype("f4")),
        "f2": lambda: pa.array((numbers % 1000).astype("f2")),
        "bool": lambda: pa.array(numbers % 2 == 0),
        "time": lambda: pa.array(numbers, pa.timestamp("us")),
        "decimal": lambda: pa.array(numbers).cast(pa.decimal128(30, 2)),
        "strings": lambda: pa.array([f"node {n}" * (n % 7) for n in numbers.tolist()], pa.string()),
        "categories": lambda: pa.array([f"{n}" for n in numbers.tolist()]).dictionary_encode(),
        "lists": lambda: pa.array([[float(n)] * (n % 5) for n in numbers.tolist()], pa.list_(pa.float32())),
        "vectors": lambda: pa.array([[0.5] * 3] * rows, pa.list_(pa.float32(), 3)),
        "nested": lambda: pa.array([[[n], []] for n in numbers.tolist()], pa.list_(pa.list_(pa.int64()))),
        "structs": lambda: pa.array(
            [{"a": n, "b": {"c": [n]}} for n in numbers.tolist()],
            pa.struct([("a", pa.int64()), ("b", pa.struct([("c", pa.list_(pa.int64()))]))]),
        ),
        "maps": lambda: pa.array([[(f"{n}", n)] for n in numbers.tolist()], pa.map_(pa.string(), pa.int64())),
        "nulls": lambda: pa.nulls(rows, pa.int64()),
    }
    found = made[kind]()
    if not has_nulls:
        return found
    gaps = pa.array(rng.random(rows) < 0.3)
    return pa.compute.if_else(gaps, pa.scalar(None, found.type), found) if kind not in ("categories",) else found


KINDS = ("i8", "i4", "u1", "f4", "f2", "bool", "time", "decimal", "strings", "categories", "lists", "vectors", "nested")
MORE_KINDS = (*KINDS, "structs", "maps", "nulls")


@st.composite
def written(draw: st.DrawFn) -> tuple[pa.Table, dict[str, Any]]:
    """A table, and how it is written."""
    rows = draw(st.sampled_from((0, 1, 7, 300, 3_000)))
    kinds = draw(st.lists(st.sampled_from(MORE_KINDS), min_size=1, max_size=4))
    columns = {
        f"{i}.{kind}": column(kind, rows, draw(st.integers(0, 5)), draw(st.booleans())) for i, kind in enumerate(kinds)
    }
    how: dict[str, Any] = {
        "compression": draw(st.sampled_from(CODECS)),
        "data_page_version": draw(st.sampled_from(("1.0", "2.0"))),
        "version": draw(st.sampled_from(("1.0", "2.4", "2.6"))),
        "data_page_size": draw(st.sampled_from((1, 1 << 10, 1 << 20))),
        "row_group_size": draw(st.sampled_from((64, 1_000, 1 << 20))),
        "write_statistics": draw(st.booleans()),
        "write_page_checksum": draw(st.booleans()),
        "write_page_index": draw(st.booleans()),
        "store_schema": draw(st.booleans()),
        "use_dictionary": draw(st.booleans()),
    }
    if not how["use_dictionary"]:
        how["column_encoding"] = {
            name: draw(st.sampled_from(ENCODINGS[kind]))
            for name, kind in zip(columns, kinds, strict=True)
            if kind in ENCODINGS
        }
    return pa.table(columns), how


def read(path: Path | str, columns: list[str] | None = None) -> pa.Table:
    """All batches, through the door; every page was looked at."""
    with opened_parquet(str(path)) as opened:
        names = [opened.file.schema_arrow.field(name) for name in columns or opened.file.schema_arrow.names]
        table = pa.Table.from_batches(opened.batches(1_000, columns=columns), pa.schema(names))
        assert opened.footer is not None
        assert opened.footer.is_checked[:, opened.footer.leaves_of(columns)].all()
    return table


@given(written())
def test_whatever_pyarrow_writes_is_read(made: tuple[pa.Table, dict[str, Any]]) -> None:
    table, how = made
    with tempfile.TemporaryDirectory() as directory:
        path = f"{directory}/a.parquet"
        parquet.write_table(table, path, **how)
        for columns in (None, table.column_names[-1:]):
            with parquet.ParquetFile(path) as file:
                try:
                    batches = list(file.iter_batches(1_000, columns=columns))
                except pa.ArrowInvalid:  # pyarrow 26 does not read all structs that it writes in tiny pages
                    reject()
            found = read(path, columns)
            assert pa.Table.from_batches(batches, found.schema).equals(found)


def numbers(rows: int = 5_000) -> pa.Table:
    """Numbers that compress, a column of lists, and one of strings."""
    ids = np.arange(rows) // 3
    lists = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(rows * 4, "f4")), 4).cast(pa.list_(pa.float32()))
    return pa.table({"src": ids, "list": lists, "text": [f"{i % 10}" for i in range(rows)]})


def as_bytes(table: pa.Table, **how: Any) -> bytes:
    """A file."""
    file = io.BytesIO()
    parquet.write_table(table, file, **how)
    return file.getvalue()


def put(path: Path, content: bytes) -> Path:
    """Write a file."""
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_pages_of_zeros_as_large_as_codecs_can_make_them_are_read(codec: str, version: str, tmp_path: Path) -> None:
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(1 << 22)), 1 << 12)
    path = tmp_path / "a.parquet"
    how = {"compression": codec, "data_page_version": version, "data_page_size": 1 << 30}
    parquet.write_table(pa.table({"vectors": vectors}), path, use_dictionary=False, **how)
    assert read(path).num_rows == len(vectors)


def quirk(change: Callable[[surgery.Struct], object]) -> Callable[[bytes], bytes]:
    """Change the footer."""
    return lambda content: surgery.change_footer(content, change)


def of_chunks(key: int, value: Any) -> Callable[[surgery.Struct], None]:
    """Set or remove a key of all chunks."""

    def change(footer: surgery.Struct) -> None:
        for chunk in surgery.chunks_of(footer):
            chunk.pop(key, None)
            if value is not None:
                chunk[key] = value
            for number in sorted(chunk):
                chunk[number] = chunk.pop(number)

    return change


def without_header_of_dictionary(content: bytes) -> bytes:
    """As parquet-mr 1.2.8 wrote it."""
    body, footer = surgery.split(content)
    for i, chunk in enumerate(surgery.chunks_of(footer)):
        header = surgery.encode_struct(surgery.pages_of(content, i)[0][0])
        chunk[surgery.NBYTES] = I64, chunk[surgery.NBYTES][1] - len(header)
    footer[6] = surgery.BINARY, b"parquet-mr version 1.2.8 (build abc)"
    return surgery.join(body, footer)


@pytest.mark.parametrize(
    ("change", "how"),
    [
        (quirk(of_chunks(surgery.DICTIONARY_OFFSET, (I64, 0))), {"use_dictionary": False}),
        (quirk(of_chunks(12, None)), {}),  # no statistics
        (quirk(of_chunks(10, (I64, 0))), {}),  # a page of an index that there is not
        (quirk(lambda footer: footer.pop(5, None)), {}),  # no schema of Arrow's
        (quirk(lambda footer: footer.update({40: (LIST, (STRUCT, [{1: (I32, 1)}] * 20))})), {}),  # fields of the future
        (without_header_of_dictionary, {}),
    ],
)
@pytest.mark.parametrize("codec", CODECS)
def test_quirks_of_writers_are_read(
    change: Callable[[bytes], bytes], how: dict[str, Any], codec: str, tmp_path: Path
) -> None:
    content = as_bytes(numbers(), compression=codec, row_group_size=2_000, **how)
    expected = parquet.read_table(put(tmp_path / "a.parquet", content), schema=numbers().schema)
    assert expected.equals(read(put(tmp_path / "b.parquet", change(content))).cast(expected.schema))


def test_pages_of_unknown_kinds_are_passed_over(tmp_path: Path) -> None:
    content = as_bytes(numbers())
    pages = [(surgery.encode_struct(header), values) for header, values in surgery.pages_of(content)]
    other = surgery.encode_struct({1: (I32, 1), 2: (I32, 2**31 - 1), 3: (I32, 5), 6: (STRUCT, {})}), b"12345"
    path = put(tmp_path / "a.parquet", surgery.with_pages(content, [pages[0], other, *pages[1:]]))
    assert numbers().equals(read(path))


def test_pages_are_looked_at_once_and_again_when_the_file_changes(tmp_path: Path) -> None:
    path = put(tmp_path / "a.parquet", as_bytes(numbers(), row_group_size=2_000))
    with opened_parquet(str(path)) as first:
        list(first.batches(100, [1], ["src"]))
        assert first.footer is not None
        assert first.footer.is_checked.tolist() == [[False] * 3, [True, False, False], [False] * 3]
    with opened_parquet(str(path)) as second:
        assert second.footer is first.footer
    os.utime(path, (1, 1))
    with opened_parquet(str(path)) as third:
        assert third.footer is not None
        assert not third.footer.is_checked.any()


def test_bytes_of_columns_are_those_of_the_footer(tmp_path: Path) -> None:
    path = put(tmp_path / "a.parquet", as_bytes(numbers(), row_group_size=2_000))
    metadata = parquet.read_metadata(path)
    with opened_parquet(str(path)) as opened:
        for columns in ({"src"}, {"src", "list"}, {"src", "list", "text"}, {"li"}):
            expected = sum(
                metadata.row_group(group).column(i).total_uncompressed_size
                for group in range(metadata.num_row_groups)
                for i in range(3)
                if metadata.row_group(group).column(i).path_in_schema.split(".")[0] in columns
            )
            assert expected == opened.uncompressed_nbytes(columns)


def strings(kind: str, rows: int = 3_000) -> pa.Array:
    """Strings of some kind, which share beginnings or do not, and are null or not."""
    rng = np.random.default_rng(5)
    names = [f"http://node/{i // 7}/{'x' * int(n)}" for i, n in enumerate(rng.integers(0, 40, rows))]
    made: dict[str, Callable[[], pa.Array]] = {
        "all": lambda: pa.array(names),
        "some": lambda: pa.array([None if n % 3 else name for n, name in enumerate(names)]),
        "none": lambda: pa.nulls(rows, pa.string()),
        "empty": lambda: pa.array([""] * rows),
        "lists": lambda: pa.array(
            [names[i : i + n] if n else None for i, n in enumerate(rng.integers(0, 4, rows))], pa.list_(pa.string())
        ),
        "halves": lambda: pa.array(rng.random(rows).astype("f2")),
    }
    return made[kind]()


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("encoding", ENCODINGS["strings"][1:])
@pytest.mark.parametrize("kind", ["all", "some", "none", "empty", "lists", "halves"])
def test_strings_encoded_by_differences_are_read(
    kind: str, encoding: str, version: str, codec: str, tmp_path: Path
) -> None:
    if kind == "halves" and encoding == "DELTA_LENGTH_BYTE_ARRAY":
        return
    table = pa.table({"a": strings(kind)})
    how = {"column_encoding": {"a.list.element" if kind == "lists" else "a": encoding}, "compression": codec}
    content = as_bytes(table, use_dictionary=False, data_page_version=version, data_page_size=10_000, **how)
    assert len(surgery.pages_of(content)) > 1 or kind in ("none", "empty", "halves")
    assert table.equals(read(put(tmp_path / "a.parquet", content)))


@pytest.mark.parametrize("required", [True, False])
def test_levels_of_strings_encoded_by_differences_are_passed(required: bool, tmp_path: Path) -> None:
    schema = pa.schema([pa.field("a", pa.struct([pa.field("b", pa.string(), not required)]), not required)])
    table = pa.Table.from_pylist([{"a": {"b": f"{i}"}} for i in range(300)], schema)
    content = as_bytes(table, use_dictionary=False, column_encoding={"a.b": "DELTA_BYTE_ARRAY"})
    assert table.equals(read(put(tmp_path / "a.parquet", content)))


@pytest.mark.parametrize("bits", range(33))
@pytest.mark.parametrize("rows", [1, 2, 33, 129, 1_000])
def test_packed_numbers_are_unpacked(bits: int, rows: int) -> None:
    numbers = np.random.default_rng(bits).integers(-(1 << bits) // 2, max(1, (1 << bits) // 2), rows).astype("i4")
    schema = pa.schema([pa.field("a", pa.int32(), False)])
    how = {"column_encoding": {"a": "DELTA_BINARY_PACKED"}, "use_dictionary": False, "compression": "none"}
    values = surgery.pages_of(as_bytes(pa.table({"a": numbers}, schema), **how))[0][1]
    reader = CompactReader(values + b"behind")
    assert np.array_equal(numbers, read_numbers(reader, values + b"behind", rows))
    assert reader.at == len(values)


@pytest.mark.parametrize("block", [(128, 4), (128, 1), (256, 8), (2_048, 8), (1 << 16, 4)])
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_blocks_of_any_writer_are_read(block: tuple[int, int], codec: str, version: str, tmp_path: Path) -> None:
    names, shared = ["node 1", "node 12", "node", "x", ""] * 6, [0, 6, 4, 0, 0] * 6
    content = as_bytes(
        pa.table({"a": names}),
        use_dictionary=False,
        column_encoding={"a": "DELTA_BYTE_ARRAY"},
        compression=codec,
        data_page_version=version,
    )
    rest = [name[start:] for name, start in zip(names, shared, strict=True)]
    part = block[0] // block[1]
    lengths = [surgery.packed(numbers, *block) for numbers in (shared, list(map(len, rest)))]
    values = b"".join(length + bytes(4 * (part - 32)) for length in lengths) + "".join(rest).encode()
    found = read(put(tmp_path / "a.parquet", surgery.with_values(content, values, codec)))
    assert found["a"].to_pylist() == names


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("encoding", ENCODINGS["strings"][1:])
def test_lengths_that_are_claimed_take_no_memory(encoding: str, version: str, codec: str, tmp_path: Path) -> None:
    content = as_bytes(
        pa.table({"a": ["node"] * 20}),
        use_dictionary=False,
        column_encoding={"a": encoding},
        compression=codec,
        data_page_version=version,
    )
    path = put(
        tmp_path / "a.parquet", surgery.with_values(content, surgery.packed([4] * 20, total=(1 << 31) - 1), codec)
    )
    arrow = pa.default_memory_pool()
    before = arrow.max_memory()
    with pytest.raises(InputFileError, match=r"as differences.*2,147,483,647 values where there are at most 20"):
        read(path)
    assert arrow.max_memory() in (before, min(arrow.max_memory(), 128 << 20))


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("number", [2, 3])
@pytest.mark.parametrize("chunk", [0, 1, 2])
def test_a_page_that_claims_a_gigabyte_takes_no_memory(
    codec: str, version: str, number: int, chunk: int, tmp_path: Path
) -> None:
    content = as_bytes(numbers(), compression=codec, data_page_version=version, write_statistics=False)
    arrow = pa.default_memory_pool()
    for page in range(len(surgery.pages_of(content, chunk))):
        damaged = surgery.change_page(content, lambda header: header.update({number: (I32, 1 << 30)}), page, chunk)
        path = put(tmp_path / f"{page}.parquet", damaged)
        before = arrow.max_memory()
        with pytest.raises(InputFileError, match=r"row group 0, column .*: impossible size of a page"):
            read(path)
        assert arrow.max_memory() in (before, min(arrow.max_memory(), 128 << 20))
