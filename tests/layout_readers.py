"""Read partitions in every layout by the libraries that they are for, and compare them with the graph."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dask.dataframe as dd
import duckdb
import numpy as np
import polars as pl
import torch
from agreement import assert_agrees
from judges import judge_with_dgl, run_in_dgl, save_for_judge

import daskgraphpart as dgp

with warnings.catch_warnings(action="ignore"):  # it scripts functions
    from torch_geometric.data import Data, HeteroData

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphs import Graph

PLAIN_TORCH = (Path(__file__).parent.parent / "docs" / "howto" / "plain_torch.md").read_text()
PARTITIONED, LOADER, TRAINER, FOR_CUGRAPH = re.findall(r"^```(?:python|py)\n(.*?)^```$", PLAIN_TORCH, re.M | re.S)
COLUMNS = {"orig_nids": "orig_id", "orig_eids": "orig_id", "edge_src": "src", "edge_dst": "dst"}


def dgl_agrees(graph: Graph, outs: Sequence[Path], cwd: Path) -> None:
    """By real DGL: local graphs, halo nodes, features, masks and IDs of every part."""
    configs = [out / f"{graph.schema.name}.json" for out in outs]
    judge_with_dgl("2.1.0", {save_for_judge(graph, cwd / "for-judge"): configs}, cwd)


def graphbolt_agrees(graph: Graph, outs: Sequence[Path], cwd: Path) -> None:
    """By dgl.graphbolt, against what DGL makes of its own files, which agree with the graph."""
    dgl_agrees(graph, outs, cwd)
    configs = {str(out / f"{graph.schema.name}.json"): {"store_eids": True} for out in outs}
    verdict = run_in_dgl("2.1.0", "graphbolt.py", json.dumps(configs), cwd=cwd)
    assert 0 < verdict["sampled"] <= sum(len(list(out.glob("part*"))) for out in outs)


def ondisk_agrees(graph: Graph, outs: Sequence[Path], cwd: Path) -> None:
    """By dgl.graphbolt, against the dataset that DGL makes of the graph."""
    directory = str(save_for_judge(graph, cwd / "for-judge"))
    tasks = {str(out / "ondisk" / "dataset"): {"graph": directory, "epochs": 0} for out in outs}
    (cwd / "tasks.json").write_text(json.dumps(tasks))
    run_in_dgl("2.1.0", "ondisk.py", cwd / "tasks.json", cwd=cwd)


def loader(**others: Any) -> dict[str, Any]:
    """What the page for plain torch defines to read `ranks/`, with other names for some things."""
    names: dict[str, Any] = {}
    exec(LOADER, names)
    names.update(others)
    return names


def ranks_agree(graph: Graph, outs: Sequence[Path], cwd: Path | None = None) -> None:
    """By torch, with the loader of the page."""
    for directory in (out / "ranks" for out in outs):
        names = loader()
        described = names["describe"](directory)["arrays"]

        def read(name: str, directory: Path = directory, names: Any = names, described: Any = described) -> Any:
            rows = names["Array"](directory, name).local.numpy()
            assert rows.dtype.name == described[name]["dtype"]
            return rows

        assert_agrees(graph, read)
        for name in described:
            if name.startswith("split_nids/"):
                expected = np.flatnonzero(read(name.replace("split_nids/", "node_data/")))
                np.testing.assert_array_equal(read(name), expected)


def read_by_dask(table: Path, column: str) -> np.ndarray:
    with warnings.catch_warnings(action="ignore"):  # dask's own, of pandas
        rows = dd.read_parquet(table, columns=[column], dtype_backend="pyarrow").compute(scheduler="sync")[column]
    return np.array(rows.tolist())


def read_by_duckdb(table: Path, column: str) -> np.ndarray:
    rows = duckdb.sql(f"select \"{column}\" from '{table}/*/*.parquet' order by new_id").fetchall()
    return np.array([row[0] for row in rows])


def read_by_polars(table: Path, column: str) -> np.ndarray:
    frame = pl.read_parquet(table, columns=["new_id", column]).sort("new_id")
    np.testing.assert_array_equal(frame["new_id"].to_numpy(), np.arange(len(frame)))
    return frame[column].to_numpy()


def parquet_agrees(graph: Graph, outs: Sequence[Path], cwd: Path | None = None) -> None:
    """By polars; small graphs by dask and DuckDB, too, which are read as lists."""
    for out in outs:
        is_small = not graph.schema.is_heterogeneous and graph.schema.num_edges < 10_000
        for reader in (read_by_polars, read_by_dask, read_by_duckdb) if is_small else (read_by_polars,):

            def read(name: str, out: Path = out, reader: Any = reader) -> Any:
                kind, of_type, *feature = name.split("/")
                of_kind = "nodes" if kind in ("orig_nids", "node_data") else "edges"
                return reader(
                    out / "parquet" / of_kind / of_type.replace(":", "__"), feature[0] if feature else COLUMNS[kind]
                )

            assert_agrees(graph, read)
        described = json.loads((out / "parquet" / "parquet.json").read_text())
        assert described["num_edges"] == {kind.name: kind.num_edges for kind in graph.schema.edge_types}


def pyg_agrees(graph: Graph, outs: Sequence[Path], cwd: Path | None = None) -> None:
    """By PyG: the data of each part, and the stores of all."""
    for parts in map(dgp.open_partitions, outs):
        pyg_data_agrees(graph, parts)
        pyg_stores_agree(graph, parts)


def pyg_data_agrees(graph: Graph, parts: dgp.PartitionedGraph) -> None:
    """Nodes and edges of every part, the own ones first, with their features."""
    orig_nids = {ntype: parts.original_ids[ntype].compute() for ntype in parts.ntypes}
    orig_eids = {etype: parts.original_ids[etype].compute() for etype in parts.etypes}
    owned = dict.fromkeys(parts.etypes, 0)
    for part in parts.parts:
        data = part.to_pyg()
        assert isinstance(data, Data if len(parts.etypes) == len(parts.ntypes) == 1 else HeteroData)
        assert data.validate()

        for ntype in parts.ntypes:
            store = data if isinstance(data, Data) else data[ntype]
            ids = orig_nids[ntype][store["n_id"].numpy()]
            inner = store["inner_mask"].numpy()
            assert inner.sum() == part.node_rows.counts[ntype]
            for name, rows in graph.node_data.get(ntype, {}).items():
                is_mask = f"{ntype}/{name}" in part.split_nids
                np.testing.assert_array_equal(store[name].numpy(), rows[ids] & inner if is_mask else rows[ids])
        for etype in parts.etypes:
            src, rel, dst = etype.split(":")
            store = data if isinstance(data, Data) else data[src, rel, dst]
            eids = orig_eids[etype][store["e_id"].numpy()]
            for end, ntype, row in zip(graph.edges[etype], (src, dst), store["edge_index"].numpy(), strict=True):
                nodes = data if isinstance(data, Data) else data[ntype]
                np.testing.assert_array_equal(np.asarray(end)[eids], orig_nids[ntype][nodes["n_id"].numpy()[row]])
            for name, rows in graph.edge_data.get(etype, {}).items():
                np.testing.assert_array_equal(store[name].numpy(), rows[eids])
            owned[etype] += int(store["inner_edge_mask"].sum())
    assert owned == {etype: parts.num_edges(etype) for etype in parts.etypes}


def pyg_stores_agree(graph: Graph, parts: dgp.PartitionedGraph) -> None:
    """The whole graph, and rows of features by ID."""
    features, edges = parts.to_pyg_stores()
    is_homogeneous = len(parts.etypes) == len(parts.ntypes) == 1

    def read(name: str) -> Any:
        array, kind, *feature = name.split("/")
        if array.startswith("orig"):
            return parts.original_ids[kind].compute()
        key = tuple(kind.split(":")) if ":" in kind else kind
        if array.startswith("edge_"):
            if not feature:
                key = None if is_homogeneous else key
                return edges.get_edge_index(edge_type=key, layout="coo")[array == "edge_dst"]
        elif is_homogeneous:
            key = None
        whole = features.get_tensor(key, feature[0], None)
        assert features.get_tensor_size(key, feature[0], None) == tuple(whole.shape)
        ids = torch.randint(len(whole), (50 if len(whole) else 0,))
        assert torch.equal(whole[ids], features.get_tensor(key, feature[0], ids))
        return whole

    assert_agrees(graph, read)
