"""Every method gives every node a part, within the limits, the same for any number of workers."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np
import psutil
import pytest
from graphs import Graph, load_real_graph
from hypothesis import given, settings
from hypothesis import strategies as st
from inside import METHODS, AssignOptions, Resources, generate, open_runner
from keywords import spelled
from strategies import graphs

import daskgraphpart as dgp
from daskgraphpart import EdgeType, GraphSchema, NodeType
from daskgraphpart.errors import EnvironmentFaultError, OptionError
from daskgraphpart.partitioner import choose
from daskgraphpart.partitioner.assign_report import Balance

if TYPE_CHECKING:
    from collections.abc import Mapping


@pytest.fixture(scope="module")
def communities(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("communities") / "graph"
    with open_runner(Resources(1 << 28)) as runner:
        sizes = {"num_nodes": 20_000, "num_edges": 300_000, "feature_width": 4}
        generate(directory, kind="communities", labels=True, runner=runner, **sizes)
    return directory


@pytest.fixture(scope="module")
def mag(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("mag") / "graph"
    with open_runner(Resources(1 << 28)) as runner:
        generate(directory, kind="mag", num_nodes=8_000, num_edges=60_000, feature_width=4, runner=runner)
    return directory


def owners_of(assignment: dgp.Assignment) -> dict[str, np.ndarray]:
    return {ntype: owners.compute() for ntype, owners in assignment.owners.items()}


def same(one: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray]) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[ntype], other[ntype]) for ntype in one)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("num_parts", [1, 2, 7])
def test_limits_are_kept_and_reported(method: str, num_parts: int, mag: Path) -> None:
    found = dgp.assign(mag, num_parts, method=method, balance="nodes,edges")
    report = found.quality
    assert report is not None
    assert all(balance.is_kept for balance in report.balances)
    assert report.warnings == ()
    graph = dgp.read_chunked(mag)
    owners = owners_of(found)
    nodes = sum(np.bincount(rows, minlength=num_parts) for rows in owners.values())
    edges, cut = np.zeros(num_parts, np.int64), 0
    for edge_type in graph.schema.edge_types:
        frame = graph.edges[edge_type.name].compute()
        of_src, of_dst = owners[edge_type.src][frame.src], owners[edge_type.dst][frame.dst]
        edges += np.bincount(of_dst, minlength=num_parts)
        cut += int(np.count_nonzero(of_src != of_dst))
    assert report.num_cut_edges == cut
    assert report.balance_of("nodes").ratio == pytest.approx(nodes.max() / nodes.mean())
    assert report.balance_of("edges").ratio == pytest.approx(edges.max() / edges.mean())


def test_the_input_s_form_changes_nothing(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    schema = GraphSchema("g", (NodeType("a", 500),), (EdgeType("a", "to", "a", 3000),))
    graph = Graph(schema, {"a:to:a": (rng.integers(0, 500, 3000), rng.integers(0, 500, 3000))})
    found = []
    for form, chunks in (("csv", 1), ("numpy", 3), ("parquet", 7)):
        directory = graph.write(tmp_path / form, edge_format=form, num_chunks=chunks)
        found.append(owners_of(dgp.assign(directory, 3)))
    assert same(found[0], found[1])
    assert same(found[0], found[2])


def test_better_methods_cut_less(communities: Path) -> None:
    cuts: dict[str, float] = {}
    for method in METHODS:
        coarse = 240_000 if method == "multilevel" else choose.COARSE_ARCS  # the first goes through the disk
        with mock.patch.object(choose, "COARSE_ARCS", coarse):
            report = dgp.assign(communities, 8, method=method, balance="nodes", workers=2).quality
        assert report is not None
        cuts[method] = report.cut_share
    assert cuts["auto"] <= cuts["metis"]
    assert cuts["multilevel"] <= 1.1 * cuts["metis"]
    assert cuts["metis"] < cuts["fennel"] < cuts["random"]


def test_more_effort_cuts_less_and_every_effort_keeps_the_limits(communities: Path) -> None:
    reports = []
    for effort in ("low", "normal", "high"):
        report = dgp.assign(communities, 8, effort=effort).quality
        assert report is not None
        assert all(balance.is_kept for balance in report.balances)
        reports.append(report)
    fast, default, high = (report.cut_share for report in reports)
    assert fast > default
    assert high <= 1.001 * default  # what a seed more is worth here
    assert [report.why.count(" combined; kept ") for report in reports] == [0, 1, 1]


def test_auto_cuts_no_more_than_the_libraries_that_it_calls() -> None:
    """KaMinPar knows one limit, and cuts least here: its parts are ranked when they are within both."""
    ((src, dst),) = load_real_graph("coauthor_physics").edges.values()
    graph = dgp.from_edges((np.concatenate([src, dst]), np.concatenate([dst, src])))
    reports = [dgp.assign(graph, 4, method=method).quality for method in ("auto", "metis", "kaminpar")]
    cuts = [report.cut_share for report in reports if report is not None]
    assert cuts[0] <= 1.01 * min(cuts)


@pytest.mark.parametrize("method", ["auto", "metis", "kaminpar", "multilevel", "fennel"])
def test_one_warning_names_the_node_that_makes_a_balance_impossible(method: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    schema = GraphSchema("g", (NodeType("a", 50), NodeType("b", 400)), (EdgeType("a", "to", "b", 2000),))
    ends = (rng.integers(0, 50, 2000), np.where(rng.random(2000) < 0.7, 123, rng.integers(0, 400, 2000)))
    directory = Graph(schema, {"a:to:b": ends}).write(tmp_path, edge_format="numpy", num_chunks=1)
    report = dgp.assign(directory, 4, **spelled(method)).quality
    assert report is not None
    (warning,) = report.warnings
    assert "edges: node 123 of type 'b' alone weighs 2.8" in warning


@pytest.mark.parametrize(("ratio", "shown"), [(1.2, "1.20 .* 1.03"), (1.0304, "1.0304 .* 1.0300"), (1.03 + 2e-9, ".*")])
def test_a_part_above_its_limit_is_told_with_digits_that_differ(ratio: float, shown: str, communities: Path) -> None:
    report = dgp.assign(communities, 4, method="random").quality
    assert report is not None
    balances = (Balance("nodes", ratio, 1.03), *(of for of in report.balances if of.name != "nodes"))
    (warning,) = (text for text in replace(report, balances=balances).warnings if "above the limit" in text)
    found, limit = re.findall(r"\d\.\d+", warning)
    assert re.search(shown, warning) and found > limit


def test_refinement_improves_owners_of_any_origin(communities: Path, tmp_path: Path) -> None:
    given_owners = dgp.assign(communities, 4, method="random", out=tmp_path / "random")
    refined = dgp.assign(communities, 4, method=str(tmp_path / "random"), refine=True)
    assert given_owners.quality is not None
    assert refined.quality is not None
    assert refined.quality.cut_share < 0.8 * given_owners.quality.cut_share
    assert all(balance.is_kept for balance in refined.quality.balances)


def test_owners_from_files_are_only_reported_unless_balance_is_asked_for(communities: Path, tmp_path: Path) -> None:
    count = dgp.read_chunked(communities).schema.num_nodes
    (tmp_path / "lopsided").mkdir()
    np.save(tmp_path / "lopsided" / "_N.npy", (np.arange(count) > 0.9 * count).astype(np.uint8))
    kept = dgp.assign(communities, 2, method=str(tmp_path / "lopsided"))
    assert kept.owners["_N"].compute().mean() == pytest.approx(0.1, abs=0.01)
    assert kept.quality is not None
    assert kept.quality.balance_of("nodes").allowed is None
    assert any("share of edges" in warning for warning in kept.quality.warnings)
    mended = dgp.assign(communities, 2, method=str(tmp_path / "lopsided"), balance="nodes")
    assert mended.quality is not None
    assert mended.quality.balance_of("nodes").is_kept


@pytest.mark.parametrize("method", ["auto", "kaminpar", "metis", "multilevel", "fennel", "random"])
def test_constraints_by_type_and_by_feature_are_kept(method: str, mag: Path) -> None:
    balance = ["ntypes=0.05", "edges=0.05", "types:paper/train_mask=0.05", "bytes=0.1"]
    report = dgp.assign(mag, 4, method=method, balance=balance).quality
    assert report is not None
    names = [balance.name for balance in report.balances]
    assert {"nodes of paper", "nodes of field", "edges", "paper/train_mask", "bytes", "nodes"} <= set(names)
    assert all(balance.is_kept for balance in report.balances), report.balances


def test_weights_of_the_user_are_balanced(communities: Path, tmp_path: Path) -> None:
    count = dgp.read_chunked(communities).schema.num_nodes
    weights = np.random.default_rng(1).integers(0, 100, (count, 2))
    np.save(tmp_path / "load.npy", weights)
    found = dgp.assign(communities, 4, method="kaminpar", balance=f"nodes,file:{tmp_path}/load.npy=0.02")
    loads = np.stack([np.bincount(found.owners["_N"].compute(), weights=column) for column in weights.T])
    assert (loads.max(axis=1) <= 1.0201 * loads.mean(axis=1)).all()


@pytest.mark.parametrize("method", ["fennel"])
def test_the_last_of_several_passes_keeps_the_limits(method: str, mag: Path) -> None:
    for passes in (1, 2, 5):
        report = dgp.assign(mag, 4, method=method, balance="nodes,edges", method_options={"passes": passes}).quality
        assert report is not None
        assert all(balance.is_kept for balance in report.balances), (passes, report.balances)


def test_metis_takes_no_two_seeds_for_the_same(communities: Path) -> None:
    found = [owners_of(dgp.assign(communities, 4, method="metis", seed=seed)) for seed in (0, 1, 2**31 - 1)]
    assert not same(found[0], found[1])
    assert sum(owners.size for owners in found[2].values()) == 20_000


@pytest.mark.parametrize(("objtype", "recursive"), [("cut", False), ("vol", False), ("cut", True)])
def test_metis_takes_its_options(objtype: str, recursive: bool, communities: Path) -> None:
    found = dgp.assign(communities, 4, method="metis", objtype=objtype, method_options={"recursive": recursive}, seed=5)
    assert found.quality is not None
    assert found.quality.cut_share < 0.5


def simple(num_nodes: int, src: Any, dst: Any) -> Graph:
    schema = GraphSchema("simple", (NodeType("a", num_nodes),), (EdgeType("a", "to", "a", len(src)),))
    return Graph(schema, {"a:to:a": (np.asarray(src, np.int64), np.asarray(dst, np.int64))})


ODD = {
    "no edges": simple(50, [], []),
    "self-loops only": simple(20, range(20), range(20)),
    "two components": simple(40, [*range(19), *range(20, 39)], [*range(1, 20), *range(21, 40)]),
    "one edge, many isolated nodes": simple(1000, [3], [999]),
    "a star": simple(300, [0] * 299, range(1, 300)),
    "all edges parallel": simple(10, [1] * 500, [2] * 500),
    "as many nodes as parts": simple(4, [0, 1, 2], [1, 2, 3]),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ODD)
def test_odd_graphs_are_partitioned(name: str, method: str, tmp_path: Path) -> None:
    graph = ODD[name]
    found = dgp.assign(
        graph.write(tmp_path / "graph"), 4, method=method, method_options={"fill_parts": True}, balance="nodes"
    )
    counts = np.bincount(found.owners["a"].compute(), minlength=4)
    assert counts.sum() == graph.schema.num_nodes
    assert counts.max() <= max(-(-graph.schema.num_nodes // 4), 1.03 * graph.schema.num_nodes / 4)
    assert (counts > 0).all()


@settings(max_examples=10)
@given(graphs(), st.sampled_from(METHODS), st.integers(1, 5), st.sampled_from([None, "nodes", "ntypes,edges"]))
def test_any_graph_gets_parts_in_range(graph: Graph, method: str, num_parts: int, balance: str | None) -> None:
    with TemporaryDirectory() as scratch:
        directory = graph.write(Path(scratch) / "graph")
        if num_parts > graph.schema.num_nodes and method != "random":
            with pytest.raises(OptionError, match="is more than the graph's"):
                dgp.assign(directory, num_parts, method=method, balance=balance)
            return
        found = dgp.assign(directory, num_parts, method=method, balance=balance)
        for node_type in graph.schema.node_types:
            owners = found.owners[node_type.name].compute()
            assert owners.shape == (node_type.num_nodes,)
            assert (owners < num_parts).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"num_parts": 30_000}, "num_parts 30,000 is more than the graph's 20,000 nodes"),
        ({"method": "magic"}, "Unknown method 'magic'"),
        ({"method": "ldg"}, "Use fennel"),
        ({"balance": "weight"}, "Unknown item 'weight' in balance"),
        ({"balance": "nodes=-1"}, "Tolerance '-1' of 'nodes' in balance"),
        ({"balance": "nodes,nodes"}, "names 'nodes' twice"),
        ({"balance": ""}, "balance is empty"),
        ({"balance": "types:_N/nothing"}, "unknown node feature '_N/nothing'"),
        ({"balance": "types:_N/feat"}, "cannot be balanced"),
        ({"balance": "types:_N/label"}, "too many values"),
        ({"balance": "nodes=nan"}, "Tolerance 'nan' of 'nodes' in balance is out of range"),
        ({"seed": -1}, "seed -1 is too small. Use 0 or more"),
        ({"method_options": {"passes": 0}}, "passes 0 is too small. Use 1 or more"),
        ({"method_options": {"pases": 2}}, "method_options: no option 'pases'. Did you mean passes?"),
        ({"extend_options": {"moves": 2}}, "extend_options: no option 'moves'.*Choose from old_id_map, may_move"),
        ({"method_options": 2}, "method_options: not options by name"),
        ({"objtype": "speed"}, "Unknown objtype 'speed'"),
        ({"effort": "heroic"}, "Unknown effort 'heroic'"),
        ({"objtype": "vol", "method_options": {"recursive": True}}, "exclude each other"),
        ({"method_options": {"num_trainers_per_machine": 0}}, "is too small. Use 1 or more"),
        ({"balance": "file:{}/short.npy"}, "do not fit the graph"),
        ({"balance": "file:{}/float.npy"}, "do not fit the graph"),
        ({"balance": "file:{}/negative.npy"}, "negative node weight"),
        ({"balance": "file:{}/missing.npy"}, "no such file"),
    ],
)
def test_a_mistake_is_one_error(options: dict[str, Any], words: str, communities: Path, tmp_path: Path) -> None:
    count = dgp.read_chunked(communities).schema.num_nodes
    np.save(tmp_path / "short.npy", np.ones(count - 1, np.int64))
    np.save(tmp_path / "float.npy", np.ones(count))
    np.save(tmp_path / "negative.npy", np.arange(count) - 5)
    options = dict(options)
    if "balance" in options:
        options = {**options, "balance": options["balance"].format(tmp_path)}
    with pytest.raises(dgp.GraphPartError, match=words):
        dgp.assign(communities, options.pop("num_parts", 4), **options)


@pytest.mark.parametrize(
    ("program", "found"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "signal 11"),
        ("import sys; sys.exit('it gave up')", "it gave up"),
    ],
)
def test_a_crash_of_a_library_is_an_error_of_ours(
    program: str, found: str, communities: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{program}"\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    with pytest.raises(EnvironmentFaultError, match=found):
        dgp.assign(communities, 4, method="kaminpar")


def test_a_library_that_returns_nonsense_is_found_out(
    communities: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / "python"
    script = (
        "import json,sys,numpy; c=json.load(open(sys.argv[1])); numpy.full(c['num_nodes'],99,'i4').tofile(c['result'])"
    )
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{script}" "$3"\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    with pytest.raises(EnvironmentFaultError, match="invalid partition"):
        dgp.assign(communities, 4, method="metis")


def test_trainers_make_up_the_parts(mag: Path, tmp_path: Path) -> None:
    found = dgp.assign(
        mag, 2, method="kaminpar", method_options={"num_trainers_per_machine": 3}, out=tmp_path / "owners"
    )
    for ntype, owners in found.owners.items():
        trainers = found.trainers[ntype].read()
        assert np.array_equal(trainers // 3, owners.compute())
    outcome = dgp.dispatch(mag, tmp_path / "owners", tmp_path / "out")
    opened = dgp.open_partitions(outcome.config)
    graph = dgp.read_chunked(mag)
    for part in range(2):
        here = opened.part(part)
        for node_type in graph.schema.node_types:
            ids = here.node_rows.originals[node_type.name].read()
            expected = found.trainers[node_type.name].read()[ids]
            assert np.array_equal(here.node_rows.features[node_type.name]["trainer_id"].read(), expected)
        for edge_type in graph.schema.edge_types:
            ids = here.edge_rows.originals[edge_type.name].read()
            dst = graph.edges[edge_type.name].compute().dst.to_numpy()[ids]
            expected = found.trainers[edge_type.dst].read()[dst]
            assert np.array_equal(here.edge_rows.features[edge_type.name]["trainer_id"].read(), expected)


def test_a_library_ends_with_the_process_that_has_called_it() -> None:
    """Whatever becomes of that process: its end of the pipe closes."""
    library = (
        "from daskgraphpart.partitioner.libraries.run_library import end_with_parent as e; e(); print(1, flush=True)\n"
    )
    library += "while True: pass"
    caller = "import subprocess, sys\n"
    caller += f"p = subprocess.Popen([sys.executable, '-c', {library!r}], stdin=-1, stdout=-1); p.stdout.readline()\n"
    caller += "print(p.pid, flush=True); p.wait()"
    with subprocess.Popen([sys.executable, "-c", caller], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        assert psutil.pid_exists(pid)
        process.kill()
    deadline = time.monotonic() + 20
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("method", ["metis", "kaminpar"])
def test_modules_in_the_working_directory_are_not_taken_for_those_of_a_library(
    method: str, communities: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("daskgraphpart", "pymetis", "kaminpar", "json"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('not this one')")
    monkeypatch.chdir(tmp_path)
    assert dgp.assign(communities, 2, **spelled(method)).num_parts == 2


def test_auto_goes_on_with_one_library_when_the_other_fails(
    communities: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\ncase "$3" in */metis-*) exit 1;; esac\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    report = dgp.assign(communities, 4).quality
    assert report is not None
    assert report.method.startswith("kaminpar")


@pytest.mark.parametrize("edge_weight", [(), "n:e:n:weight"])
def test_memory_that_multilevel_is_said_to_take_holds_the_densest_coarse_graph(edge_weight: str | tuple[()]) -> None:
    """It is too large for METIS, and too few nodes per part to be coarsened: KaMinPar's parts go through a V-cycle."""
    options = AssignOptions(edge_weight=edge_weight)
    large, dense = (choose.needs(0, num_arcs, 2, options) for num_arcs in (1 << 30, choose.DENSE * choose.COARSE_ARCS))
    for of_large, of_dense in itertools.product(("multilevel", "shared"), ("graph", "kaminpar")):
        assert large[of_large] >= dense[of_dense]
