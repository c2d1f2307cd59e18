"""Sums of node weights are exact or refused, and a balance of nothing is an error, for every kind and method."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import daskgraphpart as dgp
from daskgraphpart.errors import GraphPartError
from daskgraphpart.partitioner.weigh_nodes import MAX_TOTAL, as_weights, exact_sum

if TYPE_CHECKING:
    from pathlib import Path

NUM_NODES, NUM_PARTS = 500, 4
SRC = np.repeat(np.arange(NUM_NODES), 4)
DST = (SRC + np.tile(np.arange(1, 5), NUM_NODES)) % NUM_NODES
ONES = np.ones(NUM_NODES, np.int64)
METHODS = ("random", "fennel", "multilevel")
PROCESSES = [pytest.param(method, marks=pytest.mark.long) for method in ("metis", "kaminpar", "auto")]


def sizes(tmp_path: Path, weights: np.ndarray, balance: str, method: str, num_parts: int = NUM_PARTS) -> list[int]:
    """Number of nodes of each part."""
    np.save(tmp_path / "weights.npy", weights)
    data = {"n": {} if weights.dtype == np.uint64 else {"f": weights}}
    graph = dgp.from_edges({"n:e:n": (SRC, DST)}, num_nodes={"n": NUM_NODES}, node_data=data)
    balance = balance.replace("FILE", str(tmp_path / "weights.npy"))
    out = tmp_path / "owners"
    dgp.assign(graph, num_parts, out=out, method=method, balance=balance, memory="500MB", workers=1, overwrite=True)
    return np.bincount(np.loadtxt(out / "n.txt", np.int64), minlength=num_parts).tolist()


@pytest.mark.parametrize("method", [*METHODS, *PROCESSES])
@pytest.mark.parametrize("balance", ["weight:n/f", "file:FILE"])
def test_equal_weights_are_balanced_up_to_the_largest_sum_and_beyond_refused(
    method: str, balance: str, tmp_path: Path
) -> None:
    most = MAX_TOTAL // NUM_NODES
    assert max(sizes(tmp_path, most * ONES, balance, method)) <= 1.05 * NUM_NODES / NUM_PARTS
    with pytest.raises(GraphPartError, match=r"too large.*found 576,460,.*ivide all of them by 64,000"):
        sizes(tmp_path, 2**60 * ONES, balance, method)
    assert max(sizes(tmp_path, 2**60 * ONES // 64_000, balance, method)) <= 1.05 * NUM_NODES / NUM_PARTS


@pytest.mark.parametrize("method", [*METHODS, *PROCESSES])
def test_a_node_of_almost_all_the_weight_leaves_limits_that_do_not_overflow(method: str, tmp_path: Path) -> None:
    weights = np.where(np.arange(NUM_NODES) == 3, 2**52, 1)
    for tolerance in (0, 1000):
        balance = f"nodes,weight:n/f={tolerance}"
        assert max(sizes(tmp_path, weights, balance, method, 64)) <= 1.05 * -(-NUM_NODES // 64) + 1


@pytest.mark.parametrize("weights", [0 * ONES, 0 * ONES > 0], ids=["zeros", "mask"])
@pytest.mark.parametrize("balance", ["weight:n/f", "types:n/f", "file:FILE", "nodes,types:n/f", "nodes,weight:n/f"])
def test_a_balance_of_nothing_is_an_error(balance: str, weights: np.ndarray, tmp_path: Path) -> None:
    with pytest.raises(GraphPartError, match=r"nothing to balance: all .* are 0\. Leave it out"):
        sizes(tmp_path, weights, balance, "random")


@pytest.mark.parametrize("balance", ["edges", "bytes", "edges-by-ntype"])
def test_a_graph_without_edges_is_not_balanced_by_edges_alone(balance: str, tmp_path: Path) -> None:
    graph = dgp.from_edges({"n:e:n": (SRC[:0], DST[:0])}, num_nodes={"n": NUM_NODES})
    with pytest.raises(GraphPartError, match=r"nothing to balance.*dd nodes to"):
        dgp.assign(graph, NUM_PARTS, out=tmp_path / "owners", method="fennel", balance=balance)
    dgp.assign(graph, NUM_PARTS, out=tmp_path / "owners", method="fennel", balance=f"nodes,{balance}")


def test_sums_of_weights_are_exact() -> None:
    extremes = [0, 1, 2**32 - 1, 2**32, 2**62, 2**63 - 1, -1, -(2**63)]
    for weights in ([value] * 7 for value in extremes):
        assert exact_sum(np.array(weights, np.int64)) == sum(weights)
    cut = as_weights(np.array([5, 2**63, 2**64 - 1], np.uint64))
    assert (cut.dtype, cut.tolist()) == (np.int64, [5, 2**63 - 1, 2**63 - 1])


@pytest.mark.parametrize("value", [-1, -(2**63), np.nan, np.inf, 1.5, np.uint64(2**64 - 1)])
@pytest.mark.parametrize("balance", ["weight:n/f", "file:FILE"])
def test_other_weights_are_refused(value: Any, balance: str, tmp_path: Path) -> None:
    if isinstance(value, np.uint64) and "FILE" not in balance:
        return  # no feature has this dtype
    with pytest.raises(GraphPartError, match=r"negative|cannot be balanced|do not fit|too large"):
        sizes(tmp_path, np.full(NUM_NODES, value), balance, "random")
