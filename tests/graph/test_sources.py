"""What every source of rows does: one suite, a subclass for each kind."""

from __future__ import annotations

import pickle
from abc import abstractmethod
from functools import partial
from typing import TYPE_CHECKING, Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from inside import Region
from pyarrow import parquet

from daskgraphpart.graph.dask_sources import DaskRows
from daskgraphpart.graph.formats import edge_file, feature_files
from daskgraphpart.graph.metadata import Files
from daskgraphpart.graph.read_csv import cut_lines
from daskgraphpart.graph.rows import (
    ArrayRows,
    CastRows,
    ConstantRows,
    EdgeEnds,
    JoinedRows,
    KeptRows,
    MadeRows,
    ReversedEdges,
    SlicedRows,
)
from daskgraphpart.graph.sources import FileEdges, FileRows, LineEdges
from daskgraphpart.readers.tables.load.plain_edges import TableLines, TextEdges

if TYPE_CHECKING:
    from pathlib import Path

    from daskgraphpart.source import Block, Source

ROWS = np.arange(60, dtype=np.float32).reshape(20, 3)
EDGES = np.stack([np.arange(20), np.arange(20)[::-1]], axis=1)


def values_of(block: Block[Any]) -> np.ndarray:
    """A block's rows; edges as pairs. What dask computes for a pass is computed here."""
    values = block.read() if block.partition is None else block.load(block.partition.compute(scheduler="sync"))
    return np.stack(values, axis=1) if isinstance(values, tuple) else np.asarray(values)


class SourceSuite:
    """The properties of a source; `expected` are the rows of the one that `make` returns."""

    expected = ROWS
    can_cut = True  # blocks have at most the wanted rows; else they stay as somebody cut them
    has_files = False

    @abstractmethod
    def make(self, tmp_path: Path) -> Source:
        """Make one."""

    @pytest.fixture
    def source(self, tmp_path: Path) -> Source:
        return self.make(tmp_path)

    def test_dtype_and_shape_are_known_before_reading(self, source: Source) -> None:
        assert (source.dtype, source.shape) == (self.expected.dtype, self.expected.shape)
        assert source.nbytes > 0

    @pytest.mark.parametrize("max_rows", [1, 3, 7, 20, 1000])
    def test_blocks_are_all_rows_once_in_order(self, source: Source, max_rows: int) -> None:
        blocks, first = source.blocks(max_rows), 0
        for block in blocks:
            assert (block.first_row, block.num_rows > 0) == (first, True)
            assert not self.can_cut or block.num_rows <= max_rows
            first += block.num_rows
        np.testing.assert_array_equal(np.concatenate([values_of(block) for block in blocks]), self.expected)

    def test_blocks_of_stretches_have_their_rows(self, source: Source) -> None:
        if not self.can_cut:
            return
        stretches = np.array([[0, 2], [5, 6], [9, 20]])
        found = [(block.first_row, values_of(block)) for block in source.blocks(4, stretches)]
        expected = np.concatenate([self.expected[low:high] for low, high in stretches])
        np.testing.assert_array_equal(np.concatenate([rows for _, rows in found]), expected)
        for first, rows in found:
            np.testing.assert_array_equal(rows, self.expected[first : first + len(rows)])

    @pytest.mark.parametrize(("start", "stop"), [(0, 20), (0, 0), (3, 4), (6, 15), (20, 20)])
    def test_any_range_is_read_if_it_can_seek(self, source: Source, start: int, stop: int) -> None:
        if source.can_seek:
            found = source.read(start, stop)
            assert (found.dtype, found.shape) == (source.dtype, self.expected[start:stop].shape)
            np.testing.assert_array_equal(found, self.expected[start:stop])
        else:
            with pytest.raises(NotImplementedError):
                source.read(start, stop)

    def test_rows_are_in_files_or_have_tokens_that_tell_their_content(self, source: Source, tmp_path: Path) -> None:
        assert bool(source.paths) == self.has_files
        assert len(set(source.paths)) == len(source.paths)
        (tmp_path / "again").mkdir()
        assert self.make(tmp_path / "again").tokens == source.tokens

    def test_a_copy_by_pickle_reads_the_same(self, source: Source) -> None:
        copy = pickle.loads(pickle.dumps(source))
        found = [values_of(block) for block in copy.blocks(7)]
        np.testing.assert_array_equal(np.concatenate(found), self.expected)
        for block in source.blocks(7):
            assert len(pickle.dumps(block)) < 20_000, "a task is small"


def write_features(tmp_path: Path, form: str) -> FileRows:
    paths = [str(tmp_path / f"{i}.{form}") for i in range(3)]
    for path, rows in zip(paths, (ROWS[:6], ROWS[6:6], ROWS[6:]), strict=True):
        if form == "npy":
            np.save(path, rows)
        else:
            values = pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1)), 3)
            parquet.write_table(pa.table({"x": values}), path, row_group_size=4)
    spec, files = feature_files("x", Files({"npy": "numpy"}.get(form, form), " ", tuple(paths)))
    return FileRows(files, spec)


class TestFeaturesInNpy(SourceSuite):
    has_files = True

    def make(self, tmp_path: Path) -> Source:
        return write_features(tmp_path, "npy")


class TestFeaturesInParquet(SourceSuite):
    has_files = True

    def make(self, tmp_path: Path) -> Source:
        return write_features(tmp_path, "parquet")


class TestEdgesInFiles(SourceSuite):
    expected, has_files = EDGES, True

    def make(self, tmp_path: Path) -> Source:
        paths = [str(tmp_path / f"{i}.parquet") for i in range(2)]
        for path, rows in zip(paths, (EDGES[:13], EDGES[13:]), strict=True):
            parquet.write_table(pa.table({"src": rows[:, 0], "dst": rows[:, 1]}), path, row_group_size=5)
        files = Files("parquet", " ", tuple(paths))
        return FileEdges(tuple(edge_file(path, files) for path in paths))


class TestEdgesInLines(SourceSuite):
    expected, has_files, can_cut = EDGES, True, False

    def make(self, tmp_path: Path) -> Source:
        path = tmp_path / "e.csv"
        path.write_text("".join(f"{src} {dst}\n\n" for src, dst in EDGES))
        file = edge_file(str(path), Files("csv", " ", (str(path),)))
        lines = cut_lines([file], 25)
        return LineEdges((file,), tuple(lines), tuple(of.count() for of in lines))


class TestEdgesInLinesOfTables(SourceSuite):
    expected, has_files, can_cut = EDGES, True, False

    def make(self, tmp_path: Path) -> Source:
        path = tmp_path / "e.csv"
        path.write_text("".join(f"{src},x,{dst}\n" for src, dst in EDGES))
        file, size = edge_file(str(path), Files("csv", ",", (str(path),))), path.stat().st_size
        bounds = [(start, min(start + 40, size)) for start in range(0, size, 40)]
        lines = [TableLines(str(path), ",", *of, str(path), (0, 2), 3) for of in bounds]
        plain = [of.read_plain() for of in lines]
        return TextEdges((file,), tuple(lines), tuple(len(ends[0]) for ends in plain if ends is not None))

    def test_ranges_are_joined_up_to_the_wanted_rows(self, source: Source) -> None:
        assert len(source.blocks(1000)) == 1
        assert max(block.num_rows for block in source.blocks(12)) <= 12


class TestRegion(SourceSuite):
    has_files = True

    def make(self, tmp_path: Path) -> Source:
        np.save(tmp_path / "x.npy", ROWS)
        return Region(str(tmp_path / "x.npy"), 128, ROWS.dtype, ROWS.shape)


class TestArray(SourceSuite):
    def make(self, tmp_path: Path) -> Source:
        return ArrayRows(ROWS.copy())


class TestMemoryMap(SourceSuite):
    has_files = True

    def make(self, tmp_path: Path) -> Source:
        np.save(tmp_path / "x.npy", ROWS)
        return ArrayRows(np.load(tmp_path / "x.npy", mmap_mode="r"))


def made(start: int, stop: int, scale: int) -> np.ndarray:
    return ROWS[start:stop] * scale


class TestMade(SourceSuite):
    expected = ROWS * 2

    def make(self, tmp_path: Path) -> Source:
        return MadeRows(ROWS.dtype, ROWS.shape, partial(made, scale=2))


class TestConstant(SourceSuite):
    expected = np.full((20, 2), 7, np.int8)

    def make(self, tmp_path: Path) -> Source:
        return ConstantRows(np.dtype(np.int8), (20, 2), 7)


class TestJoined(SourceSuite):
    expected = ROWS.astype(np.float64)

    def make(self, tmp_path: Path) -> Source:
        return JoinedRows((ArrayRows(ROWS[:8]), ArrayRows(ROWS[8:8]), ArrayRows(ROWS[8:].astype(np.float64))))


class TestSliced(SourceSuite):
    has_files = True

    def make(self, tmp_path: Path) -> Source:
        np.save(tmp_path / "x.npy", np.concatenate([ROWS, ROWS])[5:])
        return SlicedRows(Region(str(tmp_path / "x.npy"), 128, ROWS.dtype, (35, 3)), 15, 35)


class TestKept(SourceSuite):
    def make(self, tmp_path: Path) -> Source:
        every = np.repeat(ROWS, 3, axis=0)
        return KeptRows(ArrayRows(every), ArrayRows(np.arange(1, 60, 3)))


class TestReversed(SourceSuite):
    expected = EDGES[:, ::-1]

    def make(self, tmp_path: Path) -> Source:
        return ReversedEdges(ArrayRows(EDGES))


class TestEnds(SourceSuite):
    expected = EDGES

    def make(self, tmp_path: Path) -> Source:
        return EdgeEnds(ArrayRows(EDGES[:, 0].astype(np.int32)), ArrayRows(EDGES[:, 1]))


class TestCast(SourceSuite):
    expected = ROWS.astype(np.float16)

    def make(self, tmp_path: Path) -> Source:
        return CastRows(ArrayRows(ROWS), "n/x", "float16")


class TestDaskArray(SourceSuite):
    can_cut = False

    def make(self, tmp_path: Path) -> Source:
        return DaskRows("n/x", da.from_array(ROWS, chunks=((7, 13), (2, 1))))


class TestDaskFrame(SourceSuite):
    expected, can_cut = EDGES, False

    def make(self, tmp_path: Path) -> Source:
        frame = pd.DataFrame({"src": EDGES[:, 0], "dst": EDGES[:, 1]})
        return DaskRows("n:e:n", dd.from_pandas(frame, npartitions=3), (7, 7, 6))
