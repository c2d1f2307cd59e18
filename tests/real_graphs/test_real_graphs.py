"""Every real graph: one output from csv, npy and parquet, and both real DGLs agree with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import real_graphs
from graphs import REAL_GRAPHS, file_hashes, load_real_graph
from inside import METHODS, DispatchOptions
from judges import DGL_VERSIONS, judge_with_dgl, save_for_judge
from keywords import spelled

import daskgraphpart as dgp
from daskgraphpart import verify

if TYPE_CHECKING:
    from pathlib import Path

FORMS = ("csv", "numpy", "parquet")
NUM_PARTS = (2, 3, 4, 13, 1)
GRAPH_FORMATS = (("coo", "csc", "csr"), ("coo",), ("csc",))
IN_REPOSITORY = ("cora", "coauthor_physics", "oewn")
SMALL = "cora"


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[Path, list[Path]]]:
    """Partitions of all real graphs there are, and of a small one by every method: their configs by graph."""
    root, configs_of = tmp_path_factory.mktemp("outputs"), {}
    for i, name in enumerate(name for name in REAL_GRAPHS if real_graphs.find(name)):
        graph, directory = load_real_graph(name), root / str(i)
        form = FORMS[i % len(FORMS)]
        chunked = graph.write(directory / "in", edge_format=form, num_chunks=(3, 2))
        options = DispatchOptions(graph_formats=GRAPH_FORMATS[i % len(GRAPH_FORMATS)])
        outcome = dgp.partition(
            chunked, directory / "out", NUM_PARTS[i % len(NUM_PARTS)], method="random", **spelled(options)
        )
        configs = [outcome.config]
        if name == SMALL:
            configs += [dgp.partition(chunked, directory / how, 3, **spelled(how)).config for how in METHODS]
        configs_of[save_for_judge(graph, directory / "for-judge")] = configs
    return root, configs_of


@pytest.mark.dgl
@pytest.mark.real
@pytest.mark.parametrize("version", DGL_VERSIONS)
def test_dgl_agrees_with_the_partitions_of_all_real_graphs(
    version: str, outputs: tuple[Path, dict[Path, list[Path]]]
) -> None:
    root, configs_of = outputs
    assert len(configs_of) >= len(IN_REPOSITORY)
    judge_with_dgl(version, configs_of, root)


@pytest.mark.real
@pytest.mark.parametrize(
    "name", [name if name in IN_REPOSITORY else pytest.param(name, marks=pytest.mark.long) for name in REAL_GRAPHS]
)
def test_partitions_are_the_same_from_all_formats_and_verify_agrees(name: str, tmp_path: Path) -> None:
    graph, expected = load_real_graph(name), None
    for form in FORMS:
        data_format = "parquet" if form == "parquet" else "numpy"
        chunked = graph.write(tmp_path / form, edge_format=form, data_format=data_format, num_chunks=(3, 2))
        dgp.partition(chunked, tmp_path / f"out-{form}", 4, method="random", seed=7)
        found = file_hashes(tmp_path / f"out-{form}")
        expected = expected or found
        assert found == expected, f"{form} gives other bytes than {FORMS[0]}"
    assert verify(tmp_path / "parquet", tmp_path / "out-parquet").findings == ()


@pytest.mark.real
@pytest.mark.parametrize(
    "name", ["cora", *(pytest.param(n, marks=pytest.mark.long) for n in ("dblp_hetero", "walshaw_mesh/4elt"))]
)
def test_auto_cuts_no_more_than_metis_and_fennel_less_than_random(name: str, tmp_path: Path) -> None:
    directory = load_real_graph(name).write(tmp_path / "graph")
    for num_parts in (4, 8):
        cuts = {}
        for method in ("auto", "metis", "fennel", "random"):
            report = dgp.assign(directory, num_parts, method=method, balance="nodes").quality
            assert report is not None
            assert all(balance.is_kept for balance in report.balances)
            cuts[method] = report.cut_share
        assert cuts["auto"] <= cuts["metis"] < cuts["fennel"] < cuts["random"]
