"""Hot rows that a dispatch keeps: what training fetches, the rows of their owners, and the same bytes by any road."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from commands import call
from graphs import Graph

import daskgraphpart as dgp
from daskgraphpart import EdgeType, GraphSchema, NodeType
from daskgraphpart.errors import OptionError

if TYPE_CHECKING:
    from pathlib import Path

HOW: dict[str, Any] = {"method": "random", "fanouts": [-1, -1], "layout": "dgl,ranks,parquet"}
HOW["training_options"] = {"batch_size": 20}


def some_graph() -> Graph:
    rng = np.random.default_rng(0)
    sizes = {"u": 300, "v": 200, "w": 50}
    types = (EdgeType("u", "r", "v", 600), EdgeType("v", "s", "u", 900), EdgeType("w", "t", "u", 200))
    edges = {t.name: tuple(rng.integers(0, sizes[end], t.num_edges) for end in (t.src, t.dst)) for t in types}
    data: dict[str, Any] = {
        "u": {"x": rng.random((300, 3)).astype("f4"), "label": np.arange(300), "train_mask": rng.random(300) < 0.3},
        "v": {"h": rng.random((200, 5)).astype("f2"), "z": rng.random(200)},
    }
    return Graph(GraphSchema("g", tuple(NodeType(*of) for of in sizes.items()), types), edges, data)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph, and its partitions with all rows that are fetched."""
    root = tmp_path_factory.mktemp("hot")
    dgp.partition(some_graph().write(root / "in"), root / "out", 3, layout_options={"hot_rows": "100%"}, **HOW)
    return root


def test_they_are_what_batches_fetch_with_the_rows_of_their_owners(root: Path, tmp_path: Path) -> None:
    parts = dgp.open_partitions(root / "out")
    (tmp_path / "out").symlink_to(root / "out")
    for part in parts.parts:
        kept, counted = part.hot_rows(), part.hot_rows([-1, -1], size="100%", batch_size=1000)
        assert kept.ids.size > 50
        assert set(kept.ids.tolist()) == set(counted.ids.tolist())
        assert (np.diff(kept.fetches) <= 0).all()
        assert kept.fetches.min() >= 1
        for ntype, name in (("u", "x"), ("v", "h"), ("v", "z")):
            nodes = kept.nodes[ntype]
            assert (np.asarray(parts.book.nid2partid(nodes.ids, ntype)) != part.part_id).all()
            everywhere = parts.node_data[ntype][name].compute()
            assert np.array_equal(nodes.data[name], everywhere[nodes.ids])
            assert nodes.data[name].dtype == everywhere.dtype
        assert not kept.nodes["w"].ids.size
        assert {*kept.nodes["u"].data} == {"x"}
        loader = part.neighbor_loader([-1, -1], ("u", part.split_nids["u/train_mask"]), cache=kept, batch_size=20)
        for _ in loader:
            pass
        assert loader.rows_found == loader.rows_asked > 0


def test_ranks_and_parquet_hold_the_same_and_verify_finds_damage(root: Path, tmp_path: Path) -> None:
    parts = dgp.partition(
        root / "in", tmp_path / "out", 3, layout_options={"hot_rows": "100%"}, **{**HOW, "layout": "dgl,parquet"}
    )
    for one, other in zip(parts.parts, dgp.open_partitions(root / "out").parts, strict=True):
        of_parquet, of_ranks = one.hot_rows(), other.hot_rows()
        assert np.array_equal(of_parquet.ids, of_ranks.ids)
        assert np.array_equal(of_parquet.fetches, of_ranks.fetches)
        for ntype, name in (("u", "x"), ("v", "h"), ("v", "z")):
            assert np.array_equal(of_parquet.nodes[ntype].data[name], of_ranks.nodes[ntype].data[name])
    assert call("verify", root / "in", tmp_path / "out", "--quiet") == 0
    hot = tmp_path / "out" / "parquet" / "hot" / "v" / "part=1" / "data.parquet"
    hot.write_bytes(hot.read_bytes()[:-9] + b"x" + hot.read_bytes()[-8:])
    assert call("verify", root / "in", tmp_path / "out", "--quiet") == 1


@pytest.mark.parametrize("damaged", ["hot_nids/v", "hot_data/v/h"])
def test_verify_compares_hot_rows_with_those_of_their_owners(damaged: str, root: Path, tmp_path: Path) -> None:
    shutil.copytree(root / "out", tmp_path / "out")
    prefix = json.loads((tmp_path / "out" / "ranks" / "ranks.json").read_text())["arrays"][damaged]["prefix"]
    path = tmp_path / "out" / "ranks" / f"{prefix}_part_1_of_3"
    content = path.read_bytes()
    width = 8 if damaged == "hot_nids/v" else 10
    path.write_bytes(content[width : 2 * width] + content[width:])  # the first is the second
    (fault,) = dgp.verify(root / "in", tmp_path / "out", checksums=False).findings
    assert (fault.check, fault.part, fault.file) == ("hot rows", 1, f"part1/{damaged}")


def test_the_same_bytes_for_any_chunks_memory_and_workers(root: Path, tmp_path: Path) -> None:
    chunked = some_graph().write(tmp_path / "in", edge_format="csv", num_chunks=5)
    owners = dgp.assign(
        chunked, 3, method="random", fanouts=[-1, -1], training_options={"batch_size": 20}, out=tmp_path / "owners"
    )
    assert owners.training
    how = {"memory": "64MB", "workers": 1, "cluster": "sync", "workspace_options": {"staging": "zarr"}}
    dgp.dispatch(
        chunked, tmp_path / "owners", tmp_path / "out", layout=HOW["layout"], layout_options={"hot_rows": "100%"}, **how
    )
    names = sorted(path.relative_to(root / "out") for path in (root / "out").rglob("*hot*/**/*") if path.is_file())
    assert len(names) == 3 * (3 + 3 + 3) + 9
    for name in names:
        assert (root / "out" / name).read_bytes() == (tmp_path / "out" / name).read_bytes(), name


def test_a_size_is_a_share_or_bytes_and_planned(root: Path, tmp_path: Path) -> None:
    few = dgp.partition(root / "in", tmp_path / "few", 3, layout_options={"hot_rows": "5%"}, **HOW)
    some = dgp.partition(root / "in", tmp_path / "some", 3, layout_options={"hot_rows": 600}, **HOW)
    for part, of_bytes in zip(few.parts, some.parts, strict=True):
        counts = few.book.node_counts[part.part_id]
        assert part.hot_rows().ids.size == -(-int(counts[0] + counts[1]) // 20)
        assert 500 < of_bytes.hot_rows().nbytes <= 600
    plain, planned = (dgp.plan(root / "in", 3, layout_options={"hot_rows": size}, **HOW) for size in (None, "5%"))
    assert planned.output_nbytes > plain.output_nbytes
    assert planned.workspace_nbytes >= plain.workspace_nbytes


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"layout": "dgl"}, "no layout that you asked for can hold hot rows"),
        ({"fanouts": ()}, "needs the fan-outs of training"),
        ({"layout_options": {"hot_rows": "0%"}}, "is no row"),
        ({"layout_options": {"hot_rows": "many"}}, "is not a size"),
    ],
)
def test_a_mistake_is_one_error_before_work(changed: dict[str, Any], words: str, root: Path, tmp_path: Path) -> None:
    for function in (dgp.plan, dgp.partition):
        out = {} if function is dgp.plan else {"out": tmp_path / "out"}
        with pytest.raises(OptionError, match=words) as caught:
            function(root / "in", num_parts=3, **out, **{**HOW, "layout_options": {"hot_rows": "5%"}, **changed})
        assert caught.value.option == "hot_rows"
    assert not (tmp_path / "out").exists()


def test_parts_without_any_say_so(root: Path, tmp_path: Path) -> None:
    parts = dgp.partition(root / "in", tmp_path / "out", 3, **HOW)
    with pytest.raises(OptionError, match="no hot rows are kept beside these parts"):
        parts.part(0).hot_rows()
