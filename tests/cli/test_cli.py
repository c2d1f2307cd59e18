"""The commands, end to end: what they write, what they print, and what they refuse."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING

import numpy as np
import pytest
from commands import call
from graphs import file_hashes

import daskgraphpart as dgp
from daskgraphpart import open_partitions, read_chunked

if TYPE_CHECKING:
    from pathlib import Path

SIZES = ("--nodes", "2e3", "--edges", "1e4", "--quiet")
RANDOM = ("--method", "random", "--quiet")


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A heterogeneous graph with features, labels, masks and edge features."""
    directory = tmp_path_factory.mktemp("cli") / "graph"
    assert call("generate", directory, "--kind", "mag", "--features", "4", *SIZES) == 0
    return directory


def test_all_commands_in_a_row(graph: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("info", graph) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Graph 'graph': ") and "author:writes:paper" in shown
    assert call("assign", graph, tmp_path / "owners", "--num-parts", "3") == 0
    words = ["method", "parts", "edge cut", "halo nodes", "balance", "time", "owners"]
    assert [line.split("  ")[0] for line in capsys.readouterr().out.splitlines()] == words
    assert call("dispatch", graph, tmp_path / "owners", tmp_path / "out") == 0
    shown = capsys.readouterr().out.splitlines()
    words = [
        "parts",
        "edge cut",
        "halo nodes",
        "balance",
        "time",
        "config",
        "to verify",
        "to report",
        "in DGL",
        "in PyG",
    ]
    assert [line.split("  ")[0] for line in shown] == words
    assert shown[-4].endswith(f"daskgraphpart verify {graph} {tmp_path / 'out'}")
    assert call(*shlex.split(shown[-3])[3:5], "--quiet") == 0  # the line that reports
    assert call("verify", graph, tmp_path / "out") == 0
    assert "OK: 2,000 nodes, 10,000 edges" in capsys.readouterr().out
    assert call("info", tmp_path / "out") == 0
    shown = capsys.readouterr().out
    assert "PartitionedGraph 'graph': 3 parts" in shown
    assert re.search(r"\nedge cut \d+\.\d+%; largest part / average: nodes 1\.\d+, edges 1\.\d+\n", shown)
    assert f"in DGL: dgl.distributed.load_partition('{tmp_path / 'out' / 'graph.json'}', 0)" in shown
    (tmp_path / "edges.csv").touch()
    assert call("info", tmp_path / "edges.csv") == 2
    assert "edges.csv: neither a chunked graph nor partitions. Give a directory" in capsys.readouterr().err


def test_verbose_shows_the_parts_and_quiet_shows_nothing(
    graph: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ("partition", graph, tmp_path / "out", "--num-parts", "20", "--method", "random", "--overwrite")
    assert call(*line, "-v") == 0
    shown = capsys.readouterr().out
    for word in ("part  own nodes  halo nodes  own edges", "...", "edge cut"):
        assert word in shown
    assert call(*line, "--quiet") == 0
    assert capsys.readouterr() == ("", "")


def test_partition_is_assign_and_dispatch(graph: Path, tmp_path: Path) -> None:
    more = ("--num-hops", "2", "--graph-formats", "csc,coo", "--out-edges", "--quiet")
    how = ("--num-parts", "3", "--seed", "5", "--method", "metis")
    assert call("partition", graph, tmp_path / "one", *how, *more) == 0
    assert call("assign", graph, tmp_path / "owners", *how, "--quiet") == 0
    assert call("dispatch", graph, tmp_path / "owners", tmp_path / "two", *more) == 0
    assert call("partition", graph, tmp_path / "three", "--num-parts", "3", "--method", tmp_path / "owners", *more) == 0
    found = [file_hashes(tmp_path / name) for name in ("one", "two", "three")]
    for hashes in found:
        hashes.pop("graph.manifest.json")  # tells what was balanced, if that is known
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("form", ["npy", "parquet", "zarr", "txt"])
def test_every_form_of_owners_gives_the_same_partitions(form: str, graph: Path, tmp_path: Path) -> None:
    owners = tmp_path / "owners"
    assert call("assign", graph, owners, "--num-parts", "3", *RANDOM, *(() if form == "txt" else ("--form", form))) == 0
    for path in owners.iterdir():
        # the binary form alone; or the text alone, as DGL's own step 1 leaves it
        if path.suffix == (".npy" if form == "txt" else ".txt") or (form == "txt" and path.name == "assignment.json"):
            path.unlink()
    assert call("dispatch", graph, owners, tmp_path / "out", "--quiet") == 0
    assert call("partition", graph, tmp_path / "expected", "--num-parts", "3", *RANDOM) == 0
    assert file_hashes(tmp_path / "expected") == file_hashes(tmp_path / "out")


@pytest.mark.parametrize("kind", ["rmat", "mag"])
def test_generated_graphs_depend_on_the_seed_alone(kind: str, tmp_path: Path) -> None:
    found = []
    for number, way in enumerate(
        [("--num-chunks", "1"), ("--num-chunks", "3", "--edge-format", "csv"), ("--seed", "1")]
    ):
        directory = tmp_path / str(number)
        assert call("generate", directory, "--kind", kind, "--features", "3", "--labels", *SIZES, *way) == 0
        graph = read_chunked(directory)
        edges = {etype: frame.compute().to_numpy().tolist() for etype, frame in graph.edges.items()}
        data = {t: {name: array.compute().tolist() for name, array in of.items()} for t, of in graph.node_data.items()}
        found.append((edges, data))
    assert found[0] == found[1]
    assert found[0] != found[2]


def test_formats_of_the_input_do_not_change_the_partitions(tmp_path: Path) -> None:
    found = []
    for edge_format, data_format, chunks in (("csv", "parquet", 1), ("numpy", "numpy", 3), ("parquet", "parquet", 2)):
        graph, out = tmp_path / f"graph-{edge_format}", tmp_path / f"out-{edge_format}"
        formats = ("--edge-format", edge_format, "--data-format", data_format, "--num-chunks", str(chunks))
        formats += ("--name", "mag")
        assert call("generate", graph, "--kind", "mag", "--features", "4", *SIZES, *formats) == 0
        assert call("partition", graph, out, "--num-parts", "2", *RANDOM) == 0
        assert call("verify", graph, out, "--quiet") == 0
        found.append(file_hashes(out))
    assert found[0] == found[1] == found[2]


def test_parts_that_lack_a_type_are_warned_of_and_can_be_filled(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    graph = tmp_path / "graph"
    tiny = ("--kind", "mag", "--features", "2", "--nodes", "300", "--edges", "900", "--quiet")
    assert call("generate", graph, *tiny) == 0
    assert call("partition", graph, tmp_path / "a", "--num-parts", "70", *RANDOM) == 0
    assert "own no node of type 'paper', which has features" in caplog.text
    caplog.clear()
    assert call("partition", graph, tmp_path / "b", "--num-parts", "70", "--fill-parts", *RANDOM) == 0
    assert "which has features" not in caplog.text


@pytest.mark.parametrize(
    ("num_nodes", "advice"),
    [(3, "use fewer parts, or the option fill_parts"), (2, "use fewer parts\n"), (0, "leave out the features")],
)
def test_advice_on_a_type_that_parts_lack_can_be_followed(
    num_nodes: int, advice: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    nodes = {"user": 30, "rare": num_nodes}
    edges = {"user:knows:user": (np.arange(30), np.arange(30))}
    graph = dgp.from_edges(edges, num_nodes=nodes, node_data={"rare": {"x": np.zeros((num_nodes, 2))}})
    dgp.partition(graph, tmp_path / "out", 3, method="random", seed=1, progress=False)
    assert f"servers cannot start on them; {advice}" in caplog.text


def test_a_graph_without_edges_is_not_advised_to_have_fewer_parts(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    none = np.zeros(0, np.int64)
    graph = dgp.from_edges({"user:knows:user": (none, none)}, num_nodes={"user": 5})
    dgp.partition(graph, tmp_path / "out", 1, method="random", seed=1, progress=False)
    assert "servers cannot start on them; the graph has none" in caplog.text


def test_outputs_are_replaced_only_with_overwrite(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph, owners, out = tmp_path / "graph", tmp_path / "owners", tmp_path / "out"
    tiny = ("--nodes", "100", "--edges", "300", "--quiet")
    commands = [
        (graph, ("generate", graph, *tiny, "--seed", "1"), ("generate", graph, *tiny, "--seed", "2")),
        (
            owners,
            ("assign", graph, owners, "--num-parts", "2", *RANDOM),
            ("assign", graph, owners, "--num-parts", "3", *RANDOM),
        ),
        (out, ("dispatch", graph, owners, out, "--quiet"), ("dispatch", graph, owners, out, "--quiet", "--out-edges")),
    ]
    for directory, first, second in commands:
        assert call(*first) == 0
        before = file_hashes(directory)
        assert call(*second) == 2
        assert "--overwrite" in capsys.readouterr().err
        assert file_hashes(directory) == before
        assert call(*second, "--overwrite") == 0
        assert file_hashes(directory) != before
    assert call("verify", graph, out, "--quiet") == 0


def test_seeds_reproduce_and_differ(graph: Path, tmp_path: Path) -> None:
    found = {}
    for name, seed in (("a", "7"), ("b", "7"), ("c", "8")):
        assert call("assign", graph, tmp_path / name, "--num-parts", "4", "--seed", seed, *RANDOM) == 0
        found[name] = {path.name: path.read_bytes() for path in (tmp_path / name).glob("*.txt")}
    assert found["a"] == found["b"]
    assert all(found["a"][name] != found["c"][name] for name in found["a"])
    assert {int(line) for text in found["a"].values() for line in text.split()} == {0, 1, 2, 3}


def test_names_of_a_dgl_dispatch(graph: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    owners, out, machines = tmp_path / "owners", tmp_path / "out", tmp_path / "ip_config.txt"
    assert call("assign", "--in-dir", graph, "--out-dir", owners, "--num-partitions", "4", "--quiet") == 0
    found = json.loads((owners / "partition_meta.json").read_text())
    assert found == {"version": "1.0.0", "num_parts": 4, "algo_name": "metis"}
    machines.write_text("10.0.0.1\n10.0.0.2\n")
    line = ("dispatch", "--in-dir", graph, "--partitions-dir", owners, "--out-dir", out, "--ip-config", machines)
    assert call(*line, "--quiet") == 0
    assert sorted(path.name for path in out.glob("*.json") if "manifest" not in path.name) == ["metadata.json"]
    assert json.loads((out / "metadata.json").read_text())["num_parts"] == 4
    assert call("info", out) == 0
    assert "PartitionedGraph 'graph': 4 parts" in capsys.readouterr().out
    machines.write_text("10.0.0.1\n10.0.0.2\n10.0.0.3\n")
    assert call(*line, "--quiet", "--overwrite") == 2


def test_options_of_the_assignment_reach_it(graph: Path, tmp_path: Path) -> None:
    options = ("--method", "kaminpar", "--balance", "nodes=0.05,edges=0.2", "--seed", "3", "--refine")
    more = ("--num-trainers-per-machine", "2", "--graph_formats", "csc", "--quiet")
    assert call("partition", graph, tmp_path / "out", "--num_parts", "2", *options, *more) == 0
    part = open_partitions(tmp_path / "out").part(0)
    assert list(part.graph.formats) == ["csc"]
    assert "trainer_id" in part.node_rows.features["paper"]


@pytest.mark.parametrize("command", [("assign", "--num-parts", "2"), ("dispatch",)])
def test_a_directory_is_given_once(
    command: tuple[str, ...], graph: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ("--in-dir", graph, "--out-dir", tmp_path / "x")
    assert call(*command, graph, tmp_path / "y", *flags) == 2
    assert "Give only one GRAPH" in capsys.readouterr().err
