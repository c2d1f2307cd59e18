"""Parts for training: fewer rows fetched, even work, the cut where nothing is to be gained, and mistakes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from commands import call
from graphs import Graph, load_real_graph
from inside import AssignOptions, Resources, npy_region, open_runner

import daskgraphpart as dgp
from daskgraphpart import EdgeType, GraphSchema, NodeType
from daskgraphpart.partitioner.adjacency.adjacency_sizes import adjacency_nbytes
from daskgraphpart.partitioner.choose import Way
from daskgraphpart.partitioner.training.predict_rows import PredictedRows, draw_seeds
from daskgraphpart.partitioner.training.training_graph import read_training_graph
from daskgraphpart.partitioner.try_ways import Tried, choose_tried
from daskgraphpart.storage.region import save_npy

if TYPE_CHECKING:
    from pathlib import Path

FETCH = {"objtype": "fetch", "fanouts": [10, 10], "training_options": {"batch_size": 100}}


@pytest.fixture(scope="module")
def cora(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Cora, a tenth of which trains."""
    real = load_real_graph("cora")
    mask = np.random.default_rng(0).random(real.schema.num_nodes) < 0.1
    graph = Graph(real.schema, real.edges, {real.schema.ntypes[0]: {"train_mask": mask, "none": mask & False}})
    return graph.write(tmp_path_factory.mktemp("cora") / "graph")


def test_fewer_rows_are_fetched_and_work_is_even(cora: Path) -> None:
    cut, fetch = (dgp.assign(cora, 4, **{**FETCH, "objtype": objtype}).quality for objtype in ("cut", "fetch"))
    assert cut.rows is not None
    assert fetch.rows is not None
    assert fetch.rows.num_fetched < 0.9 * cut.rows.num_fetched
    assert cut.rows.busiest > 1.15
    assert fetch.rows.busiest < 1.08
    assert fetch.num_cut_edges > cut.num_cut_edges
    assert {balance.name for balance in fetch.balances if balance.allowed} == {"nodes", "work", "seeds"}
    assert all(balance.is_kept for balance in fetch.balances)
    assert "fewer rows than with the fewest cut edges" in fetch.why


@pytest.mark.parametrize("method", ["metis", "kaminpar", "multilevel", "fennel"])
def test_every_method_minds_the_rows(method: str, cora: Path) -> None:
    cut, fetch = (
        dgp.assign(cora, 4, method=method, **{**FETCH, "objtype": of}).quality.rows for of in ("cut", "fetch")
    )
    assert cut is not None
    assert fetch is not None
    assert fetch.num_fetched <= 1.02 * cut.num_fetched


def test_owners_are_refined_and_extended_for_training(cora: Path, tmp_path: Path) -> None:
    dgp.assign(cora, 4, method="random", out=tmp_path / "random")
    before = dgp.assign(
        cora, 4, method=tmp_path / "random", fanouts="10,10", training_options={"batch_size": 100}
    ).quality.rows
    refined = dgp.assign(cora, 4, method=tmp_path / "random", refine=True, **FETCH).quality.rows
    extended = dgp.assign(cora, 4, extend=tmp_path / "random", extend_options={"may_move": "50%"}, **FETCH).quality.rows
    assert before is not None
    assert refined is not None
    assert extended is not None
    assert refined.num_fetched < 0.7 * before.num_fetched
    assert extended.num_fetched < before.num_fetched


def test_training_is_recorded_for_reports_and_for_a_graph_that_grows(
    cora: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    parts = dgp.partition(cora, tmp_path / "parts", 4, **FETCH)
    sampling, told = parts.report().sampling, parts.report(fanouts=[10, 10], batch_size=100).sampling
    assert sampling is not None
    assert told is not None
    assert sampling.to_dict() == told.to_dict()
    assert "edges than the average" not in str(parts.report())
    owners = dgp.assign(cora, 4, out=tmp_path / "owners", **FETCH)
    dispatched = dgp.dispatch(cora, tmp_path / "owners", tmp_path / "dispatched")
    assert dispatched.report().sampling is not None
    assert dgp.assign(cora, 4).training == {}
    for old in (tmp_path / "owners", tmp_path / "parts"):
        with caplog.at_level("INFO"):
            extended = dgp.assign(cora, 4, extend=old)
        assert extended.training == owners.training
        assert "--fanouts 10,10" in caplog.text
        assert {balance.name for balance in extended.quality.balances if balance.allowed} == {"nodes", "work", "seeds"}


def test_the_cut_is_kept_where_nothing_is_to_be_gained(tmp_path: Path) -> None:
    rng, schema = np.random.default_rng(0), GraphSchema("g", (NodeType("n", 400),), (EdgeType("n", "to", "n", 8000),))
    group = rng.integers(0, 4, 8000) * 100
    graph = Graph(schema, {"n:to:n": (group + rng.integers(0, 100, 8000), group + rng.integers(0, 100, 8000))})
    directory = graph.write(tmp_path / "graph")
    default, fetch = dgp.assign(directory, 4), dgp.assign(directory, 4, **FETCH)
    assert np.array_equal(default.owners["n"].compute(), fetch.owners["n"].compute())
    assert "would not save rows" in fetch.quality.why


@pytest.mark.parametrize(
    ("found", "best"),
    [
        ([(100, 1.0), (97, 1.0), (90, 1.06), (70, 1.2)], 2),  # fewest rows with work within its limit
        ([(100, 1.06), (97, 1.05), (60, 1.07)], 1),  # a limit is kept, whatever it costs of what is saved
        ([(100, 1.06), (99, 1.0), (90, 1.2)], 0),  # the cut, if it is even and within 2 % of that
        ([(100, 1.3), (110, 1.06), (101, 1.2)], 2),  # even work is no reason for more rows
        ([(100, 1.3), (119, 1.05), (62, 1.1)], 2),  # as many rows less may cost some of it
        ([(100, 2.0), (95, 1.51), (99, 1.5), (90, 1.7)], 1),  # both count where work is even nowhere
    ],
)
def test_parts_with_few_rows_and_even_work_are_chosen(found: list[tuple[int, float]], best: int) -> None:
    options = AssignOptions(objtype="fetch", fanouts=[10, 10])
    ways = [Way(replace(options, objtype="cut"), "edges"), *[Way(options, "rows")] * (len(found) - 1)]
    tried = []
    for way, (rows, busiest) in zip(ways, found, strict=True):
        work = round(1000 * busiest), round(1000 * (2 - busiest))
        tried.append(Tried(way, None, None, PredictedRows((1, 1), (rows, 0), (rows, 0), work, (0, 0))))  # type: ignore[arg-type]
    assert choose_tried(tried)[0] is tried[best]


@pytest.mark.real
@pytest.mark.long
def test_work_is_as_even_as_the_rows_of_the_default_allow(tmp_path: Path) -> None:
    """Batches reach most of this graph of knowledge: even work takes 1.04 of the rows."""
    whole = load_real_graph("fb15k237")
    graph = Graph(whole.schema, whole.edges).write(tmp_path / "graph")
    how = {**FETCH, "training_options": {"seeds": "all"}}
    cut, fetch = (dgp.assign(graph, 8, **{**how, "objtype": of}).quality.rows for of in ("cut", "fetch"))
    assert cut is not None
    assert fetch is not None
    assert fetch.num_fetched <= 1.01 * cut.num_fetched
    assert fetch.busiest < cut.busiest - 0.05


@pytest.mark.parametrize("batch_size", [10, 1000])  # of 74 seeds of a part
def test_few_rows_are_predicted_from_more_batches(batch_size: int, cora: Path, tmp_path: Path) -> None:
    options = AssignOptions(fanouts=[2, 2], batch_size=batch_size)
    with open_runner(Resources(1 << 26, "threads")) as runner:
        graph = dgp.read_chunked(cora)
        training = read_training_graph(graph, 4, options, tmp_path / "training", runner)
        parts = np.random.default_rng(0).permutation(graph.schema.num_nodes).astype(np.int32) % 4
        save_npy(tmp_path / "parts.npy", parts)
        region = npy_region(tmp_path / "parts.npy", np.int32, parts.shape)
        few = training.predict(region, runner)
        well = training.predict_well(region, few, tmp_path / "well", runner)
        drawn = draw_seeds(training.seeds.marks, training.seeds.count, training.training, 4, tmp_path, runner, 1000)
        truth = replace(training, drawn=drawn).predict(region, runner)
    assert well != few
    assert well.num_fetched == pytest.approx(truth.num_fetched, rel=0.01)


def test_of_few_seeds_a_part_may_have_one_more_than_the_average(cora: Path) -> None:
    few = dgp.assign(cora, 60, method="fennel", balance="nodes,seeds", fanouts=[2]).quality
    assert few.balance_of("seeds").allowed == pytest.approx(6 * 60 / 296)


def test_the_summary_tells_rows_and_work(cora: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wanted = ("--num-parts", "4", "--objtype", "fetch", "--fanouts", "10,10", "--batch-size", "100")
    for command in (("assign", cora, tmp_path / "owners"), ("partition", cora, tmp_path / "parts")):
        assert call(*command, *wanted) == 0
        shown = capsys.readouterr().out
        assert " B); work of the busiest part 1." in shown.replace("kB", " B")
        assert "fewer rows than with the fewest cut edges" in shown


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no fan-outs": ({"objtype": "fetch"}, "needs the fan-outs of training"),
    "work without fan-outs": ({"balance": "nodes,work"}, "balance work needs the fan-outs"),
    "no hops": ({"objtype": "fetch", "fanouts": "ten"}, "not a list of numbers"),
    "nothing sampled": ({"objtype": "fetch", "fanouts": [0, 0]}, "nothing is sampled"),
    "below -1": ({"objtype": "fetch", "fanouts": [10, -2]}, "not a number of neighbours"),
    "unknown type": ({"objtype": "fetch", "fanouts": {"cites": [10]}}, "no edge type 'cites'"),
    "type and all": ({"objtype": "fetch", "fanouts": ["10,10", "_E=5,5"]}, "for one type and for all"),
    "twice": ({"objtype": "fetch", "fanouts": ["10,10", "5,5"]}, "given twice"),
    "unknown mask": ({**FETCH, "training_options": {"seeds": "trane_mask"}}, "no node type has such a mask"),
    "unknown feature": ({**FETCH, "training_options": {"seeds": "_N/label"}}, "unknown node feature"),
    "no seed": ({**FETCH, "training_options": {"seeds": "none"}}, "no node is a seed of training"),
    "no batch": (
        {"objtype": "fetch", "fanouts": [5], "training_options": {"batch_size": 0}},
        "batch_size 0 is too small",
    ),
    "random": ({**FETCH, "method": "random"}, "looks at no edge"),
    "weights": ({**FETCH, "edge_weight": "_N:_E:_N/w"}, "exclude each other"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_mistake_is_one_error_before_work(name: str, cora: Path) -> None:
    how, word = BAD[name]
    with pytest.raises(dgp.GraphPartError, match=word):
        dgp.assign(cora, 4, **how)
    if name != "no seed":
        with pytest.raises(dgp.GraphPartError, match=word):
            dgp.plan(cora, 4, **how)


def test_owners_that_stay_are_refused(cora: Path, tmp_path: Path) -> None:
    dgp.assign(cora, 4, method="random", out=tmp_path / "random")
    with pytest.raises(dgp.GraphPartError, match="stay as they are") as fault:
        dgp.assign(cora, 4, method=tmp_path / "random", **FETCH)
    assert "add refine" in str(fault.value).lower()


def test_the_plan_counts_the_files_of_every_way_that_is_tried(cora: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    several = dgp.plan(cora, 4, **FETCH).workspace_nbytes
    monkeypatch.setattr("daskgraphpart.partitioner.choose.MOST_EDGES_OF_SEVERAL", 0)
    schema, one = dgp.read_chunked(cora).schema, dgp.plan(cora, 4, **FETCH).workspace_nbytes
    assert several - one >= 2 * adjacency_nbytes(schema, has_weights=True)
