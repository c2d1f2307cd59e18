"""Our readers on files that real DGL wrote, and our partition book against DGL's."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from judges import DGL_VERSIONS, run_in_dgl

from daskgraphpart import load_partition, load_partition_book
from daskgraphpart.layouts.dgl_graph_file import read_graph_file
from daskgraphpart.layouts.dgl_tensor_file import read_tensor_file
from daskgraphpart.partitioned.graph import open_partitions

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.dgl


@pytest.fixture(scope="module", params=DGL_VERSIONS)
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory that real DGL filled."""
    directory = tmp_path_factory.mktemp("written")
    assert run_in_dgl(request.param, "write_partitions.py", directory, cwd=directory) == {"dgl": request.param}
    return directory


def test_tensor_files_of_dgl_are_read(written: Path) -> None:
    regions = read_tensor_file(written / "tensors.dgl")
    with np.load(written / "tensors.npz") as expected:
        assert set(regions) == {key.replace("|", "/") for key in expected.files}
        for key in expected.files:
            found = regions[key.replace("|", "/")].read()
            np.testing.assert_array_equal(found, expected[key])
            assert found.dtype == (np.uint8 if key == "bool" else expected[key].dtype)


@pytest.mark.parametrize("idtype", ["int32", "int64"])
@pytest.mark.parametrize("name", ["coo", "csr", "csc"])
def test_graph_files_of_dgl_are_read(name: str, idtype: str, written: Path) -> None:
    graph = read_graph_file(written / f"{name}-{idtype}.dgl")
    assert (graph.num_nodes, graph.num_edges, list(graph.formats)) == (4, 4, [name])
    arrays = {key: region.read().tolist() for key, region in graph.formats[name].items()}
    if name == "coo":
        assert arrays == {"row": [0, 2, 1, 2], "col": [1, 1, 0, 2]}
    elif name == "csr":
        assert arrays["indptr"] == [0, 1, 2, 4, 4]
    else:
        assert arrays["indptr"] == [0, 1, 3, 4, 4]
    assert graph.node_arrays["x"].shape == (4, 2)
    assert graph.edge_arrays["w"].shape == (4,)


@pytest.mark.parametrize("name", ["homo-1", "homo-3", "hetero-1", "hetero-3"])
def test_partitions_of_dgl_open_and_say_what_dgl_says(name: str, written: Path) -> None:
    expected: dict[str, Any] = json.loads((written / "expected.json").read_text())[name]
    graph = open_partitions(written / name)
    assert graph.orig_nids == {}
    for part_id, says in enumerate(expected["parts"]):
        part = graph.part(part_id)
        nids = part.graph.node_arrays["_ID"].read()
        assert nids.tolist() == says["nids"]
        assert part.graph.node_arrays["inner_node"].read().tolist() == says["inner_node"]
        frame = part.edges().compute()
        assert frame.eid.tolist() == says["eids"]
        assert frame.src.tolist() == nids[says["src"]].tolist()
        assert frame.dst.tolist() == nids[says["dst"]].tolist()
        for found, feats in (
            (part.node_rows.features, says["node_feats"]),
            (part.edge_rows.features, says["edge_feats"]),
        ):
            flat = {f"{kind}/{key}": region.read() for kind, of in found.items() for key, region in of.items()}
            assert {key: rows.tolist() for key, rows in flat.items()} == feats
        assert_loaded_is_what_dgl_loads(written / name / f"{name.split('-')[0]}.json", part_id, says)
    book = graph.book
    nids, eids = np.arange(len(expected["nid2partid"])), np.arange(len(expected["eid2partid"]))
    assert book.nid2partid(nids).tolist() == expected["nid2partid"]
    assert book.eid2partid(eids).tolist() == expected["eid2partid"]
    assert [ids.tolist() for ids in book.map_to_per_ntype(nids)] == expected["per_ntype"]
    assert [ids.tolist() for ids in book.map_to_per_etype(eids)] == expected["per_etype"]
    assert [book.partid2nids(part).tolist() for part in range(book.num_parts)] == expected["partid2nids"]


def assert_loaded_is_what_dgl_loads(config: Path, part_id: int, says: dict[str, Any]) -> None:
    """Every tensor of `load_partition`, its dtype included."""
    graph, node_feats, edge_feats, book, name, ntypes, etypes = load_partition(config, part_id)
    for found, expected in (
        (graph.ndata, says["ndata"]),
        (graph.edata, says["edata"]),
        (node_feats, says["node_feats"]),
        (edge_feats, says["edge_feats"]),
    ):
        assert {key: tensor.tolist() for key, tensor in found.items()} == expected
    dtypes = {key: str(tensor.dtype) for of in (graph.ndata, graph.edata) for key, tensor in of.items()}
    assert dtypes == says["dtypes"]
    assert [ends.tolist() for ends in graph.edges()] == [says["src"], says["dst"]]
    for fmt in ("csr", "csc"):
        indptr, indices, eids = (tensor.tolist() for tensor in graph.adj_tensors(fmt))
        assert indptr == says[fmt][0]
        for start, stop in pairwise(indptr):  # DGL leaves the order inside a row open
            mine = sorted(zip(indices[start:stop], eids[start:stop], strict=True))
            assert mine == sorted(zip(says[fmt][1][start:stop], says[fmt][2][start:stop], strict=True))
    assert (name, ntypes, [list(etype) for etype in etypes]) == (says["name"], says["ntypes"], says["etypes"])
    assert book.partid == part_id
    assert load_partition_book(config, part_id)[1:] == (
        name,
        {ntype: i for i, ntype in enumerate(ntypes)},
        {etype: i for i, etype in enumerate(etypes)},
    )
