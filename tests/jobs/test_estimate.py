"""What `plan` estimates, against what runs write."""

from __future__ import annotations

import json
import re
import shutil
from collections import namedtuple
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from inside import METHODS, DispatchOptions, Resources, detect_resources, open_runner
from keywords import spelled
from listeners import Listener

import daskgraphpart as dgp
from daskgraphpart.errors import PlanError
from daskgraphpart.jobs.estimate_dispatch import expect, files_of, workspace_files, workspace_nbytes
from daskgraphpart.jobs.job_spec import layouts_of
from daskgraphpart.partitioner.adjacency.adjacency_sizes import adjacency_nbytes
from daskgraphpart.partitioner.adjacency.build_adjacency import build_adjacency
from daskgraphpart.tools import generate as generation

if TYPE_CHECKING:
    from pathlib import Path

HEADER = 600  # bytes, of one small file


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> dgp.Graph:
    """A heterogeneous graph with features, masks and edge features; edges are CSV."""
    directory = tmp_path_factory.mktemp("plan") / "graph"
    with open_runner(resources()) as runner:
        generation.generate(
            directory, runner=runner, kind="mag", num_nodes=3000, num_edges=40_000, feature_width=8, edge_format="csv"
        )
    return dgp.read_chunked(directory)


def resources(memory: str = "256MB", **how: Any) -> Resources:
    return detect_resources(memory, workers=2, **how)


def files_nbytes(*directories: Path) -> int:
    return sum(path.stat().st_size for directory in directories for path in directory.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    ("method", "options", "staging", "tolerance"),
    [
        ("random", {}, "in-place", 0.03),
        ("random", {"graph_formats": ("coo", "csr", "csc")}, "zarr", 0.03),
        ("random", {"out_edges": True}, "in-place", 0.03),
        ("random", {"layout": ("dgl", "graphbolt", "ranks")}, "in-place", 0.03),
        ("random", {"layout": ("dgl", "ondisk")}, "in-place", 0.03),
        ("random", {"num_hops": 2, "graph_formats": ("csc",)}, "in-place", 0.2),  # what is two hops away is a guess
        ("metis", {}, "in-place", 0.05),
    ],
)
def test_output_and_temporary_files_are_as_estimated(
    method: str, options: dict[str, Any], staging: str, tolerance: float, graph: dgp.Graph, tmp_path: Path
) -> None:
    where, written = resources(staging=staging), DispatchOptions(**options)
    how = {"method": method, **spelled(written), **spelled(where)}
    num_parts = 1 if "ondisk" in options.get("layout", ()) else 3
    plan = dgp.plan(graph, num_parts, out=tmp_path, **how)
    how["workspace_options"] = {"staging": staging, "keep_workspace": True}
    dgp.partition(graph, tmp_path, num_parts, **how)
    assert plan.output_nbytes == pytest.approx(files_nbytes(*tmp_path.glob("[opr][an]*")), rel=tolerance)
    expected = expect(graph.schema, num_parts, written, method == "random")
    files = workspace_files(files_of(layouts_of(written, graph), expected), expected, written, where)
    for name, nbytes in files.items():
        found = [path for path in (tmp_path / ".daskgraphpart-work" / name).rglob("*") if path.is_file()]
        room = HEADER * len(found) + (nbytes * 0.4 if options.get("num_hops") else nbytes * 0.03)
        assert sum(path.stat().st_size for path in found) == pytest.approx(nbytes, abs=room), name
    assert max(files.values()) <= workspace_nbytes(files) <= sum(files.values())


def test_the_adjacency_is_not_larger_than_estimated(graph: dgp.Graph, tmp_path: Path) -> None:
    with open_runner(resources()) as runner:
        build_adjacency(graph, tmp_path, runner)
    assert files_nbytes(tmp_path) <= adjacency_nbytes(graph.schema) < 1.2 * files_nbytes(tmp_path)


def test_the_cut_of_an_assignment_is_known(graph: dgp.Graph, tmp_path: Path) -> None:
    assignment = dgp.assign(graph, 3, method="random", **spelled(resources()))
    plan = dgp.plan(graph, 3, assignment=assignment, **spelled(resources()))
    dgp.dispatch(graph, assignment, tmp_path, **spelled(resources()))
    assert plan.output_nbytes == pytest.approx(files_nbytes(*tmp_path.glob("part*")), rel=0.02)


def test_rows_of_tables_are_temporary_files(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("src,dst,cost\n" + "".join(f"a{i % 97},b{i % 89},{i}\n" for i in range(2000)))
    scan = dgp.scan_tables(tmp_path / "e.csv", map_ids=True)
    read = scan.collect(workspace=tmp_path)
    for method in ("random", "auto"):
        staged = read.nbytes  # of the rows that passes read
        plans = [dgp.plan(graph, 2, method=method, **spelled(resources())) for graph in (scan, read)]
        assert staged > 0
        assert plans[0].workspace_nbytes == plans[1].workspace_nbytes + staged


def test_a_plan_reads_no_data_and_writes_no_file(graph: dgp.Graph, tmp_path: Path) -> None:
    shutil.copytree(graph.directory, tmp_path / "graph")
    without_data = dgp.read_chunked(tmp_path / "graph")
    shutil.rmtree(tmp_path / "graph")
    for method in METHODS:
        plan = dgp.plan(without_data, 4, out=tmp_path / "out", method=method, **spelled(resources()))
        assert not any(tmp_path.iterdir())
        assert plan.why.startswith("auto picked ") or method != "auto"
        assert plan.smallest_budget <= plan.task_memory


def test_the_smallest_budget_works_and_less_does_not(graph: dgp.Graph, tmp_path: Path) -> None:
    smallest = dgp.plan(graph, 2, method="random").smallest_budget
    dgp.partition(graph, tmp_path, 2, method="random", memory=smallest)
    with pytest.raises(dgp.GraphPartError, match="is too small for this job"):
        dgp.plan(graph, 2, method="random", memory=smallest - 1)


@pytest.mark.parametrize("job", ["plan", "partition", "tables"])
def test_a_budget_too_small_for_a_method_names_another_that_it_is_enough_for(job: str, tmp_path: Path) -> None:
    ends = np.random.default_rng(1).integers(0, 9000, (2, 900_000))
    given: Any = dgp.from_edges((*ends,))
    assert dgp.plan(given, 2).smallest_budget > 70_000_000
    if job == "tables":
        given, job = dgp.scan_tables(pd.DataFrame(ends.T, columns=["src", "dst"])), "partition"
    run = getattr(dgp, job)
    out = {} if job == "plan" else {"out": tmp_path / "out"}
    with pytest.raises(PlanError, match=r"Use \d+MB or more\. With method \w+, \d+MB are enough\.$") as caught:
        run(given, num_parts=2, memory="70MB", **out)
    ((method, need),) = re.findall(r"With --method (\w+), (\d+)MB are enough", caught.value.for_command_line())
    assert int(need) <= 70
    run(given, num_parts=2, method=method, memory=f"{need}MB", **out)
    with pytest.raises(PlanError, match=r"Use \d+MB or more\.$"):  # no method that does the same needs less
        run(given, num_parts=2, method="random", memory="1MB", **({} if job == "plan" else {"out": tmp_path / "no"}))


def test_a_disk_that_is_too_small_is_a_warning_and_then_refused(
    graph: dgp.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not dgp.plan(graph, 2, method="random", **spelled(resources())).warnings
    usage = namedtuple("usage", "free")(1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    (warning,) = dgp.plan(graph, 2, out=tmp_path / "a" / "b", method="random", **spelled(resources())).warnings
    assert "1.0 kB free" in warning
    with pytest.raises(PlanError, match=r"disk is too small.*expected at least .* free, found 1.0 kB"):
        dgp.partition(graph, tmp_path / "out", 2, method="random", **spelled(resources()))
    assert not any((tmp_path / "out").iterdir())


def test_owners_and_parts_do_not_take_the_disk_at_one_time(
    graph: dgp.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    how = {"out": tmp_path, "method": "multilevel", **spelled(resources())}
    plan = dgp.plan(graph, 2, **how)
    for free, is_enough in ((plan.workspace_nbytes + plan.output_nbytes - 1, True), (plan.output_nbytes, False)):
        usage = namedtuple("usage", "free")(free)
        monkeypatch.setattr(shutil, "disk_usage", lambda _, usage=usage: usage)
        assert is_enough != bool(dgp.plan(graph, 2, **how).warnings)


def test_impossible_plans_are_one_error(graph: dgp.Graph) -> None:
    for num_parts, method, message in (
        (2, "nonsense", "Unknown method 'nonsense'"),
        (4000, "fennel", "num_parts 4,000 is more than the graph's"),
        (0, "random", "is not a number of parts"),
        ("2", "random", "is not a number of parts"),
    ):
        with pytest.raises(dgp.GraphPartError, match=message):
            dgp.plan(graph, num_parts, method=method)


def test_a_plan_shows_itself_as_text_html_and_json(graph: dgp.Graph) -> None:
    plan = dgp.plan(graph, 2, method="kaminpar", **spelled(resources()))
    text, html, content = str(plan), plan._repr_html_(), json.loads(json.dumps(plan.to_dict()))
    for word in ("output", "workspace", "memory", "kaminpar (needs about"):
        assert word in text
    assert "<table>" in html
    assert content["version"] == 2
    assert content["method"] == "kaminpar"


OF_NODES = {
    "assign-random", "count-cut-edges", "count-marked", "count-owners", "cut-node-range", "draw-seeds",
    "list-hot-rows", "list-nodes", "mark-seeds", "order-extra", "place-edges", "read-owners", "relabel-nodes",
    "split-nids", "weigh-nodes", "write-nodes", "write-owners",
}  # fmt: skip
"""Passes that a plan does not list: of nodes, of few edges, or over what the pass before has in memory."""


@pytest.mark.parametrize(
    "how",
    [
        {"method": "random"},
        {"layout_options": {"graph_formats": "coo,csc"}, "num_hops": 2},
        {"method": "fennel", "layout_options": {"out_edges": True}, "layout": "graphbolt"},
        {"layout": "ranks,parquet", "layout_options": {"hot_rows": "5%"}, "fanouts": "3,3"},
        {"objtype": "fetch", "fanouts": "3,3"},
    ],
)
def test_a_plan_lists_the_passes_that_run(how: dict[str, Any], graph: dgp.Graph, tmp_path: Path) -> None:
    ran = Listener()
    dgp.partition(graph, tmp_path / "out", 3, progress=ran, **how, **spelled(resources()))
    plan = dgp.plan(graph, 3, **how, **spelled(resources()))
    assert {of.name for of in plan.passes} == {*ran.begun} - OF_NODES
    assert all(of.read > 0 and of.written >= 0 for of in plan.passes)
    assert all(of.name in plan.explained() for of in plan.passes)
    assert plan.to_dict()["passes"][-1]["name"] == "hash-files"
