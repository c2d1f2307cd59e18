"""Every real graph, as csv, npy and parquet, into 1, 2, 4 and 13 parts: one output, and real DGL agrees with it."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from graphs import REAL_GRAPHS, file_hashes, load_real_graph
from judges import DGL_VERSIONS, judge_with_dgl, save_for_judge

import daskgraphpart as dgp
from daskgraphpart.assignment.options import METHODS
from daskgraphpart.verification.pipeline import verify

if TYPE_CHECKING:
    from pathlib import Path

NUM_PARTS = (1, 2, 4, 13)


@pytest.mark.dgl
@pytest.mark.real
@pytest.mark.parametrize("name", REAL_GRAPHS)
def test_partitions_of_all_formats_are_equal_and_dgl_agrees_with_the_input(name: str, tmp_path: Path) -> None:
    graph = load_real_graph(name)
    inputs = {
        "csv": graph.write(tmp_path / "csv", edge_format="csv", num_chunks=(3, 2)),
        "numpy": graph.write(tmp_path / "numpy", edge_format="numpy", num_chunks=(1, 4), delimiter=","),
        "parquet": graph.write(tmp_path / "parquet", edge_format="parquet", data_format="parquet", num_chunks=2),
    }
    configs = []
    for num_parts in NUM_PARTS:
        out = tmp_path / f"out-{num_parts}"
        # all formats are stored where parts are few; DGL picks one
        formats = ("coo", "csc", "csr") if num_parts == 2 else ("coo",)
        options = dgp.DispatchOptions(graph_formats=formats)
        configs.append(
            dgp.partition(
                inputs["csv"], out, num_parts, method=dgp.AssignOptions("random", seed=7), options=options
            ).config_path
        )
        expected = file_hashes(out)
        for form in ("numpy", "parquet"):
            other = tmp_path / "other"
            dgp.partition(inputs[form], other, num_parts, method=dgp.AssignOptions("random", seed=7), options=options)
            assert file_hashes(other) == expected, f"{form} gives other bytes than csv"
            shutil.rmtree(other)
    report = verify(inputs["parquet"], tmp_path / "out-4")
    assert report.findings == ()
    for_judge = save_for_judge(graph, tmp_path / "for-judge")
    for version in DGL_VERSIONS:
        judge_with_dgl(version, for_judge, configs, tmp_path)
    # the larger graphs leave gigabytes behind
    shutil.rmtree(tmp_path)


@pytest.mark.dgl
@pytest.mark.real
def test_dgl_agrees_with_partitions_by_every_method(tmp_path: Path) -> None:
    graph = load_real_graph("dblp_hetero")
    directory = graph.write(tmp_path / "graph")
    configs = []
    for method in METHODS:
        out = tmp_path / method
        configs.append(dgp.partition(directory, out, 3, method=method).config_path)
        assert verify(directory, out).findings == ()
    for_judge = save_for_judge(graph, tmp_path / "for-judge")
    judge_with_dgl(DGL_VERSIONS[0], for_judge, configs, tmp_path)


@pytest.mark.real
@pytest.mark.parametrize("name", ["cora", "dblp_hetero", "walshaw_mesh/4elt", "walshaw_mesh/cti"])
def test_auto_cuts_no_more_than_metis_and_fennel_less_than_random(name: str, tmp_path: Path) -> None:
    directory = load_real_graph(name).write(tmp_path / "graph")
    for num_parts in (4, 8):
        cuts = {}
        for method in ("auto", "metis", "fennel", "random"):
            report = dgp.assign(directory, num_parts, method=dgp.AssignOptions(method, balance="nodes")).report
            assert report is not None
            assert all(balance.is_kept for balance in report.balances)
            cuts[method] = report.cut_share
        assert cuts["auto"] <= cuts["metis"] < cuts["fennel"] < cuts["random"]
