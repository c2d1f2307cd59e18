"""Features of bfloat16: from a cast to torch and real DGL, and refused where they cannot be held."""

from __future__ import annotations

from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np
import pytest
import torch
from commands import call
from graphs import file_hashes
from inside import open_npy
from judges import DGL_VERSIONS, run_in_dgl
from layout_readers import loader

import daskgraphpart as dgp
from daskgraphpart.errors import InputFileError

if TYPE_CHECKING:
    from pathlib import Path

RNG = np.random.default_rng(0)
EDGES = {("u", "r", "v"): (RNG.integers(0, 40, 300), RNG.integers(0, 2, 300))}
FEAT = np.concatenate([RNG.normal(0, 1e3, (38, 3)), np.full((1, 3), np.inf), np.full((1, 3), 1e-45)]).astype("f4")
# halfway between two bfloat16: to the even one, which is the lower, then the upper
FEAT[0] = np.array([0x3F808000, 0x3F818000, 0xBF808001], "u4").view("f4")
CAST = torch.from_numpy(FEAT).to(torch.bfloat16)
PARTS = ("--num-parts", "3", "--method", "random", "--quiet")


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("bfloat16")
    data = {"u": {"x": FEAT}, "v": {"few": FEAT[:2], "none": FEAT[:2, :0]}}
    edge_data = {("u", "r", "v"): {"w": RNG.random(300)}}
    dgp.chunk_graph(EDGES, "g", data, edge_data, output_path=root / "in", num_nodes={"u": 40, "v": 2})
    for name, how in (("one", ()), ("three", ("--num-chunks", "3"))):
        casts = [word for feature in ("x", "few", "none", "w") for word in ("--cast", f"{feature}=bfloat16")]
        assert call("build", root / name, "--graph", root / "in", *casts, *how, "--quiet") == 0
    return root


@pytest.fixture(scope="module")
def partitions(graph: Path) -> Path:
    assert call("partition", graph / "one", graph / "out", "--layout", "dgl,ranks", *PARTS) == 0
    return graph / "out"


@pytest.mark.dgl
@pytest.mark.parametrize("version", DGL_VERSIONS)
def test_real_dgl_loads_what_torch_casts(version: str, partitions: Path, tmp_path: Path) -> None:
    features = {"u/x": FEAT, "v/few": FEAT[:2], "v/none": FEAT[:2, :0]}
    for number, rows in enumerate(features.values()):
        np.save(tmp_path / f"{number}.npy", rows)
    given = [f"{key}={number}.npy" for number, key in enumerate(features)]
    found = run_in_dgl(version, "bfloat16.py", partitions / "g.json", *given, cwd=tmp_path)
    assert sum(found["u/x"]) == 40
    assert 0 in found["v/few"], "a part without such nodes"


def test_every_reader_has_the_same_bits(partitions: Path) -> None:
    parts = dgp.open_partitions(partitions)
    nodes, ids = parts.nodes["u"], torch.from_numpy(parts.nodes["u"].original_ids[:])
    assert torch.equal(nodes.data["x"][torch.arange(40)], CAST[ids])
    assert nodes.data["x"][:].dtype == parts.nodes["v"].data["few"][:].dtype == ml_dtypes.bfloat16
    array = loader()["Array"](partitions / "ranks", "node_data/u/x")
    assert torch.equal(array.local, CAST[ids])
    for part in range(3):
        _, node_feats, _, *_ = dgp.load_partition(partitions, part)
        data = parts.part(part).to_pyg()
        assert node_feats["u/x"].dtype == data["u"]["x"].dtype == torch.bfloat16
        assert torch.equal(data["u"]["x"], CAST[ids[data["u"]["n_id"]]])
    index = torch.tensor([7, 0])
    stores, _ = parts.to_pyg_stores()
    assert torch.equal(stores.get_tensor(group_name="u", attr_name="x", index=index), CAST[ids[index]])


@pytest.mark.parametrize(("layout", "staging"), [("dgl", "in-place"), ("dgl", "zarr"), ("graphbolt", "in-place")])
def test_parts_without_rows_before_parts_with_rows(layout: str, staging: str, tmp_path: Path) -> None:
    x = np.array([[1, 2, 3], [4, 5, 6]], ml_dtypes.bfloat16)
    ends, w = (np.array([0, 1]), np.array([1, 0])), x[:, :1] + x[:, 1:2]
    dgp.chunk_graph({"r": ends}, "g", {"_N": {"x": x, "y": -x}}, {"r": {"w": w}}, output_path=tmp_path / "in")
    first_rows = set()
    for seed in range(4):
        out, how = tmp_path / str(seed), ("--method", "random", "--seed", str(seed), "--layout", layout)
        assert call("partition", tmp_path / "in", out, "--num-parts", "4", *how, "--staging", staging, "--quiet") == 0
        parts = dgp.open_partitions(out)
        nodes, edges = parts.nodes["_N"], parts.edges["_N:r:_N"]
        for rows, feature, expected in ((nodes, "x", x), (nodes, "y", -x), (edges, "w", w)):
            np.testing.assert_array_equal(rows.data[feature][:], expected[rows.original_ids[:]])
            assert rows.data[feature][:].dtype == ml_dtypes.bfloat16
        first_rows.add(parts.part(0).node_rows.features["_N"]["x"].num_rows)
    assert 0 in first_rows


def test_chunks_staging_and_orders(graph: Path, partitions: Path, tmp_path: Path) -> None:
    expected = file_hashes(partitions)
    assert (
        call("partition", graph / "three", tmp_path / "out", "--layout", "dgl,ranks", "--staging", "zarr", *PARTS) == 0
    )
    assert file_hashes(tmp_path / "out") == expected
    assert call("verify", graph / "three", partitions, "--quiet") == 0
    assert call("report", partitions, "--quiet") == 0
    assert call("plan", graph / "one", "--num-parts", "3") == 0
    parts = dgp.open_partitions(partitions)
    parts.to_original("u", parts.nodes["u"].data["x"][:], tmp_path / "x.pt")
    assert torch.equal(torch.load(tmp_path / "x.pt"), CAST)
    parts.from_original("u", tmp_path / "x.pt", tmp_path / "x.npy")
    assert (open_npy(tmp_path / "x.npy").read() == parts.nodes["u"].data["x"][:]).all()
    dgp.chunk_graph(graph / "three", "g", output_path=tmp_path / "wide", cast={"x": "float32"})
    wide = np.asarray(dgp.read_chunked(tmp_path / "wide").node_data["u"]["x"])
    np.testing.assert_array_equal(wide, CAST.float().numpy())


def test_another_bit_is_found(graph: Path, partitions: Path, tmp_path: Path) -> None:
    assert call("partition", graph / "one", tmp_path / "out", *PARTS) == 0
    region = dgp.open_partitions(tmp_path / "out").part(0).node_rows.features["u"]["x"]
    region.write(np.nextafter(region.read(0, 1), np.array(9e9, ml_dtypes.bfloat16)), 0)
    assert call("verify", graph / "one", tmp_path / "out", "--quiet") != 0


def test_what_cannot_hold_it_refuses_before_work(
    graph: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    for layout in ("parquet", "graphstorm", "ondisk"):
        assert call("partition", graph / "one", out, "--num-parts", "1", "--layout", layout) == 2
        says = capsys.readouterr().err
        assert f"layout {layout}: " in says
        assert "no bfloat16: u/x, v/few, v/none, u:r:v/w" in says
    assert call("build", out, "--graph", graph / "one", "--data-format", "parquet") == 2
    assert "--data-format: parquet has no bfloat16: expected numpy, found parquet" in capsys.readouterr().err
    np.save(tmp_path / "raw.npy", np.zeros((40, 1), "V2"))
    with pytest.raises(InputFileError, match="does not hold plain numbers"):
        dgp.chunk_graph(EDGES, "g", {"u": {"x": tmp_path / "raw.npy"}}, output_path=out)
    assert not out.exists()


def test_dgl_servers_are_a_warning(graph: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for layout, warnings in (("ranks", 0), ("dgl", 1)):
        assert call("partition", graph / "one", tmp_path / layout, "--layout", layout, *PARTS) == 0
        assert caplog.text.count("cannot read bfloat16") == warnings
