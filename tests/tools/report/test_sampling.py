"""What training fetches, estimated: exact where all neighbours are taken, and the same from COO and CSC."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from commands import call
from graphs import Graph
from inside import DispatchOptions, Resources
from keywords import spelled

import daskgraphpart as dgp
from daskgraphpart import EdgeType, GraphPartError, GraphSchema, NodeType
from daskgraphpart.errors import OptionError
from daskgraphpart.tools.report.fetching import nbytes_to_sort

if TYPE_CHECKING:
    from pathlib import Path


def two_types(has_masks: bool) -> Graph:
    """Nodes of two types, of which the first has training nodes, features and labels."""
    rng = np.random.default_rng(0)
    types = (EdgeType("u", "r", "v", 500), EdgeType("v", "s", "u", 400))
    sizes = {"u": 200, "v": 150}
    edges = {t.name: tuple(rng.integers(0, sizes[end], t.num_edges) for end in (t.src, t.dst)) for t in types}
    data: dict[str, Any] = {
        "u": {"x": rng.random((200, 3)).astype("f4"), "label": np.arange(200)},
        "v": {"h": rng.random((150, 5)).astype("f2")},
    }
    if has_masks:
        data["u"]["train_mask"] = rng.random(200) < 0.4
    return Graph(GraphSchema("g", (NodeType("u", 200), NodeType("v", 150)), types), edges, data)  # type: ignore[arg-type]


def partitioned(graph: Graph, root: Path, formats: tuple[str, ...] = ("coo",)) -> dgp.PartitionedGraph:
    options = DispatchOptions(graph_formats=formats)
    return dgp.open_partitions(
        dgp.partition(graph.write(root / "in"), root / "out", 3, method="random", **spelled(options)).config
    )


def neighbourhood(graph: Graph, seeds: dict[str, np.ndarray], hops: int) -> dict[str, np.ndarray]:
    """Original IDs of all nodes from which the seeds are reached."""
    nodes = {ntype: np.unique(seeds.get(ntype, np.zeros(0, int))) for ntype in graph.schema.ntypes}
    for _ in range(hops):
        found = {ntype: [ids] for ntype, ids in nodes.items()}
        for etype, (src, dst) in graph.edges.items():
            begin, _, end = etype.split(":")
            found[begin].append(src[np.isin(dst, nodes[end])])
        nodes = {ntype: np.unique(np.concatenate(ids)) for ntype, ids in found.items()}
    return nodes


@pytest.mark.parametrize("has_masks", [True, False])
@pytest.mark.parametrize("formats", [("coo",), ("csc",)])
def test_of_all_neighbours_it_is_exact(has_masks: bool, formats: tuple[str, ...], tmp_path: Path) -> None:
    graph = two_types(has_masks)
    parts = partitioned(graph, tmp_path, formats)
    found = parts.report(fanouts=[-1, -1], batch_size=1000, memory=1 << 28, cluster="threads", workers=2).sampling
    assert found is not None
    assert found.has_masks == has_masks
    for part in range(3):
        orig = {n: parts.nodes[n].original_ids[slice(*parts.book.part_range(part, n))] for n in parts.ntypes}
        seeds = {"u": orig["u"][graph.node_data["u"]["train_mask"][orig["u"]]]} if has_masks else orig
        nodes = neighbourhood(graph, seeds, 2)
        remote = {ntype: int((~np.isin(ids, orig[ntype])).sum()) for ntype, ids in nodes.items()}
        assert found.seeds[part] == sum(map(len, seeds.values()))
        assert found.num_batches[part] == found.by_part["batches"][part] == 1
        assert found.input_nodes[part] == sum(map(len, nodes.values()))
        assert found.remote_nodes[part] == sum(remote.values())
        assert found.inputs_from is not None
        assert found.inputs_from[:, part].sum() == found.input_nodes[part]
        assert found.inputs_from[part, part] == found.input_nodes[part] - found.remote_nodes[part]
        assert found.by_part["bytes_per_epoch"][part] == remote["u"] * 12 + remote["v"] * 10
        # every batch fetches all of them
        assert found.hot_rows[part] == -(-int(parts.book.node_counts[part].sum()) // 20)
        assert found.cold_nodes[part] == found.remote_nodes[part] - found.hot_rows[part]
        saved = found.remote_nbytes[part] - found.cold_nbytes[part]
        assert 10 * found.hot_rows[part] <= saved <= 12 * found.hot_rows[part]
    assert found.share == found.remote_nodes.sum() / found.input_nodes.sum()
    assert found.to_dict()["worst_part"] == int((found.remote_nodes / found.input_nodes).argmax())


def test_it_is_the_same_from_coo_and_csc_and_for_any_workers(tmp_path: Path) -> None:
    graph, found = two_types(True), []
    for number, formats in enumerate([("coo",), ("csc",), ("csr",)]):
        parts = partitioned(graph, tmp_path / str(number), formats)
        for cluster in ("sync", "threads", "processes") if number == 0 else ("threads",):
            resources = Resources(1 << 28, cluster, 2)
            found.append(parts.report(fanouts="3,2", batch_size=10, **spelled(resources)).to_dict()["sampling"])
    assert all(each == found[0] for each in found)
    assert found[0]["fanouts"] == [3, 2]
    assert 0 < found[0]["remote_share"] < 1


def test_of_many_batches_some_are_sampled(tmp_path: Path) -> None:
    parts = partitioned(two_types(False), tmp_path)
    some = parts.report(fanouts={"r": [2], "s": [1]}, batch_size=3).sampling
    assert some is not None
    assert some.num_batches.tolist() == [20, 20, 20] < some.by_part["batches"].tolist()
    whole = parts.report(fanouts={"r": [2], "s": [1]}, batch_size=10).sampling
    assert whole is not None
    assert whole.num_batches.tolist() == whole.by_part["batches"].tolist()
    assert some.share == pytest.approx(whole.share, rel=0.15)


def test_hot_rows_save_in_another_epoch_what_they_are_counted_to(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    src, dst = (rng.random(20_000) ** 4 * 2000).astype(int), rng.integers(0, 2000, 20_000)
    data = {"x": np.zeros((2000, 4), "f4"), "label": np.arange(2000)}
    parts = dgp.partition_graph((src, dst), "g", 4, tmp_path / "out", part_method="random", node_data=data)
    fetched = parts.report(fanouts=[3, 3], batch_size=50).sampling
    assert fetched is not None
    for part in parts.parts:
        counted, saved = (part.hot_rows([3, 3], size=size, batch_size=50, seed=7) for size in (1 << 30, "5%"))
        rows = counted.fetches.sum(), counted.fetches.sum() - saved.fetches.sum()
        number = part.part_id
        assert fetched.hot_rows[number] == saved.ids.size
        assert fetched.per_epoch(fetched.remote_nodes)[number] == pytest.approx(rows[0], rel=0.03)
        assert fetched.per_epoch(fetched.cold_nodes)[number] == pytest.approx(rows[1], rel=0.05)
    assert 0.85 < fetched.cold_share / fetched.share < 0.93  # 26 rows of 11 batches of 238
    content = fetched.to_dict()
    assert content["with_hot_rows"]["remote_share"] == fetched.cold_share
    assert content["with_hot_rows"]["bytes_per_epoch"] == 16 * sum(content["with_hot_rows"]["rows_per_epoch_by_part"])


def test_hot_rows_are_the_same_for_any_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = partitioned(two_types(True), tmp_path)
    expected = parts.report(fanouts=[3, 2], batch_size=10).to_dict()["sampling"]
    monkeypatch.setattr("daskgraphpart.partitioner.training.count_fetches.SLOT_NBYTES", 1 << 21)
    assert parts.report(fanouts=[3, 2], batch_size=10, memory="64MB", workers=2).to_dict()["sampling"] == expected


def test_one_part_fetches_nothing(tmp_path: Path) -> None:
    parts = dgp.partition_graph((np.array([0, 1]), np.array([1, 0])), "g", 1, tmp_path / "out")
    found = parts.report(fanouts=[5]).sampling
    assert found is not None
    assert (found.share, found.by_part["bytes_per_epoch"].tolist(), found.input_nodes.tolist()) == (0.0, [0], [2])


def test_all_forms_of_the_report_have_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts = partitioned(two_types(True), tmp_path)
    out = parts.config.parent
    assert call("report", out, "--fanouts", "4,3", "--batch-size", "20", "--quiet") == 0
    text = capsys.readouterr().out
    assert "What training fetches" in text
    assert "remote rows" in text
    assert "bytes with hot rows" in text
    slow = parts.report(fanouts=[4, 3], batch_size=20, network="64 bit/s")
    assert slow.sampling is not None
    of_parts = slow.sampling.by_part
    assert of_parts["seconds_per_epoch"].tolist() == (of_parts["bytes_per_epoch"] / 8).tolist()
    assert " of a network of 64 bit/s." in str(slow).replace("\n", " ")
    page = slow.to_html()
    assert "A trainer fetches" in page
    assert "Who fetches from whom?" in page
    assert "with the hottest 5% beside each part" in page
    assert "What training fetches" in page
    command = ("report", out, "--fanouts", "4,3", "--batch-size", "20", "--format", "json", "--quiet")
    assert call(*command) == 0
    content = json.loads(capsys.readouterr().out)["sampling"]
    assert content == parts.report(fanouts=[4, 3], batch_size=20).to_dict()["sampling"]


@pytest.mark.parametrize(
    ("sampling", "batch_size", "network", "place"),
    [
        ("ten", 10, None, "--fanouts"),
        ("", 10, None, "--fanouts"),
        ([], 10, None, "--fanouts"),
        ([2], 0, None, "--batch-size"),
        ([2], 10, "fast", "--network"),
        ([2], 10, "0Gbit", "--network"),
        (None, 0, None, "--batch-size"),
    ],
)
def test_bad_values_are_one_error(
    sampling: Any, batch_size: int | None, network: str | None, place: str, tmp_path: Path
) -> None:
    parts = dgp.partition_graph((np.array([0, 1]), np.array([1, 0])), "g", 1, tmp_path / "out")
    with pytest.raises(OptionError) as caught:
        parts.report(fanouts=sampling, batch_size=batch_size, network=network)
    assert isinstance(caught.value, GraphPartError)
    assert caught.value.option == place.removeprefix("--").replace("-", "_")


def test_nobody_has_to_ask_where_in_edges_fit_into_memory(tmp_path: Path) -> None:
    parts = partitioned(two_types(True), tmp_path)
    found, asked = parts.report(workers=1).sampling, parts.report(fanouts=[10, 10]).sampling
    assert found is not None and asked is not None
    assert (found.fanouts, found.batch_size) == ((10, 10), 1000)
    assert asked.hot_rows.all() and not found.hot_rows.any()  # which take more batches
    assert found.share == asked.share  # a part has few training nodes: these are all its batches
    nbytes = nbytes_to_sort([part.graph for part in parts.parts], parts.book, is_ours=True)
    assert nbytes == 16 * 900 + 8 * sum(part.graph.num_nodes for part in parts.parts)


def test_random_parts_fetch_what_is_said_of_random_parts(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    graph = dgp.from_edges({"n:r:n": rng.integers(0, 3000, (2, 9000))}, num_nodes=3000)
    for method in ("random", "auto"):
        parts = dgp.partition(graph, tmp_path / method, 4, method=method, progress=False)
        found = parts.report(fanouts=[5, 5], batch_size=100).sampling
        assert found is not None
        if method == "random":
            assert found.random_share == pytest.approx(found.share, rel=0.05)  # but for a small graph
            whole = parts.report(fanouts=[-1] * 6, batch_size=1000).sampling  # of which each part has a quarter
            assert whole is not None and whole.random_share == pytest.approx(whole.share, rel=0.02)
        assert found.share <= 1.05 * found.random_share


@pytest.mark.parametrize(
    ("how", "advice"),
    [
        ({"method": "random"}, "The assignment is random: --method auto cuts"),
        ({"balance": "nodes"}, "To even out the edges, partition with edges in --balance"),
        ({}, "To fetch fewer rows, partition for how you train: --objtype fetch --fanouts 10,10."),
        ({"objtype": "fetch", "fanouts": "3,3"}, "Keep hot rows beside the parts (--hot-rows 5%): trainers fetch "),
    ],
)
def test_there_is_one_advice(how: dict[str, Any], advice: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    src, near = rng.integers(0, 400, 4000), rng.integers(1, 20, 4000)
    hub = np.where(np.arange(4000) < 900, src % 20, (src + near) % 400)
    graph = dgp.from_edges({"n:r:n": (src, hub)}, num_nodes=400)
    report = dgp.partition(graph, tmp_path / "parts", 4, progress=False, **how).report(batch_size=20)
    assert advice in " ".join(str(report).split())
    assert f"<p class='dgp-advice'>{advice[:12]}" in report.to_html()
