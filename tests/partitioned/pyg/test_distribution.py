"""Neighbours are drawn with the exact probabilities: chi-squared of 10^5 draws, of fixed seeds."""

from __future__ import annotations

from importlib import import_module
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pytest
from chi_square import chance
from graphs import Graph, load_real_graph
from judges import require_pyg_sampler

import daskgraphpart as dgp
from daskgraphpart import EdgeType, GraphSchema, NodeType

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore:Using 'NeighborSampler' without a 'pyg-lib'")

DESTINATIONS, EPOCHS = 5_000, 20


def graph_of(degrees: dict[str, int], root: Path) -> dgp.PartitionedGraph:
    """A graph of types ``u:<name>:v``, in which each of 5,000 nodes has the same few sources."""
    num_sources = max(degrees.values())
    types = tuple(EdgeType("u", name, "v", DESTINATIONS * degree) for name, degree in degrees.items())
    schema = GraphSchema("g", (NodeType("u", num_sources), NodeType("v", DESTINATIONS)), types)
    edges = {
        f"u:{name}:v": (np.tile(np.arange(degree), DESTINATIONS), np.repeat(np.arange(DESTINATIONS), degree))
        for name, degree in degrees.items()
    }
    out = dgp.partition(Graph(schema, edges).write(root / "in"), root / "out", 3, method="random")
    return dgp.open_partitions(out.config)


def homogeneous(degree: int, root: Path) -> dgp.PartitionedGraph:
    """The same with one type: sources come after the 5,000 nodes."""
    src = DESTINATIONS + np.tile(np.arange(degree), DESTINATIONS)
    dst = np.repeat(np.arange(DESTINATIONS), degree)
    return dgp.partition_graph((src, dst), "g", 3, root / "out", part_method="random", num_hops=1)


def draws(parts: dgp.PartitionedGraph, num_neighbors: object, etypes: list[str], **how: bool) -> list[np.ndarray]:
    """Original sources picked at each of the 5,000 nodes in 20 epochs, for each type (draws, picks)."""
    is_homogeneous = len(parts.ntypes) == 1
    src, dst = (parts.ntypes[0],) * 2 if is_homogeneous else ("u", "v")
    of_src, of_dst = parts.original_ids[src].compute(), parts.original_ids[dst].compute()
    seeds = np.flatnonzero(of_dst < DESTINATIONS)
    loader = parts.neighbor_loader(num_neighbors, (dst, seeds), batch_size=DESTINATIONS, **how)
    found: list[list[np.ndarray]] = [[] for _ in etypes]
    for _ in range(EPOCHS):
        (batch,) = loader
        for picked, etype in zip(found, etypes, strict=True):
            store = batch if is_homogeneous else batch[tuple(etype.split(":"))]
            rows, cols = store.edge_index.numpy()
            assert np.array_equal(cols, np.sort(cols))
            nodes = batch if is_homogeneous else batch["u"]
            sources = of_src[nodes.n_id.numpy()[rows]] - (DESTINATIONS if is_homogeneous else 0)
            picked.append(sources.reshape(DESTINATIONS, -1))
    return [np.concatenate(picked) for picked in found]


def assert_uniform(codes: np.ndarray, num_cells: int) -> None:
    counts = np.bincount(codes, minlength=num_cells)
    assert counts.size == num_cells
    assert chance(counts) > 0.001


def subset_codes(picked: np.ndarray, degree: int) -> tuple[np.ndarray, int]:
    """Number of each draw's subset among all of its size."""
    subsets = [*combinations(range(degree), picked.shape[1])]
    bits = np.array([sum(1 << place for place in subset) for subset in subsets])
    order = np.argsort(bits)
    drawn = (1 << picked).sum(axis=1)
    assert all(len(set(row)) == picked.shape[1] for row in picked[:200].tolist())
    return np.searchsorted(bits[order], drawn), len(subsets)


def test_subsets_are_equally_likely_without_replacement(tmp_path: Path) -> None:
    (picked,) = draws(homogeneous(8, tmp_path), [3], ["_N:_E:_N"])
    assert picked.shape == (100_000, 3)
    assert_uniform(*subset_codes(picked, 8))


def test_sequences_are_equally_likely_with_replacement(tmp_path: Path) -> None:
    (picked,) = draws(homogeneous(8, tmp_path), [3], ["_N:_E:_N"], replace=True)
    assert_uniform(picked @ np.array([1, 8, 64]), 512)


def test_more_neighbours_than_there_are_come_once_or_with_replacement_as_often(tmp_path: Path) -> None:
    parts = homogeneous(4, tmp_path)
    (picked,) = draws(parts, [6], ["_N:_E:_N"])
    assert np.sort(picked, axis=1).tolist() == [[0, 1, 2, 3]] * 100_000
    (picked,) = draws(parts, [6], ["_N:_E:_N"], replace=True)
    assert picked.shape == (100_000, 6)
    assert_uniform(picked.reshape(-1), 4)


@pytest.mark.parametrize("replace", [False, True])
def test_edge_types_are_drawn_independently(replace: bool, tmp_path: Path) -> None:
    parts = graph_of({"r": 5, "s": 4}, tmp_path)
    etypes = ["u:r:v", "u:s:v"]
    of_r, of_s = draws(parts, {"r": [2], ("u", "s", "v"): [1]}, etypes, replace=replace)
    codes, cells = (of_r @ np.array([1, 5]), 25) if replace else subset_codes(of_r, 5)
    assert_uniform(codes * 4 + of_s[:, 0], cells * 4)


@pytest.mark.long
def test_pygs_own_loader_draws_with_the_same_probabilities(tmp_path: Path) -> None:
    # with replacement: without it torch-sparse 0.6.18 is not uniform (the last three of eight never come together)
    require_pyg_sampler()
    loaders = import_module("torch_geometric.loader")
    torch, data = import_module("torch"), import_module("torch_geometric.data")
    parts = homogeneous(8, tmp_path)
    (ours,) = draws(parts, [3], ["_N:_E:_N"], replace=True)
    src, dst = DESTINATIONS + np.tile(np.arange(8), DESTINATIONS), np.repeat(np.arange(DESTINATIONS), 8)
    whole = data.Data(edge_index=torch.from_numpy(np.stack([src, dst])), num_nodes=DESTINATIONS + 8)
    torch.manual_seed(0)
    how = {"input_nodes": torch.arange(DESTINATIONS), "batch_size": DESTINATIONS, "replace": True}
    loader, found = loaders.NeighborLoader(whole, [3], **how), []
    for _ in range(EPOCHS):
        (batch,) = loader
        rows, cols = batch.edge_index.numpy()
        of_seeds = batch.n_id.numpy()[rows[np.argsort(cols, kind="stable")]] - DESTINATIONS
        found.append(of_seeds.reshape(DESTINATIONS, 3))
    theirs = np.concatenate(found)
    assert ours.shape == theirs.shape == (100_000, 3)
    counts = [np.bincount(picked @ np.array([1, 8, 64]), minlength=512) for picked in (ours, theirs)]
    assert import_module("scipy.stats").chi2_contingency(np.stack(counts)).pvalue > 0.001


@pytest.mark.long
def test_batches_of_two_hops_are_as_large_as_those_of_pygs_own_loader(tmp_path: Path) -> None:
    require_pyg_sampler()
    loaders = import_module("torch_geometric.loader")
    torch, data = import_module("torch"), import_module("torch_geometric.data")
    graph = load_real_graph("cora")
    src, dst = graph.edges["node:edge:node"]
    src, dst = np.concatenate([src, dst]), np.concatenate([dst, src])
    parts = dgp.partition_graph((src, dst), "g", 3, tmp_path / "out", part_method="random", num_hops=1)
    whole = data.Data(edge_index=torch.from_numpy(np.stack([src, dst])), num_nodes=parts.num_nodes("_N"))
    torch.manual_seed(0)
    how = {"batch_size": 256, "shuffle": True}
    of_ours, of_theirs = parts.neighbor_loader([4, 3], **how), loaders.NeighborLoader(whole, [4, 3], **how)
    sizes = [
        np.array([(batch.num_nodes, batch.num_edges) for _ in range(12) for batch in loader if batch.batch_size == 256])
        for loader in (of_ours, of_theirs)
    ]
    assert len(sizes[0]) == len(sizes[1]) == 120
    assert import_module("scipy.stats").ttest_ind(*sizes).pvalue.min() > 0.001


def test_draws_of_two_hops_epochs_and_seeds_differ(tmp_path: Path) -> None:
    parts = homogeneous(8, tmp_path)
    found = {}
    for seed in (0, 1):
        loader = parts.neighbor_loader([1], np.arange(100), batch_size=100, seed=seed)
        found |= {(seed, epoch): next(iter(loader)).e_id.tolist() for epoch in range(2)}
    assert len({tuple(eids) for eids in found.values()}) == 4
    assert found[0, 0] == next(iter(parts.neighbor_loader([1], np.arange(100), batch_size=100))).e_id.tolist()
