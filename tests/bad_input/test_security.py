"""Input from somebody else: nothing in it is run, and with `confined` nothing outside its directory is read."""

from __future__ import annotations

import ast
import json
import os
import pickle
import shutil
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from bad_input.judge import ETYPE, RANDOM, put, refused, run, write_graph
from bad_input.test_npy import Trap

import daskgraphpart as dgp
from daskgraphpart import GraphPartError
from daskgraphpart.dispatching.workspace import Workspace
from daskgraphpart.storage.scratch import lasting_directory

if TYPE_CHECKING:
    from collections.abc import Callable

OUTSIDE = "leads out of the directory"

# ---------------------------------------------------------------------------------------------------------- nothing run

FORBIDDEN_CALLS = {
    "eval", "exec", "compile", "__import__", "os.system", "os.popen", "os.execv", "os.spawnv",
    "pickle.load", "pickle.loads", "marshal.load", "marshal.loads", "shelve.open", "joblib.load",
    "cloudpickle.load", "cloudpickle.loads", "pd.read_pickle", "pandas.read_pickle", "yaml.load", "pyarrow.deserialize",
    "subprocess.getoutput", "subprocess.getstatusoutput", "tempfile.mktemp",
}  # fmt: skip
FORBIDDEN_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve", "joblib", "yaml"}
PARQUET_READERS = {
    f"{module}.{name}"
    for module in ("parquet", "pq")
    for name in ("ParquetFile", "read_metadata", "read_schema", "read_parquet_table", "ParquetDataset", "read_table")
} | {"pd.read_parquet"}


def test_nothing_in_the_package_runs_or_unpickles_what_it_reads() -> None:
    parquet_readers, num_programs = [], 0
    for path in Path(dgp.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            forbidden = FORBIDDEN_MODULES - ({"cloudpickle"} if path.name == "identify_collections.py" else set())
            assert not {module.split(".")[0] for module in modules} & forbidden, path
            if not isinstance(node, ast.Call):
                continue
            name, keywords = ast.unparse(node.func), {key.arg: ast.unparse(key.value) for key in node.keywords}
            assert name not in FORBIDDEN_CALLS, path
            if name in ("np.load", "numpy.load"):
                assert keywords.get("allow_pickle") == "False", path
            if name == "torch.load":
                assert keywords.get("weights_only") == "True", path
            if name in PARQUET_READERS:
                parquet_readers.append(path.name)
            if name.startswith("subprocess."):
                num_programs += 1
                assert "shell" not in keywords, path
    assert parquet_readers == ["read_parquet.py"], "limits are set in one place"
    assert num_programs, "this looks at what there is"


@pytest.mark.parametrize("where", ["compressor", "filters", "npy"])
def test_pickles_in_owners_are_not_loaded(where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    graph, owners = write_graph(tmp_path / "in"), tmp_path / "owners"
    if where == "npy":
        owners.mkdir()
        np.save(owners / "n.npy", np.array([Trap()] * 20, object), allow_pickle=True)
    else:
        (owners / "n.zarr").mkdir(parents=True)
        codec = {"id": "pickle", "protocol": 5}
        header = {"zarr_format": 2, "shape": [20], "chunks": [20], "dtype": "<i8", "order": "C", "fill_value": 0}
        codecs = {"compressor": None, "filters": None, where: codec if where == "compressor" else [codec]}
        (owners / "n.zarr" / ".zarray").write_text(json.dumps({**header, **codecs}))
        (owners / "n.zarr" / "0").write_bytes(pickle.dumps(Trap()))
    refused("partition", graph, tmp_path / "out", *RANDOM, "--method", owners, words=("owners/n.", "never loaded"))
    assert not (tmp_path / "unpickled").exists()


# ------------------------------------------------------------------------------------------------------------- confined


def named(path: Callable[[Path], str]) -> Callable[[Path, Path], None]:
    """Name a file outside of the graph in its metadata."""
    return lambda graph, outside: put("metadata.json", ("edges", ETYPE, "data", 0), path(outside))(graph)


def linked(graph: Path, outside: Path) -> None:
    (graph / "edges" / "0-0.csv").unlink()
    (graph / "edges" / "0-0.csv").symlink_to(outside)


def linked_directory(graph: Path, outside: Path) -> None:
    shutil.rmtree(graph / "edges")
    (graph / "edges").symlink_to(outside.parent)


def linked_metadata(graph: Path, outside: Path) -> None:
    (graph / "metadata.json").rename(outside.parent / "metadata.json")
    (graph / "metadata.json").symlink_to(outside.parent / "metadata.json")


def graph_with(leave: Callable[[Path, Path], None], tmp_path: Path) -> Path:
    graph = write_graph(tmp_path / "in")
    shutil.copytree(graph / "edges", tmp_path / "elsewhere")
    leave(graph, tmp_path / "elsewhere" / "0-0.csv")
    return graph


@pytest.mark.parametrize(
    ("leave", "words"),
    [
        (named(lambda _: "../elsewhere/0-0.csv"), ("elsewhere/0-0.csv", f"edges.{ETYPE}.data")),
        (named(str), ("elsewhere/0-0.csv", f"edges.{ETYPE}.data")),
        (linked, ("elsewhere/0-0.csv", f"edges.{ETYPE}.data")),
        (linked_directory, ("elsewhere/0-0.csv", f"edges.{ETYPE}.data")),
        (linked_metadata, ("metadata.json",)),
    ],
    ids=["relative", "absolute", "linked", "linked directory", "linked metadata"],
)
def test_a_confined_graph_reads_nothing_outside_its_directory(leave: Any, words: Any, tmp_path: Path) -> None:
    graph = graph_with(leave, tmp_path)
    assert dgp.read_chunked(graph).schema.num_edges == 50, "otherwise it is honoured"
    with pytest.raises(GraphPartError, match=OUTSIDE) as caught:
        dgp.read_chunked(graph, confined=True)
    assert all(word in str(caught.value) for word in words)


def test_paths_that_stay_inside_are_honoured(tmp_path: Path) -> None:
    graph = write_graph(tmp_path / "in")
    put("metadata.json", ("edges", ETYPE, "data", 0), str(graph / "node_data" / ".." / "edges" / "0-0.csv"))(graph)
    (graph / "edges" / "0-1.csv").rename(graph / "real.csv")
    (graph / "edges" / "0-1.csv").symlink_to("../real.csv")
    (tmp_path / "link").symlink_to(graph)
    for path in (graph, tmp_path / "link", graph / "metadata.json"):
        assert dgp.read_chunked(path, confined=True).schema.num_edges == 50


@pytest.mark.parametrize(
    "command",
    [
        "partition IN OUT --num-parts 2",
        "assign IN OUT --num-parts 2",
        "dispatch IN OWNERS OUT",
        "compare IN --num-parts 2 --methods random",
        "parmetis write IN OUT",
        "parmetis read IN OWNERS OUT",
        "verify IN OUT",
        "info IN",
    ],
)
def test_every_command_that_reads_a_graph_can_be_confined(command: str, tmp_path: Path) -> None:
    places = {"IN": graph_with(linked, tmp_path), "OUT": tmp_path / "out", "OWNERS": tmp_path / "owners"}
    refused(*(places.get(word, word) for word in command.split()), "--confined", words=(OUTSIDE, "elsewhere"))


PART_FILES = [f"part1/{name}.dgl" for name in ("graph", "node_feat", "edge_feat", "orig_nids", "orig_eids")]


@pytest.mark.parametrize("name", [*PART_FILES, "g.manifest.json"])
def test_confined_partitions_read_nothing_outside_their_directory(name: str, tmp_path: Path) -> None:
    graph, out = write_graph(tmp_path / "in"), tmp_path / "out"
    assert run("partition", graph, out, *RANDOM)[0] == 0
    assert dgp.open_partitions(out, confined=True).num_parts == 2
    (out / name).rename(tmp_path / "elsewhere")
    (out / name).symlink_to(tmp_path / "elsewhere")
    assert dgp.open_partitions(out).num_parts == 2
    for command in (("info", out), ("verify", graph, out), ("to-original", out, out / "rows.npy", out / "moved.npy")):
        refused(*command, "--confined", words=(OUTSIDE, str(tmp_path / "elsewhere")))


# ----------------------------------------------------------------------------------------------------- temporary files


def test_temporary_directories_are_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("atexit.register", lambda *_, **__: None)
    directory = lasting_directory()
    assert directory.parent == tmp_path
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_a_workspace_in_a_shared_directory_is_private(tmp_path: Path) -> None:
    graph, shared = write_graph(tmp_path / "in"), tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    previous = os.umask(0)
    try:
        run("partition", graph, tmp_path / "out", *RANDOM, "--workspace", shared, "--keep-workspace")
    finally:
        os.umask(previous)
    assert [stat.S_IMODE(path.stat().st_mode) for path in shared.iterdir()] == [0o700]


def test_a_link_in_the_place_of_the_workspace_is_not_followed(tmp_path: Path) -> None:
    graph, shared, theirs = write_graph(tmp_path / "in"), tmp_path / "shared", tmp_path / "theirs"
    shared.mkdir()
    theirs.mkdir()
    Path(Workspace.of(tmp_path / "out", str(shared)).root).symlink_to(theirs)
    refused("partition", graph, tmp_path / "out", *RANDOM, "--workspace", shared, words=(".daskgraphpart-work",))
    assert list(theirs.iterdir()) == []
