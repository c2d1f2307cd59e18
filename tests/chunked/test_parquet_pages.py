"""Sizes that pages of parquet files claim: those of real files pass, impossible ones are refused at once."""

from __future__ import annotations

import resource
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from daskgraphpart.chunked import parquet_pages
from daskgraphpart.chunked.blocks import Block
from daskgraphpart.chunked.read_parquet import read_parquet_edges
from daskgraphpart.errors import InputFileError

if TYPE_CHECKING:
    from pathlib import Path

SRC = np.random.default_rng(0).integers(0, 1 << 40, 50_000)
TABLE = pa.table(
    {
        "src": SRC,
        "zeros": np.zeros(50_000, "f8"),
        "text": [f"node {i % 1000} " + "x" * (i % 300) for i in range(50_000)],
        "list": pa.array(np.zeros((50_000, 4), "f4").tolist(), pa.list_(pa.float32())),
        "nulls": pa.array([None, 1] * 25_000, pa.int32()),
    }
)


@pytest.mark.parametrize("codec", ["NONE", "SNAPPY", "LZ4", "GZIP", "ZSTD", "BROTLI"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("checksums", [False, True])
def test_pages_of_real_files_are_walked_from_end_to_end(
    codec: str, version: str, checksums: bool, tmp_path: Path
) -> None:
    path = tmp_path / "a.parquet"
    parquet.write_table(
        TABLE, path, compression=codec, data_page_version=version, data_page_size=1 << 14, row_group_size=20_000,
        write_page_checksum=checksums,
    )  # fmt: skip
    metadata = parquet.read_metadata(path)
    parquet_pages.check_page_sizes(str(path), metadata, range(metadata.num_row_groups), None)
    with path.open("rb") as file:
        for group in range(metadata.num_row_groups):
            for i in range(metadata.row_group(group).num_columns):
                chunk = metadata.row_group(group).column(i)
                position = chunk.dictionary_page_offset or chunk.data_page_offset
                stop = position + chunk.total_compressed_size
                while position < stop:
                    header = parquet_pages._read_header(file.fileno(), position)
                    assert header is not None
                    position += header[2] + header[1]
                assert position == stop


def varint(size: int) -> bytes:
    """Bytes of a size between 8,192 and a million: three of them."""
    number = size << 1
    return bytes([number & 127 | 128, number >> 7 & 127 | 128, number >> 14])


@pytest.mark.parametrize("which", [0, 1])
def test_a_page_that_claims_more_than_there_is_is_refused(which: int, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    parquet.write_table(
        pa.table({"src": SRC[:2000], "dst": SRC[:2000]}), path, compression="NONE", use_dictionary=False,
        write_statistics=False,
    )  # fmt: skip
    block = Block(str(path), "parquet", "", 0, 2000, 0, 2000, 0)
    assert read_parquet_edges(block)[0].tolist() == SRC[:2000].tolist()
    content = path.read_bytes()
    sizes = (b"\x15" + varint(16_007)) * 2  # 8 bytes a number, and a run of levels: the column could have nulls
    assert sizes in content
    claimed = [sizes[:4], sizes[4:]]
    claimed[which] = b"\x15" + varint(900_000)
    path.write_bytes(content.replace(sizes, b"".join(claimed), 1))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(InputFileError, match="impossible size of a page"):
        read_parquet_edges(block)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


def test_a_header_that_is_none_is_left_to_pyarrow(tmp_path: Path) -> None:
    for content in (b"", b"\xff" * 70_000, b"\x15\x80", b"\x19" * 100, b"\x1c" * 100, bytes(100)):
        path = tmp_path / "noise"
        path.write_bytes(content)
        with path.open("rb") as file:
            assert parquet_pages._read_header(file.fileno(), 0) is None
