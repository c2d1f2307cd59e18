"""The commands, end to end, with our arguments and with those of DGL's scripts."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from commands import call
from graphs import file_hashes

from daskgraphpart import __version__
from daskgraphpart.cli.main import COMMANDS
from daskgraphpart.partitioned.graph import open_partitions

if TYPE_CHECKING:
    from pathlib import Path

SIZES = ("--nodes", "2e3", "--edges", "1e4", "--quiet")


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A heterogeneous graph with features, labels, masks and edge features."""
    directory = tmp_path_factory.mktemp("cli") / "graph"
    assert call("generate", directory, "--kind", "mag", "--features", "4", *SIZES) == 0
    return directory


def test_all_commands_in_a_row(graph: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("info", graph) == 0
    assert "author:writes:paper" in capsys.readouterr().out
    assert call("assign", graph, tmp_path / "owners", "--num-parts", "3") == 0
    assert "assigned to 3 parts" in capsys.readouterr().out
    assert call("dispatch", graph, tmp_path / "owners", tmp_path / "out") == 0
    summary = capsys.readouterr().out
    for word in ("inner nodes", "HALO nodes", "edge cut", "replication factor", "imbalance", "mag.json"):
        assert word in summary
    assert call("verify", graph, tmp_path / "out") == 0
    assert "all is well: 2,000 nodes, 10,000 edges" in capsys.readouterr().out
    assert call("info", tmp_path / "out") == 0
    assert "PartitionedGraph 'mag': 3 parts" in capsys.readouterr().out


def test_partition_is_assign_and_dispatch(graph: Path, tmp_path: Path) -> None:
    more = ("--num-hops", "2", "--graph-formats", "csc,coo", "--out-edges", "--quiet")
    assert call("partition", graph, tmp_path / "one", "--num-parts", "3", "--seed", "5", *more) == 0
    assert call("assign", graph, tmp_path / "owners", "--num-parts", "3", "--seed", "5", "--quiet") == 0
    assert call("dispatch", graph, tmp_path / "owners", tmp_path / "two", *more) == 0
    assert call("partition", graph, tmp_path / "three", "--num-parts", "3", "--method", tmp_path / "owners", *more) == 0
    assert file_hashes(tmp_path / "one") == file_hashes(tmp_path / "two") == file_hashes(tmp_path / "three")


@pytest.mark.parametrize("form", ["npy", "parquet", "zarr", "txt"])
def test_every_form_of_owners_gives_the_same_partitions(form: str, graph: Path, tmp_path: Path) -> None:
    owners = tmp_path / "owners"
    assert (
        call("assign", graph, owners, "--num-parts", "3", "--quiet", *(() if form == "txt" else ("--form", form))) == 0
    )
    for path in owners.iterdir():
        if form != "txt" and path.suffix == ".txt":
            path.unlink()  # the binary form alone
        elif form == "txt" and path.suffix == ".npy":
            path.unlink()
    if form == "txt":
        (owners / "assignment.json").unlink()  # as DGL's own step 1 leaves it
    assert call("dispatch", graph, owners, tmp_path / "out", "--quiet") == 0
    assert call("partition", graph, tmp_path / "expected", "--num-parts", "3", "--quiet") == 0
    expected, found = file_hashes(tmp_path / "expected"), file_hashes(tmp_path / "out")
    assert found == expected


def test_scripts_written_for_dgls_tools_run(graph: Path, tmp_path: Path) -> None:
    owners, out = tmp_path / "owners", tmp_path / "out"
    assert call("assign", "--in_dir", graph, "--out_dir", owners, "--num_partitions", "4", "--quiet") == 0
    assert json.loads((owners / "partition_meta.json").read_text()) == {
        "version": "1.0.0",
        "num_parts": 4,
        "algo_name": "random",
    }
    ip_config = tmp_path / "ip_config.txt"
    ip_config.write_text("10.0.0.1\n10.0.0.2\n")
    flags = ("--in-dir", graph, "--partitions-dir", owners, "--out-dir", out, "--ip-config", ip_config)
    more = ("--save-orig-nids", "--save-orig-eids", "--graph-formats", "coo,csc", "--quiet")
    assert call("dispatch", *flags, *more) == 0
    assert (out / "metadata.json").is_file()
    assert set(open_partitions(out).part(0).graph.formats) == {"coo", "csc"}
    assert call("verify", graph, out, "--quiet") == 0
    ip_config.write_text("10.0.0.1\n10.0.0.2\n10.0.0.3\n")
    assert call("dispatch", *flags, *more, "--overwrite") == 2


@pytest.mark.parametrize("name", ["graph.dgl", "node_feat.dgl", "edge_feat.dgl", "orig_nids.dgl", "orig_eids.dgl"])
def test_verify_finds_a_flipped_bit_in_every_file(
    name: str, graph: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert call("partition", graph, out, "--num-parts", "2", "--graph-formats", "coo,csc,csr", "--quiet") == 0
    part = open_partitions(out).part(1)
    regions = {
        "graph.dgl": [*(r for f in part.graph.formats.values() for r in f.values())],
        "node_feat.dgl": [r for of in part.node_regions.values() for r in of.values()],
        "edge_feat.dgl": [r for of in part.edge_regions.values() for r in of.values()],
        "orig_nids.dgl": [*part.orig_nid_regions.values()],
        "orig_eids.dgl": [*part.orig_eid_regions.values()],
    }[name]
    if name == "graph.dgl":
        regions += [part.graph.node_arrays["_ID"], part.graph.edge_arrays["_ID"], part.graph.edge_arrays["inner_edge"]]
    for region in regions:
        content = bytearray((out / "part1" / name).read_bytes())
        place = region.offset + region.nbytes // 2 // region.dtype.itemsize * region.dtype.itemsize
        content[place] ^= 1
        (out / "part1" / name).write_bytes(content)
        assert call("verify", graph, out) == 1, region
        assert "part1" in (found := capsys.readouterr().out) or "orig_nids" in found or "orig_eids" in found
        content[place] ^= 1
        (out / "part1" / name).write_bytes(content)
    assert call("verify", graph, out, "--quiet") == 0


def test_verify_finds_files_that_are_cut_or_missing(
    graph: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert call("partition", graph, out, "--num-parts", "2", "--quiet") == 0
    for name in ("graph.dgl", "node_feat.dgl", "edge_feat.dgl", "orig_nids.dgl", "orig_eids.dgl"):
        path = out / "part0" / name
        content = path.read_bytes()
        path.write_bytes(content[:-20] if name != "graph.dgl" else content[:-400])
        assert call("verify", graph, out) in (1, 2)
        path.unlink()
        assert call("verify", graph, out) in (1, 2)
        path.write_bytes(content)
    assert call("verify", graph, out, "--quiet") == 0
    capsys.readouterr()


@pytest.mark.parametrize("edge_format", ["csv", "numpy", "parquet"])
@pytest.mark.parametrize("kind", ["rmat", "mag"])
def test_generated_graphs_depend_on_the_seed_only(kind: str, edge_format: str, tmp_path: Path) -> None:
    from daskgraphpart.chunked.graph import read_chunked

    ways = [("--num-chunks", "1"), ("--num-chunks", "3", "--edge-format", edge_format), ("--seed", "1")]
    found = []
    for number, way in enumerate(ways):
        directory = tmp_path / str(number)
        assert call("generate", directory, "--kind", kind, "--features", "3", "--labels", *SIZES, *way) == 0
        graph = read_chunked(directory)
        edges = {etype: frame.compute().to_numpy().tolist() for etype, frame in graph.edges.items()}
        data = {t: {name: array.compute().tolist() for name, array in of.items()} for t, of in graph.node_data.items()}
        found.append((edges, data))
    assert found[0] == found[1]
    assert found[0] != found[2]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(command, "--help") == 0
    assert f"daskgraphpart {command} " in capsys.readouterr().out


def test_the_module_runs_as_the_command_does() -> None:
    command = [sys.executable, "-m", "daskgraphpart", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"daskgraphpart, version {__version__}"


def test_parts_that_lack_a_type_are_warned_of_and_can_be_filled(
    graph: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert call("partition", graph, tmp_path / "a", "--num-parts", "600", "--quiet") == 0
    assert "own no node of type 'paper', which has features" in caplog.text
    caplog.clear()
    assert call("partition", graph, tmp_path / "b", "--num-parts", "600", "--fill-parts", "--quiet") == 0
    assert "which has features" not in caplog.text


def test_a_thousand_parts(graph: Path, tmp_path: Path) -> None:
    assert call("partition", graph, tmp_path / "out", "--num-parts", "1000", "--quiet") == 0
    assert call("verify", graph, tmp_path / "out", "--quiet") == 0


def test_progress_without_a_terminal_is_plain_log_lines(
    graph: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    assert call("partition", graph, tmp_path / "out", "--num-parts", "2") == 0
    assert "bucket-edges: " in caplog.text
    captured = capsys.readouterr()
    assert "\x1b" not in captured.out + captured.err + caplog.text
