"""Tensor and graph files: what is laid out is read back, and no file that is cut short is taken for whole."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daskgraphpart.errors import LayoutError
from daskgraphpart.layouts.dgl_graph import read_graph_file, read_tensor_file
from daskgraphpart.layouts.dgl_graph_file import graph_file_layout, tensor_file_layout
from daskgraphpart.layouts.layout import ArraySpec, create_file, raw_file_layout
from daskgraphpart.schema import BFLOAT16, STORED_DTYPES
from daskgraphpart.storage.atomic import publish

DTYPES = [np.dtype(name) for name in STORED_DTYPES if name != "bool"]
SPECS = st.lists(
    st.tuples(
        st.sampled_from(DTYPES), st.lists(st.integers(0, 4), min_size=1, max_size=3).map(tuple), st.text(max_size=5)
    ),
    max_size=4,
    unique_by=lambda spec: spec[2],
)


def write_tensors(path: Path, specs: list[ArraySpec]) -> dict[str, np.ndarray]:
    layout = tensor_file_layout(specs)
    regions = create_file(path, layout)
    arrays = {}
    for i, spec in enumerate(specs):
        arrays[spec.key] = (np.arange(int(np.prod(spec.shape))) + i).astype(spec.dtype).reshape(spec.shape)
        regions[spec.key].write(arrays[spec.key], 0)
    publish(path)
    return arrays


@given(SPECS)
def test_tensor_files_are_read_back(drawn: list[tuple[np.dtype, tuple[int, ...], str]]) -> None:
    with tempfile.TemporaryDirectory() as root:
        path = Path(root) / "x.dgl"
        arrays = write_tensors(path, [ArraySpec(key, dtype, shape) for dtype, shape, key in drawn])
        regions = read_tensor_file(path)
        assert list(regions) == list(arrays)
        for key, expected in arrays.items():
            # DGL loads no bfloat16 without elements
            is_loaded = expected.dtype != BFLOAT16 or expected.size
            assert regions[key].dtype == (expected.dtype if is_loaded else np.float32)
            np.testing.assert_array_equal(regions[key].read(), expected)
            np.testing.assert_array_equal(regions[key].memmap(), expected)


def test_an_empty_tensor_file_has_24_bytes(tmp_path: Path) -> None:
    write_tensors(tmp_path / "x.dgl", [])
    assert (tmp_path / "x.dgl").stat().st_size == 24
    assert read_tensor_file(tmp_path / "x.dgl") == {}


@pytest.mark.parametrize(("dtype", "shape"), [("uint32", (2,)), ("bool", (2,)), ("complex64", (2,)), ("int64", ())])
def test_what_dgl_cannot_load_is_not_written(dtype: str, shape: tuple[int, ...]) -> None:
    with pytest.raises(LayoutError):
        tensor_file_layout([ArraySpec("x", np.dtype(dtype), shape)])


def small_graph(path: Path, formats: tuple[str, ...] = ("coo", "csr", "csc")) -> None:
    node, edge = ArraySpec("_ID", np.dtype("<i8"), (3,)), ArraySpec("w", np.dtype("f4"), (2, 2))
    layout = graph_file_layout(3, 2, formats, [node], [edge])
    create_file(path, layout)
    publish(path)


@pytest.mark.parametrize("formats", [("coo",), ("csr",), ("csc",), ("csc", "coo"), ("csr", "csc", "coo")])
def test_graph_files_are_read_back(formats: tuple[str, ...], tmp_path: Path) -> None:
    small_graph(tmp_path / "graph.dgl", formats)
    graph = read_graph_file(tmp_path / "graph.dgl")
    assert (graph.num_nodes, graph.num_edges, set(graph.formats)) == (3, 2, set(formats))
    assert graph.node_arrays["_ID"].shape == (3,)
    assert graph.edge_arrays["w"].shape == (2, 2)
    for name, arrays in graph.formats.items():
        expected = {"row", "col"} if name == "coo" else {"indptr", "indices", "data"}
        assert set(arrays) == expected


def test_graph_files_hold_no_memory_of_ours(tmp_path: Path) -> None:
    small_graph(tmp_path / "graph.dgl")
    assert (tmp_path / "graph.dgl").read_bytes()[32:4096] == bytes(4096 - 32)


def test_a_file_cut_anywhere_is_an_error(tmp_path: Path) -> None:
    small_graph(tmp_path / "graph.dgl")
    write_tensors(tmp_path / "x.dgl", [ArraySpec("a", np.dtype("f4"), (2, 3)), ArraySpec("b", np.dtype("i8"), (1,))])
    for name, read, tail in (("graph.dgl", read_graph_file, 100), ("x.dgl", read_tensor_file, 0)):
        content = (tmp_path / name).read_bytes()
        # the first 4 KiB of a graph file are padding for the most part; every seventh byte meets all arrays
        for keep in {*range(40), *range(40, 4090, 500), *range(4090, len(content), 7)} & {*range(len(content) - tail)}:
            (tmp_path / "cut").write_bytes(content[:keep])
            with pytest.raises(LayoutError):
                read(tmp_path / "cut")


def test_files_of_other_kinds_are_named(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"PK" + bytes(100))
    with pytest.raises(LayoutError, match="not a tensor file"):
        read_tensor_file(tmp_path / "x")
    with pytest.raises(LayoutError, match="not a graph file"):
        read_graph_file(tmp_path / "x")
    with pytest.raises(LayoutError, match="no such file"):
        read_graph_file(tmp_path / "y")


def test_files_of_known_size_have_their_room_before_they_are_filled(tmp_path: Path) -> None:
    """And writes that begin and end anywhere, across several calls of the system, leave the rest as it was."""
    layout = raw_file_layout([ArraySpec("a", np.dtype(np.uint8), (7,)), ArraySpec("b", np.dtype(np.int64), (100_000,))])
    region = create_file(tmp_path / "file", layout)["b"]
    found = os.stat(region.path)
    assert found.st_size == layout.nbytes
    assert found.st_blocks == 0 or found.st_blocks * 512 >= layout.nbytes  # none where the file system cannot
    rows = np.arange(60_000) + 1
    region.write(rows, 17)
    np.testing.assert_array_equal(region.read(), np.r_[np.zeros(17), rows, np.zeros(100_000 - 17 - rows.size)])
