"""What `report --fanouts` estimates is what real DGL's distributed sampler asks of other parts, within 5 %."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
from graphs import Graph, load_real_graph
from judges import run_in_dgl

import daskgraphpart as dgp

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.dgl, pytest.mark.real]


def to_train_on(name: str) -> Graph:
    """A real graph with training nodes; of undirected ones each edge in both directions."""
    whole = load_real_graph(name)
    edges = dict(whole.edges)
    if len(edges) == 1:
        ((etype, (src, dst)),) = edges.items()
        edges = {etype: (np.concatenate([src, dst]), np.concatenate([dst, src]))}
    types = tuple(dgp.EdgeType(*etype.split(":"), len(ends[0])) for etype, ends in edges.items())
    rng, (target, *_) = np.random.default_rng(0), whole.schema.node_types
    data = {
        kind.name: {"x": rng.random((kind.num_nodes, 8)).astype("f4")} for kind in whole.schema.node_types
    }  # servers start where all types have data
    data[target.name]["train_mask"] = rng.random(target.num_nodes) < 0.3
    return Graph(dgp.GraphSchema("g", whole.schema.node_types, types), edges, data)


@pytest.mark.parametrize(
    ("name", "batch_size"),
    [
        ("cora", 64),  # at random: of METIS' parts only a few hundred rows are fetched
        pytest.param("coauthor_physics", 200, marks=pytest.mark.long),
        pytest.param("musae_github", 200, marks=pytest.mark.long),
        pytest.param("dblp_hetero", 100, marks=pytest.mark.long),
    ],
)
def test_the_estimate_is_what_dgl_fetches(name: str, batch_size: int, tmp_path: Path) -> None:
    graph = to_train_on(name)
    source, target = graph.write(tmp_path / "in"), graph.schema.ntypes[0]
    counts, method = ((2,), "random") if name == "cora" else ((2, 4), "metis")
    configs = {str(k): dgp.partition(source, tmp_path / f"out{k}", k, method=method).config for k in counts}
    task = {
        "runs": {k: str(config) for k, config in configs.items()},
        "work": str(tmp_path / "work"),
        "target": target,
        "fanouts": [10, 10],
        "batch_size": batch_size,
    }
    (tmp_path / "task.json").write_text(json.dumps(task))
    answer = run_in_dgl("2.1.0", "fetching.py", tmp_path / "task.json", cwd=tmp_path)
    for k, config in configs.items():
        report = dgp.open_partitions(config).report(fanouts=[10, 10], batch_size=batch_size)
        batches, inputs, remote = np.array(answer[k]).T
        found = report.sampling
        assert found is not None
        assert found.by_part["batches"].tolist() == batches.tolist()
        share = remote.sum() / inputs.sum()
        estimated = found.by_part["remote_share"]
        print(name, k, "cut", report.cut_share, "DGL", share, "estimate", found.share, remote / inputs, estimated)
        assert found.share == pytest.approx(share, rel=0.05)
        np.testing.assert_allclose(found.by_part["input_nodes"], inputs / batches, rtol=0.05)
        assert found.by_part["bytes_per_epoch"].sum() == pytest.approx(remote.sum() * 32, rel=0.05)
        assert (
            np.abs(found.by_part["bytes_per_epoch"] / 32 - remote) < 4 * np.sqrt(remote)
        ).all()  # a few hundred rows: chance counts


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("cora", "1.1.3"),
        pytest.param("cora", "2.1.0", marks=pytest.mark.long),
        pytest.param("dblp_hetero", "1.1.3", marks=pytest.mark.long),
    ],
)
def test_dgl_pulls_what_is_not_in_memory(name: str, version: str, tmp_path: Path) -> None:
    graph = to_train_on(name)
    target = graph.schema.ntypes[0]
    parts = dgp.partition(graph.write(tmp_path / "in"), tmp_path / "out", 2, method="random")
    for part in parts.parts:
        part.hot_rows([10, 10], batch_size=64).save(tmp_path / f"hot{part.part_id}")
    task = {
        "config": str(parts.config),
        "work": str(tmp_path / "work"),
        "hot": [str(tmp_path / f"hot{part}") for part in range(2)],
        "target": target,
        "fanouts": [10, 10],
        "batch_size": 64,
    }
    (tmp_path / "task.json").write_text(json.dumps(task))
    answer = run_in_dgl(version, "pull_hot_rows.py", tmp_path / "task.json", cwd=tmp_path)
    asked, hits, pulled = np.array(answer["counts"]).T
    print(name, version, "found in memory", hits / asked, "pulled", pulled)
    assert (hits > 0.05 * asked).all()
    assert (hits < asked).all()
    fetched = parts.report(fanouts=[10, 10], batch_size=64).sampling
    assert fetched is not None
    assert 1 - hits.sum() / asked.sum() == pytest.approx(fetched.cold_share / fetched.share, rel=0.05)
