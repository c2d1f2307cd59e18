"""What is planned is what happens: units, bytes and files of jobs against their plans."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graphs import Graph
from hypothesis import given
from hypothesis import strategies as st
from strategies import graphs

import daskgraphpart as dgp
from daskgraphpart.adjacency import csr_blocks
from daskgraphpart.assignment import choose
from daskgraphpart.assignment.libraries.call import Candidate
from daskgraphpart.assignment.multilevel import refine_held, vcycle
from daskgraphpart.engine.progress import SilentProgress
from daskgraphpart.engine.runner import open_runner
from daskgraphpart.generation import pipeline as generation
from daskgraphpart.planning import calibration, levels, summing, work
from daskgraphpart.planning.assumptions import distinct
from daskgraphpart.planning.calibration import Calibration
from daskgraphpart.planning.measured import MeasuringProgress, filled_in
from daskgraphpart.schema import EdgeType, GraphSchema, NodeType

DEPENDS_ON_HALO = {"write-nodes", "hash-files", "compress-graph", "split-nids"}
METHODS = ("auto", "kaminpar", "metis", "multilevel", "fennel", "ldg", "random")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Speeds do not matter here."""
    monkeypatch.setattr(summing, "calibrate", lambda *_: Calibration(1e9, 1e9, 1e9, 1.0))


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A heterogeneous graph with features, masks and edge features; edges are CSV."""
    directory = tmp_path_factory.mktemp("plan") / "graph"
    generate(directory, kind="mag", num_nodes=3000, num_edges=40_000, feature_width=8, edge_format="csv")
    return directory


def generate(directory: Path, **how: Any) -> None:
    with open_runner(dgp.detect_resources("256MB", workers=2)) as runner:
        generation.generate(directory, runner=runner, **how)


def resources(memory: str = "256MB", **how: Any) -> dgp.Resources:
    return dgp.detect_resources(memory, workers=2, **how)


def measured(graph: Path, out: Path, num_parts: int, **how: Any) -> MeasuringProgress:
    progress = MeasuringProgress(SilentProgress())
    dgp.partition(graph, out, num_parts, progress=progress, **how)
    return progress


def part_files_nbytes(out: Path) -> int:
    return sum(path.stat().st_size for path in out.glob("part*/*"))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"graph_formats": ("coo", "csr", "csc")},
        {"out_edges": True},
        {"num_hops": 2, "graph_formats": ("csc",)},
    ],
    ids=str,
)
@pytest.mark.parametrize("staging", ["in-place", "zarr"])
def test_passes_units_and_bytes_of_random_owners_are_as_planned(
    options: dict[str, Any], staging: str, graph: Path, tmp_path: Path
) -> None:
    how = {"method": "random", "options": dgp.DispatchOptions(**options), "resources": resources(staging=staging)}
    plan = dgp.plan(graph, 3, out_dir=tmp_path / "out", **how)
    assert not (tmp_path / "out").exists()
    found = {of.name: of for of in measured(graph, tmp_path / "out", 3, **how).passes}
    assert {of.name for of in plan.passes} == set(found)
    extra = options.get("out_edges") or options.get("num_hops")
    for of in plan.passes:
        assert of.num_units == found[of.name].num_units
        if of.name not in DEPENDS_ON_HALO and not (extra and of.name in ("build-graph", "order-extra")):
            assert of.moved == pytest.approx(found[of.name].moved, rel=0.01), of.name
    if not extra:
        assert plan.output_nbytes == pytest.approx(part_files_nbytes(tmp_path / "out"), rel=0.05)


@given(graphs(), st.sampled_from(["csv", "npy", "parquet"]), st.booleans())
def test_the_output_of_one_part_is_known_to_the_byte(
    tmp_path_factory: pytest.TempPathFactory, drawn: Graph, edge_format: str, all_formats: bool
) -> None:
    data = {t: {k: v for k, v in of.items() if k != "train_mask"} for t, of in drawn.node_data.items()}
    directory = tmp_path_factory.mktemp("graph")
    form = {"npy": "numpy"}.get(edge_format, edge_format)
    replace(drawn, node_data=data).write(directory / "in", edge_format=form)
    options = dgp.DispatchOptions(graph_formats=("coo", "csr", "csc") if all_formats else ("coo",))
    how: dict[str, Any] = {"method": "random", "options": options, "resources": resources()}
    plan = dgp.plan(directory / "in", 1, **how)
    dgp.partition(directory / "in", directory / "out", 1, **how)
    assert plan.output_nbytes == part_files_nbytes(directory / "out")


@given(graphs(), st.sampled_from(METHODS), st.integers(1, 5), st.booleans())
def test_every_graph_has_a_plan_for_every_method(
    tmp_path_factory: pytest.TempPathFactory, drawn: Graph, method: str, num_parts: int, hops: bool
) -> None:
    directory = drawn.write(tmp_path_factory.mktemp("graph"))
    options = dgp.DispatchOptions(num_hops=2 if hops else 1, out_edges=hops)
    try:
        plan = dgp.plan(directory, num_parts, method=method, options=options, resources=resources())
    except dgp.GraphPartError as error:
        assert "more parts than nodes" in str(error)  # noqa: PT017
        return
    json.dumps(plan.to_dict())
    assert plan.num_edges == drawn.schema.num_edges


@pytest.mark.parametrize("method", METHODS)
def test_a_plan_reads_no_data_and_writes_no_file(
    method: str, graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = dgp.read_chunked(graph)

    def refuse(*_: object) -> None:
        raise AssertionError("data were touched")

    for name in ("read_into", "read", "write", "memmap"):
        monkeypatch.setattr(f"daskgraphpart.storage.region.Region.{name}", refuse)
    plan = dgp.plan(opened, 4, out_dir=tmp_path / "out", method=method, resources=resources())
    assert not any(tmp_path.iterdir())
    assert plan.passes
    assert plan.why


@pytest.mark.parametrize("method", ["ldg", "fennel"])
def test_passes_of_streaming_methods_are_as_planned(method: str, tmp_path: Path) -> None:
    generate(tmp_path / "g", kind="communities", num_nodes=20_000, num_edges=300_000, feature_width=4)
    plan = dgp.plan(tmp_path / "g", 4, method=method, resources=resources())
    found = measured(tmp_path / "g", tmp_path / "out", 4, method=method, resources=resources())
    assert {of.name for of in plan.passes} <= {of.name for of in found.passes}
    moved = {of.name: of.moved for of in found.passes}
    for name in ("split-edges", "merge-arcs", "weigh-nodes", "write-owners", "bucket-edges", "build-graph"):
        planned = next(of for of in plan.passes if of.name == name)
        assert planned.moved == pytest.approx(moved[name], rel=0.01)


@pytest.mark.parametrize(("method", "kind"), [("kaminpar", "rmat"), ("kaminpar", "communities"), ("auto", "rmat")])
def test_bytes_are_as_planned_whatever_there_is_to_repair(
    method: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choose, "SMALL_ARCS", 1000)  # two calls, and those on coarse graphs
    monkeypatch.setattr(csr_blocks, "HUB_FACTOR", 0)
    generate(tmp_path / "g", kind=kind, num_nodes=60_000, num_edges=300_000, feature_width=40)
    how: dict[str, Any] = {"method": method, "resources": resources()}
    plan = dgp.plan(tmp_path / "g", 4, **how)
    found = {of.name: of for of in measured(tmp_path / "g", tmp_path / "out", 4, **how).passes}
    assert "repair-in-memory" in found
    assert {of.name for of in plan.passes} == set(found) - {"cut-slab"}
    assert sum(of.moved for of in plan.passes) == pytest.approx(sum(of.moved for of in found.values()), rel=0.05)
    assert plan.bytes_read + plan.bytes_written == pytest.approx(sum(of.traffic for of in found.values()), rel=0.05)
    calls = next(of for of in plan.passes if of.name == "partition-graph")
    assert calls.num_units == found["partition-graph"].num_units


def test_bytes_of_levels_in_memory_and_on_disk_are_as_planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (vcycle, levels):
        monkeypatch.setattr(module, "MOST_ARCS_IN_MEMORY", 100_000)
    generate(tmp_path / "g", kind="communities", num_nodes=20_000, num_edges=300_000, feature_width=40)
    for most_held in (1 << 28, 0):
        for module in (refine_held, levels):
            monkeypatch.setattr(module, "MOST_ARCS_HELD", most_held)
        plan = dgp.plan(tmp_path / "g", 4, method="multilevel", resources=resources())
        passes = measured(tmp_path / "g", tmp_path / f"out-{most_held}", 4, method="multilevel", resources=resources())
        found = {of.name: of for of in passes.passes}
        assert ("restrict-parts" in found) == (not most_held)
        assert {of.name for of in plan.passes} - {"number-nodes"} <= set(found)
        assert sum(of.moved for of in plan.passes) == pytest.approx(sum(of.moved for of in found.values()), rel=0.3)


def test_times_of_calls_are_shared_out_among_workers() -> None:
    calls = (Candidate("kaminpar", context="eco"), Candidate("metis"), Candidate("metis"))
    alone, two, many = (work.of_calls(calls, (1_000_000, 1, 0), workers) for workers in (1, 2, 8))
    assert alone > two >= many > 0
    assert many == work.of_calls(calls[:1], (1_000_000, 1, 0), 1)
    assert work.of_calls(calls, (1_000_000, 2, 3), 2) > two


def test_processors_that_others_want_make_work_longer() -> None:
    quiet = Calibration(1e9, 1e9, 1e9, 1.0, 0.0, 2)
    assert quiet.crowding(1) == quiet.crowding(2) == quiet.crowding(5) == 1.0
    busy = replace(quiet, others=2.0)
    assert busy.crowding(1) == 1.5
    assert busy.crowding(2) == 2.0
    assert calibration.calibrate(Path("/")).others >= 0.0


def test_the_join_by_ranges_is_planned_when_maps_exceed_the_memory(tmp_path: Path) -> None:
    generate(tmp_path / "g", num_nodes=4_000_000, num_edges=10_000, feature_width=0)
    names = {of.name for of in dgp.plan(tmp_path / "g", 2, method="random", resources=resources("35MB")).passes}
    assert {"split-ends", "resolve-ends", "merge-ends"} <= names


def test_halo_of_owners_with_a_report_is_not_guessed(graph: Path, tmp_path: Path) -> None:
    assignment = dgp.assign(graph, 3, method="ldg", resources=resources())
    plan = dgp.plan(graph, 3, method=assignment, resources=resources())
    assert any("as the assignment's report says" in line for line in plan.assumptions)
    outcome = dgp.dispatch(graph, assignment, tmp_path / "out", resources=resources())
    assert plan.output_nbytes == pytest.approx(part_files_nbytes(outcome.config_path.parent), rel=0.05)


def test_owners_from_files_and_trainers_and_kept_ids_are_planned(graph: Path, tmp_path: Path) -> None:
    dgp.assign(graph, 3, out_dir=tmp_path / "owners", method="random", resources=resources())
    names = [of.name for of in dgp.plan(graph, 3, method=str(tmp_path / "owners"), resources=resources()).passes]
    assert names[0] == "read-assignment"
    plan = dgp.plan(graph, 2, method="ldg", num_trainers_per_machine=2, refine=True, resources=resources())
    names = [of.name for of in plan.passes]
    assert {"write-trainers", "trainers-of-edges", "refine-in-memory"} <= set(names)
    schema = GraphSchema("g", (NodeType("n", 9),), (EdgeType("n", "e", "n", 20),))
    Graph(schema, {"n:e:n": (np.arange(20) % 9, np.arange(20) % 7)}).write(tmp_path / "plain")
    options = dgp.DispatchOptions(reshuffle=False)
    plan = dgp.plan(tmp_path / "plain", 2, method="random", options=options, resources=resources())
    assert {"keep-ids", "place-ids"} <= {of.name for of in plan.passes}


def test_what_does_not_fit_is_a_warning(graph: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not dgp.plan(graph, 2, method="random", resources=resources()).warnings

    class Usage:
        free = 1000

    monkeypatch.setattr(summing.psutil, "disk_usage", lambda _: Usage)
    monkeypatch.setattr(summing, "available_memory", lambda: 1 << 20)
    memory, disk = dgp.plan(graph, 2, method="random", resources=resources()).warnings
    assert "this machine has 1.0 MB" in memory
    assert "1.0 kB are free" in disk


def test_workspace_elsewhere_shares_nothing_with_the_output_of_another_disk(
    graph: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plan = dgp.plan(graph, 2, out_dir=tmp_path / "a" / "b", method="random", resources=resources(workspace=tmp_path))
    assert plan.workspace_nbytes > 0
    assert plan.output_nbytes > 0


def test_impossible_plans_are_one_error(graph: Path) -> None:
    with pytest.raises(dgp.GraphPartError, match="no such method"):
        dgp.plan(graph, 2, method="nonsense")
    with pytest.raises(dgp.GraphPartError, match="more parts than nodes"):
        dgp.plan(graph, 4000, method="ldg")
    with pytest.raises(dgp.GraphPartError, match="impossible number of parts"):
        dgp.plan(graph, 0, method="random")
    with pytest.raises(dgp.GraphPartError, match="does not fit into the memory"):
        dgp.plan(graph, 2, resources=dgp.detect_resources("1MB"))


def test_metadata_that_claim_more_lines_than_there_can_be_are_refused(tmp_path: Path) -> None:
    schema = GraphSchema("g", (NodeType("n", 9),), (EdgeType("n", "e", "n", 20),))
    Graph(schema, {"n:e:n": (np.arange(20) % 9, np.arange(20) % 7)}).write(tmp_path / "g", edge_format="csv")
    metadata = tmp_path / "g" / "metadata.json"
    content = json.loads(metadata.read_text())
    content["num_edges_per_type"] = [10**15]
    content.pop("num_edges_per_chunk", None)
    metadata.write_text(json.dumps(content))
    with pytest.raises(dgp.GraphPartError, match="another number of edges"):
        dgp.plan(tmp_path / "g", 2, method="random", resources=resources())


def test_a_plan_shows_itself_as_text_html_and_json(graph: Path) -> None:
    plan = dgp.plan(graph, 2, method="kaminpar", resources=resources())
    text, html, content = str(plan), plan._repr_html_(), json.loads(json.dumps(plan.to_dict()))
    for word in ("bucket-edges", "output", "workspace", "memory", "assumed:", "kaminpar: asked for"):
        assert word in text
    assert "<table>" in html
    assert content["version"] == 1
    assert content["bytes_read"] == plan.bytes_read == sum(of["bytes_read"] for of in content["passes"])
    assert content["method"] == "kaminpar"


def test_what_was_measured_stands_beside_the_plan(graph: Path, tmp_path: Path) -> None:
    plan = dgp.plan(graph, 2, method="random", resources=resources())
    progress = measured(graph, tmp_path / "out", 2, method="random", resources=resources())
    lines = filled_in(plan, progress.passes, progress.seconds).splitlines()
    assert lines[0].split() == ["pass", "units", "were", "moves", "moved", "time", "took"]
    assert [line.split()[0] for line in lines[2:]] == [*(of.name for of in plan.passes), "all"]
    assert progress.passes[0].num_units > 0


@given(st.floats(0, 1e9), st.floats(0, 1e9))
def test_no_more_nodes_are_met_than_there_are_or_are_drawn(num_nodes: float, num_draws: float) -> None:
    assert 0 <= distinct(num_nodes, num_draws) <= min(num_nodes, num_draws) * (1 + 1e-9)
