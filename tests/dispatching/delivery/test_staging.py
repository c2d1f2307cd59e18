"""Features travel through one zarr array each, which can be read lazily before it is exported."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import zarr
from inside import Resources
from keywords import spelled
from listeners import Listener, Stopped
from remote_stores import local_contents, make_graph

import daskgraphpart as dgp
from daskgraphpart.dispatching.delivery.staged_array import StagedArray
from daskgraphpart.errors import InputFileNotFoundError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("staging") / "graph"
    make_graph().write(root, num_chunks=3)
    return root


def test_staged_features_are_dask_arrays_in_the_order_of_new_ids(graph: Path, tmp_path: Path) -> None:
    for staging in ("in-place", "zarr"):
        resources = Resources(64 << 20, "sync", staging=staging, keep_workspace=True)
        dgp.partition(graph, tmp_path / staging, 3, method="random", **spelled(resources))
    work = tmp_path / "zarr" / ".daskgraphpart-work"
    staged, parts = dgp.open_staged(work), dgp.open_partitions(tmp_path / "in-place")
    assert set(staged) == {
        "node_data/user/feat", "node_data/user/train_mask", "node_data/item/price", "edge_data/user:buys:item/when",
    }  # fmt: skip
    for name, rows in staged.items():
        kind, of_type, feature = name.split("/")
        expected = (parts.node_data if kind == "node_data" else parts.edge_data)[of_type][feature]
        assert np.array_equal(rows.compute(), expected.compute())
        ranges = [parts.book.part_range(part, of_type) for part in range(3)]
        assert {int(stop) for _, stop in ranges} <= {0, *np.cumsum(rows.chunks[0]).tolist()}
    with pytest.raises(InputFileNotFoundError, match="no staged features"):
        dgp.open_staged(tmp_path / "in-place" / ".daskgraphpart-work")
    contents = [local_contents(tmp_path / staging) for staging in ("in-place", "zarr")]
    of_output = [{k: v for k, v in of.items() if not k.startswith(".")} for of in contents]
    assert of_output[0] == of_output[1]


@pytest.mark.parametrize(("row_shape", "dtype"), [((), "u1"), ((3,), "<f4"), ((2, 2), "<i8"), ((1,), "<f2")])
def test_a_staged_array_is_filled_in_any_order_and_read_by_zarr(
    row_shape: tuple[int, ...], dtype: str, tmp_path: Path
) -> None:
    num_rows, rng = np.array([5, 0, 7, 3]), np.random.default_rng(0)
    row_nbytes = int(np.prod(row_shape)) * np.dtype(dtype).itemsize
    array = StagedArray.of(str(tmp_path / "rows.zarr"), np.dtype(dtype), row_shape, num_rows, 3 * row_nbytes)
    array.create("rows")
    parts = [rng.integers(0, 99, (count, *row_shape)).astype(dtype) for count in num_rows]
    for part, rows in enumerate(parts):
        for start, stop in ((4, len(rows)), (0, min(4, len(rows))), (1, len(rows))):
            if start < stop:
                array.write(part, start, rows[start:stop])
    found = zarr.open_array(tmp_path / "rows.zarr", mode="r")
    assert found.chunks[0] == 3 and found.attrs["num_rows"] == num_rows.tolist()
    for part, rows in enumerate(parts):
        first = found.attrs["first_rows"][part]
        assert first % 3 == 0 and np.array_equal(found[first : first + len(rows)], rows)
        assert np.array_equal(np.concatenate([rows[:0], *array.blocks(part)]), rows)
    (tmp_path / "rows.zarr" / ("1" + ".0" * len(row_shape))).unlink()
    with pytest.raises(FileNotFoundError):
        list(array.blocks(0))


def test_partitions_that_are_replaced_stay_whole_until_the_new_ones_are(graph: Path, tmp_path: Path) -> None:
    out, resources = tmp_path / "out", Resources(64 << 20, "sync")
    dgp.partition(graph, out, 4, method="random", **spelled(resources))
    (out / "notes.json").write_text("{}")
    old = local_contents(out)
    last = Listener(stop_after="split-nids")
    with pytest.raises(Stopped):
        dgp.partition(graph, out, 3, method="random", **spelled(resources), overwrite=True, progress=last)
    now = local_contents(out)
    assert {name: now[name] for name in old} == old
    assert dgp.open_partitions(out).verify().ok
    dgp.partition(graph, out, 3, method="random", **spelled(resources), overwrite=True)
    assert not (out / "part3").exists() and (out / "notes.json").exists()
    (out / "notes.json").unlink()
    assert dgp.verify(graph, out).ok


def test_a_feature_that_is_replaced_while_it_is_read_is_refused(tmp_path: Path) -> None:
    data = tmp_path / "graph"
    make_graph().write(data, data_format="numpy", num_chunks=2)

    class Replacing(Listener):
        def begin(self, name: str, num_units: int, nbytes: int, num_rows: int = 0) -> None:
            super().begin(name, num_units, nbytes, num_rows)
            if name == "place-rows":
                path = next(data.rglob("*.npy"))
                (tmp_path / "new").write_bytes(path.read_bytes())
                (tmp_path / "new").replace(path)

    how = {"method": "random", "memory": 64 << 20, "cluster": "sync", "progress": Replacing()}
    with pytest.raises(dgp.errors.InputFileError, match="changed while it was read"):
        dgp.partition(data, tmp_path / "out", 2, **how)
