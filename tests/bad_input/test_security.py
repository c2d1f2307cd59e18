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
from bad_input.judge import ETYPE, Case, Server, judge, write_graph
from commands import call

import daskgraphpart as dgp
from daskgraphpart.dispatching.workspace import Workspace
from daskgraphpart.errors import GraphPartError
from daskgraphpart.storage.atomic import lasting_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PACKAGE = Path(dgp.__file__).parent

# ---------------------------------------------------------------------------------------------------------- nothing run

FORBIDDEN_CALLS = {
    "eval", "exec", "compile", "__import__", "os.system", "os.popen", "os.execv", "os.spawnv",
    "pickle.load", "pickle.loads", "marshal.load", "marshal.loads", "shelve.open", "torch.load", "joblib.load",
    "pd.read_pickle", "pandas.read_pickle", "yaml.load", "pyarrow.deserialize",
    "subprocess.getoutput", "subprocess.getstatusoutput", "tempfile.mktemp",
}  # fmt: skip
FORBIDDEN_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve", "joblib", "yaml"}


def calls() -> Iterator[tuple[Path, str, ast.Call]]:
    """All calls in the package, with their dotted names."""
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                yield path, ast.unparse(node.func), node


def keyword(node: ast.Call, name: str) -> Any:
    """Value of a keyword that is a constant."""
    found = [k.value.value for k in node.keywords if k.arg == name and isinstance(k.value, ast.Constant)]
    return found[0] if found else None


def test_the_package_evaluates_nothing() -> None:
    found = [(path.name, name, node) for path, name, node in calls() if name in FORBIDDEN_CALLS]
    assert [(path, name) for path, name, _ in found] == [("row_files.py", "torch.load")]
    assert keyword(found[0][2], "weights_only") is True, "nothing but tensors is unpickled"


def test_the_package_imports_no_module_that_unpickles() -> None:
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {name.split(".")[0] for name in names} & FORBIDDEN_MODULES, path


def test_arrays_are_loaded_without_pickles() -> None:
    for path, name, node in calls():
        if name in ("np.load", "numpy.load"):
            assert keyword(node, "allow_pickle") is False, path


def test_parquet_files_are_opened_in_one_place() -> None:
    questions = ("ParquetFile", "read_metadata", "read_schema", "read_parquet_table", "ParquetDataset")
    readers = {f"parquet.{name}" for name in questions} | {f"pq.{name}" for name in questions}
    ends = ("parquet.read_table", "pd.read_parquet")
    found = [path.name for path, name, _ in calls() if name in readers or name.endswith(ends)]
    assert found == ["open_parquet.py"]


def test_programs_are_started_without_a_shell() -> None:
    started = 0
    for path, name, node in calls():
        if name.startswith("subprocess."):
            started += 1
            assert not any(k.arg == "shell" for k in node.keywords), path
    assert started, "this looks at what there is"


# ------------------------------------------------------------------------------------------------------- pickles, zarr


class Trap:
    """Makes a directory when it is unpickled."""

    def __reduce__(self) -> Any:
        return os.mkdir, ("unpickled",)


@pytest.mark.parametrize("where", ["compressor", "filters"])
def test_pickles_in_zarr_arrays_are_not_loaded(
    where: str, tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    graph, owners = write_graph(tmp_path / "in"), tmp_path / "owners"
    (owners / "n.zarr").mkdir(parents=True)
    codec = {"id": "pickle", "protocol": 5}
    header = {"zarr_format": 2, "shape": [20], "chunks": [20], "dtype": "<i8", "order": "C", "fill_value": 0}
    header |= {
        "compressor": codec if where == "compressor" else None,
        "filters": [codec] if where == "filters" else None,
    }
    (owners / "n.zarr" / ".zarray").write_text(json.dumps(header))
    (owners / "n.zarr" / "0").write_bytes(pickle.dumps(Trap()))
    options = ("--num-parts", "2", "--quiet", "--method", owners)
    judge(server.run("partition", graph, tmp_path / "out", *options), Case("", str, ("n.zarr", "never loaded")))
    assert not (tmp_path / "unpickled").exists()


def test_pickles_in_assignments_are_not_loaded(tmp_path: Path, server: Server) -> None:
    graph, owners = write_graph(tmp_path / "in"), tmp_path / "owners"
    owners.mkdir()
    np.save(owners / "n.npy", np.array([Trap()] * 20, object), allow_pickle=True)
    options = ("--num-parts", "2", "--quiet", "--method", owners)
    judge(server.run("partition", graph, tmp_path / "out", *options), Case("", str, ("n.npy", "never loaded")))
    assert not os.path.exists("unpickled")


# ------------------------------------------------------------------------------------------------------------- confined


def relative(file: Path, outside: Path) -> None:
    """Named by a path with '..'."""
    edit(file, "../elsewhere/0-0.csv")
    assert outside.exists()


def absolute(file: Path, outside: Path) -> None:
    """Named by its absolute path."""
    edit(file, str(outside))


def linked(file: Path, outside: Path) -> None:
    """A link in its place."""
    file.unlink()
    file.symlink_to(outside)


def linked_directory(file: Path, outside: Path) -> None:
    """A link in the place of its directory."""
    shutil.rmtree(file.parent)
    file.parent.symlink_to(outside.parent)


def edit(file: Path, path: str) -> None:
    metadata = file.parent.parent / "metadata.json"
    content = json.loads(metadata.read_text())
    content["edges"][ETYPE]["data"][0] = path
    metadata.write_text(json.dumps(content))


LEAVE = [relative, absolute, linked, linked_directory]


def graph_with(leave: Callable[[Path, Path], None], tmp_path: Path) -> Path:
    graph = write_graph(tmp_path / "in")
    shutil.copytree(graph / "edges", tmp_path / "elsewhere")
    leave(graph / "edges" / "0-0.csv", tmp_path / "elsewhere" / "0-0.csv")
    return graph


@pytest.mark.parametrize("leave", LEAVE)
def test_a_confined_graph_reads_nothing_outside_its_directory(leave: Any, tmp_path: Path) -> None:
    graph = graph_with(leave, tmp_path)
    assert len(dgp.read_chunked(graph).edge_files[ETYPE]) == 2, "otherwise it is honoured"
    with pytest.raises(GraphPartError, match="leads out of the directory") as caught:
        dgp.read_chunked(graph, confined=True)
    assert str(tmp_path / "elsewhere" / "0-0.csv") in str(caught.value)
    assert f"edges.{ETYPE}.data" in str(caught.value)


def test_metadata_that_are_a_link_are_outside(tmp_path: Path) -> None:
    graph = write_graph(tmp_path / "in")
    (graph / "metadata.json").rename(tmp_path / "metadata.json")
    (graph / "metadata.json").symlink_to(tmp_path / "metadata.json")
    with pytest.raises(GraphPartError, match="leads out of the directory"):
        dgp.read_chunked(graph, confined=True)


def test_paths_that_stay_inside_are_honoured(tmp_path: Path) -> None:
    graph = write_graph(tmp_path / "in")
    edit(graph / "edges" / "0-0.csv", str(graph / "node_data" / ".." / "edges" / "0-0.csv"))
    (graph / "edges" / "0-1.csv").rename(graph / "real.csv")
    (graph / "edges" / "0-1.csv").symlink_to("../real.csv")
    (tmp_path / "link").symlink_to(graph)
    for path in (graph, tmp_path / "link", graph / "metadata.json"):
        assert dgp.read_chunked(path, confined=True).schema.num_edges == 50


@pytest.mark.parametrize(
    "command",
    [
        ("partition", "IN", "OUT", "--num-parts", "2"),
        ("assign", "IN", "OUT", "--num-parts", "2"),
        ("dispatch", "IN", "OWNERS", "OUT"),
        ("compare", "IN", "--parts", "2", "--methods", "random"),
        ("parmetis", "write", "IN", "OUT"),
        ("parmetis", "read", "IN", "OWNERS", "OUT"),
        ("verify", "IN", "OUT"),
        ("info", "IN"),
    ],
)
def test_every_command_that_reads_a_graph_can_be_confined(
    command: tuple[str, ...], tmp_path: Path, server: Server
) -> None:
    graph = graph_with(linked, tmp_path)
    words = {"IN": graph, "OUT": tmp_path / "out", "OWNERS": tmp_path / "owners"}
    found = server.run(*(words.get(word, word) for word in command), "--confined")
    judge(found, Case("", str, ("leads out of the directory", "elsewhere")))


PART_FILES = [f"part1/{name}.dgl" for name in ("graph", "node_feat", "edge_feat", "orig_nids", "orig_eids")]


@pytest.mark.parametrize("name", [*PART_FILES, "g.manifest.json"])
def test_confined_partitions_read_nothing_outside_their_directory(name: str, tmp_path: Path, server: Server) -> None:
    write_graph(tmp_path / "in")
    out = tmp_path / "out"
    assert call("partition", tmp_path / "in", out, "--num-parts", "2", "--quiet", "--method", "random") == 0
    assert dgp.open_partitions(out, confined=True).num_parts == 2
    (out / name).rename(tmp_path / "elsewhere")
    (out / name).symlink_to(tmp_path / "elsewhere")
    assert dgp.open_partitions(out).num_parts == 2
    with pytest.raises(GraphPartError, match="leads out of the directory") as caught:
        dgp.open_partitions(out, confined=True)
    assert str(tmp_path / "elsewhere") in str(caught.value)
    case = Case("", str, ("leads out of the directory", "elsewhere"))
    for command in (
        ("info", out),
        ("verify", tmp_path / "in", out),
        ("remap", out, out / "rows.npy", out / "moved.npy"),
    ):
        judge(server.run(*command, "--confined"), case)


# ----------------------------------------------------------------------------------------------------- temporary files


def test_temporary_directories_are_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("atexit.register", lambda *_, **__: None)
    directory = lasting_directory()
    assert directory.parent == tmp_path
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_a_workspace_in_a_shared_directory_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, shared = write_graph(tmp_path / "in"), tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    modes = []

    def look(path: Any, **_: Any) -> None:
        modes.extend(stat.S_IMODE(p.stat().st_mode) for p in shared.iterdir())

    monkeypatch.setattr("daskgraphpart.dispatching.workspace.Workspace.remove", look)
    previous = os.umask(0)
    try:
        call("partition", graph, tmp_path / "out", "--num-parts", "2", "--quiet", "--workspace", shared)
    finally:
        os.umask(previous)
    assert modes == [0o700]


def test_a_link_in_the_place_of_the_workspace_is_not_followed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph, shared, theirs = write_graph(tmp_path / "in"), tmp_path / "shared", tmp_path / "theirs"
    shared.mkdir()
    theirs.mkdir()
    Path(Workspace.of(tmp_path / "out", str(shared)).root).symlink_to(theirs)
    options = ("--num-parts", "2", "--quiet", "--workspace", shared)
    assert call("partition", graph, tmp_path / "out", *options) == 2
    assert ".daskgraphpart-work" in capsys.readouterr().err
    assert list(theirs.iterdir()) == []
