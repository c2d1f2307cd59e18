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
    assert "3 parts in" in capsys.readouterr().out
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
    how = ("--num-parts", "3", "--method", "metis", "--quiet")  # the method that DGL's own files tell
    assert call("assign", graph, owners, *how, *(() if form == "txt" else ("--form", form))) == 0
    for path in owners.iterdir():
        if form != "txt" and path.suffix == ".txt":
            path.unlink()  # the binary form alone
        elif form == "txt" and path.suffix == ".npy":
            path.unlink()
    if form == "txt":
        (owners / "assignment.json").unlink()  # as DGL's own step 1 leaves it
    assert call("dispatch", graph, owners, tmp_path / "out", "--quiet") == 0
    assert call("partition", graph, tmp_path / "expected", *how) == 0
    expected, found = file_hashes(tmp_path / "expected"), file_hashes(tmp_path / "out")
    assert found == expected


def test_scripts_written_for_dgls_tools_run(graph: Path, tmp_path: Path) -> None:
    owners, out = tmp_path / "owners", tmp_path / "out"
    assert call("assign", "--in_dir", graph, "--out_dir", owners, "--num_partitions", "4", "--quiet") == 0
    assert json.loads((owners / "partition_meta.json").read_text()) == {
        "version": "1.0.0",
        "num_parts": 4,
        "algo_name": "metis",
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


@pytest.mark.parametrize("data_format", ["numpy", "parquet"])
@pytest.mark.parametrize("edge_format", ["csv", "numpy", "parquet"])
@pytest.mark.parametrize("kind", ["rmat", "mag"])
def test_generated_graphs_of_every_format_go_the_whole_way(
    kind: str, edge_format: str, data_format: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph, owners = tmp_path / "graph", tmp_path / "owners"
    formats = ("--edge-format", edge_format, "--data-format", data_format, "--num-chunks", "2")
    tiny = ("--nodes", "200", "--edges", "900", "--features", "3", "--labels")
    assert call("generate", graph, "--kind", kind, *tiny, *formats) == 0
    assert f"ChunkedGraph {kind!r}" in capsys.readouterr().out
    assert call("info", graph / "metadata.json") == 0
    assert call("assign", graph, owners, "--num-parts", "3", "--quiet") == 0
    assert call("dispatch", graph, owners, tmp_path / "two", "--quiet") == 0
    assert call("partition", graph, tmp_path / "one", "--num-parts", "3", "--quiet") == 0
    assert file_hashes(tmp_path / "one") == file_hashes(tmp_path / "two")
    for out in ("one", "two"):
        assert call("verify", graph, tmp_path / out, "--quiet") == 0


def test_formats_of_the_input_do_not_change_the_partitions(tmp_path: Path) -> None:
    found = []
    for edge_format, data_format, chunks in (("csv", "parquet", 1), ("numpy", "numpy", 3), ("parquet", "parquet", 2)):
        graph, out = tmp_path / f"graph-{edge_format}", tmp_path / f"out-{edge_format}"
        formats = ("--edge-format", edge_format, "--data-format", data_format, "--num-chunks", str(chunks))
        assert call("generate", graph, "--kind", "mag", "--features", "4", *SIZES, *formats) == 0
        assert call("partition", graph, out, "--num-parts", "2", "--quiet") == 0
        found.append(file_hashes(out))
    assert found[0] == found[1] == found[2]


def test_outputs_are_replaced_only_with_overwrite(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph, owners, out = tmp_path / "graph", tmp_path / "owners", tmp_path / "out"
    tiny = ("--nodes", "100", "--edges", "300", "--quiet")
    commands = [
        (("generate", graph, *tiny, "--seed", "1"), ("generate", graph, *tiny, "--seed", "2")),
        (("dispatch", graph, owners, out, "--quiet"), ("dispatch", graph, owners, out, "--quiet", "--out-edges")),
    ]
    for first, second in commands:
        directory = graph if first[0] == "generate" else out
        assert call(*first) == 0
        before = file_hashes(directory)
        assert call(*second) == 2
        assert "--overwrite" in capsys.readouterr().err
        assert file_hashes(directory) == before
        assert call(*second, "--overwrite") == 0
        assert file_hashes(directory) != before
        if first[0] == "generate":
            assert call("assign", graph, owners, "--num-parts", "2", "--quiet") == 0
    assert call("verify", graph, out, "--quiet") == 0


def test_seeds_reproduce_and_differ(graph: Path, tmp_path: Path) -> None:
    found = {}
    for name, seed in (("a", "7"), ("b", "7"), ("c", "8")):
        assert call("assign", graph, tmp_path / name, "--num-parts", "4", "--seed", seed, "--quiet") == 0
        found[name] = {path.name: path.read_bytes() for path in (tmp_path / name).glob("*.txt")}
    assert found["a"] == found["b"]
    assert all(found["a"][name] != found["c"][name] for name in found["a"])
    assert {int(line) for text in found["a"].values() for line in text.split()} == {0, 1, 2, 3}


def test_the_metadata_of_a_dgl_dispatch_opens_and_shows(
    graph: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    owners, out = tmp_path / "owners", tmp_path / "out"
    assert call("assign", "--in-dir", graph, "--out-dir", owners, "--num-partitions", "2", "--quiet") == 0
    assert call("dispatch", "--in-dir", graph, "--partitions-dir", owners, "--out-dir", out, "--quiet") == 0
    assert sorted(path.name for path in out.glob("*.json") if "manifest" not in path.name) == ["metadata.json"]
    assert json.loads((out / "metadata.json").read_text())["num_parts"] == 2
    assert call("info", out) == 0
    assert "PartitionedGraph 'mag': 2 parts" in capsys.readouterr().out


@pytest.mark.parametrize("command", [("assign", "--num-parts", "2"), ("dispatch",)])
def test_a_directory_is_given_once(
    command: tuple[str, ...], graph: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ("--in-dir", graph, "--out-dir", tmp_path / "x")
    assert call(*command, graph, tmp_path / "y", *flags) == 2
    assert "Give only one IN_DIR" in capsys.readouterr().err
    assert call(*command) == 2
    assert "Missing IN_DIR" in capsys.readouterr().err
    assert not (tmp_path / "x").exists() and not (tmp_path / "y").exists()


@pytest.mark.parametrize("flag", ["--help", "-h", "--version"])
def test_the_command_itself_tells_what_there_is(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(flag) == 0
    out = capsys.readouterr().out
    if flag == "--version":
        assert out.strip() == f"daskgraphpart, version {__version__}"
    else:
        assert all(f"  {command} " in out for command in COMMANDS)


def test_an_unknown_command_is_a_mistake_of_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("shuffle") == 2
    assert "No such command 'shuffle'" in capsys.readouterr().err


def test_quiet_is_silent(graph: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert call("partition", graph, tmp_path / "out", "--num-parts", "2", "--quiet") == 0
    assert call("verify", graph, tmp_path / "out", "--quiet") == 0
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "more",
    [
        ("--workers", "1"),
        ("--memory", "40MB"),
        ("--cluster", "sync"),
        ("--staging", "zarr"),
        ("--staging", "in-place"),
    ],
)
def test_resources_change_no_byte(more: tuple[str, ...], graph: Path, tmp_path: Path) -> None:
    for name, options in (("a", ()), ("b", (*more, "--workspace", tmp_path / "work"))):
        assert call("partition", graph, tmp_path / name, "--num-parts", "3", "--quiet", *options) == 0
    assert file_hashes(tmp_path / "a") == file_hashes(tmp_path / "b")
    assert not [path for path in (tmp_path / "work").rglob("*") if path.is_file()]


@pytest.mark.parametrize("name", ["col", "node_feat", "orig_nids"])
def test_verify_names_the_part_and_the_row_of_a_flipped_byte(
    name: str, graph: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert call("partition", graph, out, "--num-parts", "2", "--quiet") == 0
    part = open_partitions(out).part(0)
    region = {
        "col": lambda: part.graph.formats["coo"]["col"],
        "node_feat": lambda: part.node_regions["paper"]["feat"],
        "orig_nids": lambda: part.orig_nid_regions["paper"],
    }[name]()
    path = out / "part0" / ("graph.dgl" if name == "col" else f"{name}.dgl")
    content = bytearray(path.read_bytes())
    content[region.offset + 2 * region.row_nbytes] ^= 1
    path.write_bytes(content)
    assert call("verify", graph, out) == 1
    found = capsys.readouterr().out.splitlines()
    assert found[-1].endswith("things are wrong")
    expected = {
        "col": "part0/graph.dgl",
        "node_feat": "part0/node_feat.dgl: paper/feat: row 2",
        "orig_nids": "orig_nids",
    }
    assert any(expected[name] in line for line in found), found
