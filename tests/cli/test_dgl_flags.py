"""Command lines of DGL's scripts run here with the name of the command changed; what has no effect is said."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pytest
from commands import call, every_command
from graphs import file_hashes
from inside import group
from parmetis_programs import pm_dglpart2

from daskgraphpart.cli.dgl_options import DglOption

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).parents[2] / "docs" / "coming_from_dgl.md"

# all options of the scripts in github.com/dmlc/dgl, tools/, at 2.5; of convert_partition.py at 0.8
SCRIPTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "random_partition.py": ("assign", ("--in_dir", "--out_dir", "--num_partitions")),
    "dispatch_data.py": (
        "dispatch",
        (
            "--in-dir", "--metadata-filename", "--partitions-dir", "--out-dir", "--ip-config", "--master-port",
            "--log-level", "--python-path", "--ssh-port", "--process-group-timeout", "--save-orig-nids",
            "--save-orig-eids", "--use-graphbolt", "--store-inner-node", "--store-inner-edge", "--store-eids",
            "--graph-formats",
        ),
    ),
    "convert_partition.py": (
        "parmetis convert",
        (
            "--input-dir", "--graph-name", "--schema", "--num-parts", "--num-node-weights", "--workspace",
            "--node-attr-dtype", "--edge-attr-dtype", "--output", "--removed-edges",
        ),
    ),
    "verify_partitions.py": (
        "verify", ("--orig-dataset-dir", "--part-graph-dir", "--partitions-dir", "--log-level"),
    ),
    "parmetis_preprocess.py": (
        "parmetis write", ("--schema_file", "--input_dir", "--output_dir", "--num_parts", "--log_level"),
    ),
    "parmetis_postprocess.py": (
        "parmetis read", ("--postproc_input_dir", "--schema_file", "--parmetis_output_file", "--partitions_dir"),
    ),
}  # fmt: skip
ALL = [(script, command, flag) for script, (command, flags) in SCRIPTS.items() for flag in flags]
PLUGIN_OF = {"verify": "verification", "parmetis": "parmetis"}
NEEDS = {command: [] for command, plugin in PLUGIN_OF.items()}
MARKED = [pytest.param(*one, marks=NEEDS.get(one[1].split()[0], [])) for one in ALL]


def command_of(words: str) -> click.Command:
    found: Any = group
    for word in words.split():
        found = found.get_command(click.Context(found), word)
    assert isinstance(found, click.Command)
    return found


def option_of(words: str, flag: str) -> click.Option:
    spelled = flag.replace("_", "-")
    (option,) = (
        param for param in command_of(words).params if isinstance(param, click.Option) and spelled in param.opts
    )
    return option


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("flags") / "graph"
    sizes = ("--nodes", "2000", "--edges", "8000", "--features", "2")
    assert call("generate", directory, "--kind", "mag", *sizes, "--quiet") == 0
    return directory


@pytest.mark.parametrize(("script", "command", "flag"), MARKED)
def test_every_option_of_dgls_scripts_parses(script: str, command: str, flag: str, tmp_path: Path) -> None:
    option = option_of(command, flag)
    (tmp_path / "ips").touch()
    value = {"--log-level": "INFO", "--log_level": "CRITICAL", "--ip-config": str(tmp_path / "ips")}.get(flag, "1")
    words = [flag] if option.is_flag else [flag, value]
    more = ["--num-parts", "2"] if command == "assign" and "num" not in flag else []
    parent = click.Context(group, **group.context_settings)
    ctx = command_of(command).make_context(command, words + more, parent=parent)
    assert option.expose_value is False or str(ctx.params[str(option.name)]) in (value, "True")


def documented() -> Iterator[tuple[str, str, str, bool]]:
    """Options in the table of the documentation: script, command, option, whether it has no effect."""
    for line in PAGE.read_text().splitlines():
        if match := re.fullmatch(r"\| `(\w+\.py)` \| `([a-z ]+)` \| (`--.+?`) \|(.*)\|", line):
            for is_unused, cell in ((False, match[3]), (True, re.sub(r": .+?(;|$)", "", match[4]))):
                yield from ((match[1], match[2], flag, is_unused) for flag in re.findall(r"`(--[\w-]+)`", cell))


def test_the_table_in_the_documentation_lists_them_all() -> None:
    rows = list(documented())
    assert sorted(row[:3] for row in rows) == sorted(ALL)
    for _, command, flag, is_unused in rows:
        option = option_of(command, flag)
        assert (isinstance(option, DglOption) and not option.expose_value) == is_unused, flag


def test_no_script_but_the_listed_ones_has_options_here() -> None:
    found = {
        (param.script, " ".join(path), name)
        for path, command in every_command().items()
        for param in command.params
        if isinstance(param, DglOption)
        for name in param.opts
        if name.startswith("--")
    }
    assert found <= {(script, command, flag.replace("_", "-")) for script, command, flag in ALL}


def test_a_whole_pipeline_of_dgls_scripts(graph: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    owners, out, ips = tmp_path / "owners", tmp_path / "out", tmp_path / "ips.txt"
    ips.write_text("127.0.0.1\n127.0.0.2\n")
    assert call("assign", "--in_dir", graph, "--out_dir", owners, "--num_partitions", "4", "--method", "random") == 0
    caplog.clear()
    flags = [
        "--in-dir", graph, "--metadata-filename", "metadata.json", "--partitions-dir", owners, "--out-dir", out,
        "--ip-config", ips, "--master-port", "12345", "--log-level", "INFO", "--python-path", "/usr/bin/python3",
        "--ssh-port", "22", "--process-group-timeout", "1800", "--save-orig-nids", "--save-orig-eids",
        "--graph-formats", "coo,csc",
    ]  # fmt: skip
    assert call("dispatch", *flags, "--use-graphbolt") == 0
    assert (out / "part3" / "fused_csc_sampling_graph.pt").exists()
    assert call("dispatch", *flags, "--overwrite") == 0
    told = {
        record.message.partition(" is accepted")[0]: record.levelname
        for record in caplog.records
        if "no effect" in record.message
    }
    assert told == {
        "--master-port": "INFO", "--python-path": "INFO", "--ssh-port": "INFO", "--process-group-timeout": "INFO",
        "--save-orig-nids": "INFO", "--save-orig-eids": "INFO",
    }  # fmt: skip
    caplog.clear()
    where = ("--orig-dataset-dir", graph, "--part-graph-dir", out, "--partitions-dir", owners)
    assert call("verify", *where, "--log-level", "info") == 0
    assert "--partitions-dir is accepted and has no effect" in caplog.text


def test_the_scripts_of_dgl_tools_are_dgls_pipeline(graph: Path, tmp_path: Path) -> None:
    tools, owners, out, ips = (tmp_path / name for name in ("tools", "owners", "out", "ips.txt"))
    ips.write_text("127.0.0.1\n")
    assert call("dgl-tools", tools) == 0

    def run(script: str, *words: object) -> int:
        command = [sys.executable, tools / script, *words]
        return subprocess.run(
            [str(word) for word in command], cwd=tmp_path, capture_output=True, check=False
        ).returncode

    partition = ("--in_dir", graph, "--out_dir", owners, "--num_partitions", 2)
    assert run("partition_algo/random_partition.py", *partition) == 0
    assert run("partition_algo/random_partition.py", *partition) == 0  # replaces, as DGL's does
    meta = json.loads((owners / "partition_meta.json").read_text())
    assert meta == {"version": "1.0.0", "num_parts": 2, "algo_name": "random"}
    dispatch = ("--in-dir", graph, "--partitions-dir", owners, "--out-dir", out, "--ip-config", ips)
    assert run("dispatch_data.py", *dispatch, "--use-graphbolt", "--store-inner-node", "--layout", "dgl") == 0
    assert b"inner_node" in (out / "part1" / "fused_csc_sampling_graph.pt").read_bytes()
    assert run("dispatch_data.py", *dispatch, "--overwrite") == 0
    verify = ("--orig-dataset-dir", graph, "--part-graph-dir", out, "--partitions-dir", owners)
    assert run("verify_partitions.py", *verify) == 0
    with (out / "part0" / "node_feat.dgl").open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"?")
    assert run("verify_partitions.py", *verify) == 1


def test_the_scripts_around_parmetis(graph: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    shutil.copytree(graph, tmp_path / "in")
    (tmp_path / "in" / "metadata.json").rename(tmp_path / "in" / "other.json")
    pm, owners = tmp_path / "pm", tmp_path / "owners"
    before = ("--schema_file", "other.json", "--input_dir", tmp_path / "in", "--output_dir", pm, "--num_parts", "4")
    assert call("parmetis", "write", *before, "--log_level", "INFO") == 0
    assert "--num-parts is accepted and has no effect" in caplog.text
    pm_dglpart2(pm, "graph", 4, 2)
    after = ("--postproc_input_dir", tmp_path / "in", "--schema_file", "other.json")
    files = ("--parmetis_output_file", pm / "graph_part.4", "--partitions_dir", owners)
    assert call("parmetis", "read", *after, *files, "--quiet") == 0
    assert call("parmetis", "read", graph, pm / "graph_part.4", tmp_path / "same", "--quiet") == 0
    assert file_hashes(owners) == file_hashes(tmp_path / "same")


@pytest.mark.parametrize(
    "arguments",
    [
        ("verify", "a", "b", "--part-graph-dir", "c"),
        ("verify", "a", "--orig-dataset-dir", "c"),
        ("parmetis", "write", "a", "b", "--input_dir", "c"),
        ("parmetis", "read", "a", "b", "c", "--partitions_dir", "d"),
    ],
)
def test_a_path_is_given_once(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert call(*arguments) == 2
    told = capsys.readouterr().err
    assert "Give" in told and len(told.splitlines()) == 1


def test_convert_finds_the_name_of_the_graph(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("parmetis", "convert", tmp_path, tmp_path / "out") == 2
    assert (
        "--graph-name: cannot tell which graph is meant: expected one p000-GRAPH_NAME_nodes.txt, found none"
        in capsys.readouterr().err
    )
    for name in ("p000-a_nodes.txt", "p000-b_nodes.txt"):
        (tmp_path / name).touch()
    assert call("parmetis", "convert", tmp_path, tmp_path / "out") == 2
    assert "found a, b" in capsys.readouterr().err
    (tmp_path / "p000-b_nodes.txt").unlink()
    assert call("parmetis", "convert", tmp_path, tmp_path / "out") == 2
    assert "a.json" in capsys.readouterr().err  # the schema of that graph
