"""`verify` on small graphs of every shape: any flipped bit is found, any order of rows is right; and the command."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import corruptions as c
import numpy as np
import pytest
from commands import call
from graphs import Graph, file_hashes
from hypothesis import assume, given
from hypothesis import strategies as st
from inside import DispatchOptions, Resources
from keywords import spelled
from strategies import graphs

import daskgraphpart as dgp
from daskgraphpart import EdgeType, GraphSchema, NodeType, verify
from daskgraphpart.errors import LayoutError, OptionError
from daskgraphpart.layouts.manifest_reader import find_manifest, read_manifest
from daskgraphpart.storage.checksums import hash_bytes, hash_file

if TYPE_CHECKING:
    from inside import Region

RESOURCES = Resources(1 << 30, "threads", 2)
SMALL = Resources(17 << 20, "sync", 1)
OPTIONS = st.builds(
    DispatchOptions,
    num_hops=st.sampled_from((1, 1, 2)),
    graph_formats=st.sampled_from((("coo",), ("csc",), ("csr",), ("coo", "csc"), ("coo", "csr", "csc"))),
    out_edges=st.booleans(),
)


def regions_of(parts: dgp.PartitionedGraph) -> list[Region]:
    """Where all data of the partitions are."""
    found = []
    for part in parts.parts:
        graph = part.graph
        found += [region for of in graph.formats.values() for region in of.values()]
        found += [*graph.node_arrays.values(), *graph.edge_arrays.values()]
        found += [*part.node_rows.originals.values(), *part.edge_rows.originals.values()]
        for of_kind in (part.node_rows.features, part.edge_rows.features):
            found += [region for of in of_kind.values() for region in of.values()]
    return [region for region in found if region.nbytes]


@given(graph=graphs(), options=OPTIONS, num_parts=st.sampled_from((1, 2, 5)), choice=st.randoms(use_true_random=False))
def test_any_flipped_bit_of_the_data_is_found_without_checksums(graph, options, num_parts, choice) -> None:
    assume(graph.schema.num_nodes >= num_parts)
    with tempfile.TemporaryDirectory() as root:
        source, out = graph.write(Path(root) / "in"), Path(root) / "out"
        dgp.partition(source, out, num_parts, method="random", **spelled(options), **spelled(RESOURCES))
        assert verify(source, out, **spelled(RESOURCES)).findings == ()
        for region in choice.sample(found := regions_of(dgp.open_partitions(out)), min(3, len(found))):
            offset, mask = region.offset + choice.randrange(region.nbytes), 1 << choice.randrange(8)
            c.flip(Path(region.path), offset, mask)
            assert not verify(source, out, checksums=False, **spelled(RESOURCES)).ok, (region, offset, mask)
            c.flip(Path(region.path), offset, mask)


@given(graph=graphs(), seed=st.integers(0, 1000))
def test_the_order_inside_a_part_and_type_does_not_matter(graph, seed) -> None:
    """Edges of each (part, type) change places, as those of DGL's tools have any."""
    assume(graph.schema.num_nodes >= 3)
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as root:
        source, out = graph.write(Path(root) / "in"), Path(root) / "out"
        dgp.partition(source, out, 3, method="random", **spelled(RESOURCES))
        for part in dgp.open_partitions(out).parts:
            first = int(part.book.edge_ranges[part.part_id, 0, 0]) if part.book.etypes else 0
            for type_id, etype in enumerate(part.book.etypes):
                start, stop = (part.book.edge_ranges[part.part_id, type_id] - first).tolist()
                order = rng.permutation(stop - start)
                regions = [part.edge_rows.originals[etype], *part.edge_rows.features.get(etype, {}).values()]
                for region in regions:
                    region.write(region.read()[order], 0)
                for region in part.graph.formats["coo"].values():
                    region.write(region.read(start, stop)[order], start)
        assert verify(source, out, checksums=False, **spelled(SMALL)).findings == ()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph in `in`, its partitions in `out`."""
    root = tmp_path_factory.mktemp("made")
    rng = np.random.default_rng(0)
    schema = GraphSchema(
        "g", (NodeType("u", 60), NodeType("v", 40)), (EdgeType("u", "likes", "v", 200), EdgeType("v", "of", "u", 150))
    )
    edges = {
        "u:likes:v": (rng.integers(0, 60, 200), rng.integers(0, 40, 200)),
        "v:of:u": (rng.integers(0, 40, 150), rng.integers(0, 60, 150)),
    }
    graph = Graph(schema, edges, {"u": {"x": rng.random(60)}}, {"u:likes:v": {"w": rng.random((200, 2))}})
    graph.write(root / "in", edge_format="csv")
    dgp.partition(root / "in", root / "out", 2, method="random", **spelled(RESOURCES))
    return root


def test_partitions_as_dgl_0_9_writes_them_are_compared_by_the_ids_in_the_graph(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made / "out", tmp_path / "out")
    c.Damaged(tmp_path / "out").as_dgl_0_9_wrote_it()
    report = verify(made / "in", tmp_path / "out", **spelled(RESOURCES))
    assert report.findings == ()
    assert len(report.notes) == 1 and "no checksums" in report.notes[0]
    region = dgp.open_partitions(tmp_path / "out").part(0).edge_rows.originals["v:of:u"]
    c.put(region, 0, int(region.read()[1]))
    assert not verify(made / "in", tmp_path / "out", **spelled(RESOURCES)).ok


def test_the_manifest_lists_every_file_with_size_and_checksum(made: Path) -> None:
    path = find_manifest(made / "out", "g")
    assert path is not None
    manifest = read_manifest(path)
    assert manifest.content["version"] == 2
    assert manifest.files is not None
    on_disk = {name for name in file_hashes(made / "out") if name != "g.manifest.json"}
    assert set(manifest.files) == on_disk
    for name, expected in manifest.files.items():
        content = (made / "out" / name).read_bytes()
        assert expected == hash_file(str(made / "out" / name)) == hash_bytes(content)
        assert expected.nbytes == len(content)


def test_what_is_not_compared_of_layouts_without_files_of_dgl_is_said(made: Path, tmp_path: Path) -> None:
    how = spelled(RESOURCES)
    dgp.partition(made / "in", tmp_path / "two", 2, method="random", layout=["dgl", "ranks"], **how)
    said = "ranks: compared {} of files, and no data with the input".format
    assert verify(made / "in", tmp_path / "two", **how).notes == (said("checksums"),)
    assert verify(made / "in", tmp_path / "two", checksums=False, **how).notes == (said("sizes"),)
    dgp.partition(made / "in", tmp_path / "ranks", 2, method="random", layout=["ranks"], **how)
    with pytest.raises(LayoutError, match="leave out the graph, and add checksums: that compares files"):
        verify(made / "in", tmp_path / "ranks", **how)
    assert verify(None, tmp_path / "ranks", **how).ok


def test_manifests_of_version_1_have_no_checksums(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made / "out", tmp_path / "out")
    path = tmp_path / "out" / "g.manifest.json"
    content = json.loads(path.read_text())
    del content["files"], content["checksum"], content["digest"]
    path.write_text(json.dumps({**content, "version": 1}))
    report = verify(made / "in", tmp_path / "out", **spelled(RESOURCES))
    assert report.ok
    assert len(report.notes) == 1 and "no checksums" in report.notes[0]
    with pytest.raises(LayoutError, match="no checksums"):
        verify(None, tmp_path / "out", **spelled(RESOURCES))


PROGRAM = """
import sys
import daskgraphpart as dgp
assert dgp.verify(sys.argv[1], sys.argv[2], memory="64MB", workers=2).ok
# not getrusage, whose peak is inherited from the process that started this one
print(next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.mark.memory
def test_peak_memory_does_not_grow_with_edges(tmp_path: Path) -> None:
    peaks = []
    for edges in ("1e5", "1e6"):
        graph, out = tmp_path / edges, tmp_path / f"out-{edges}"
        assert call("generate", graph, "--nodes", "5e4", "--edges", edges, "--features", "8", "--quiet") == 0
        assert call("partition", graph, out, "--num-parts", "4", "--method", "random", "--quiet") == 0
        command = [sys.executable, "-c", PROGRAM, str(graph), str(out)]
        if not peaks:
            subprocess.run(command, check=True, capture_output=True)  # compiles the kernels
        peaks.append(int(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    assert peaks[1] - peaks[0] < 64_000_000, peaks  # the small one does not use up its budget of 64 MB


def test_verify_leaves_nothing_behind(made: Path, tmp_path: Path) -> None:
    before = file_hashes(made)
    assert verify(made / "in", made / "out", memory=1 << 30, workspace=str(tmp_path / "work")).ok
    report = verify(made / "in", made / "out", **spelled(RESOURCES))
    assert repr(report) == "<verify: 100 nodes, 350 edges and 260 feature rows match the input (11 checksums)>"
    assert str(report) == "OK: 100 nodes, 350 edges and 260 feature rows match the input (11 checksums)"
    assert file_hashes(made) == before
    assert not any((tmp_path / "work").iterdir())


@pytest.mark.parametrize("sample", [0, -1, 1.5])
def test_a_sample_is_a_share(sample: float, made: Path) -> None:
    with pytest.raises(OptionError, match="is not a share"):
        verify(made / "in", made / "out", sample=sample)


def test_the_command_compares_and_says_so(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("verify", made / "in", made / "out") == 0
    assert "OK: 100 nodes, 350 edges and 260 feature rows match the input (11 checksums" in capsys.readouterr().out
    assert call("verify", made / "in", made / "out", "--no-checksums", "--sample", "0.5") == 0
    assert "130 feature rows match the input (1 checksum, " in capsys.readouterr().out
    assert call("verify", made / "in", made / "out", "--quick") == 0
    assert "headers only" in capsys.readouterr().out
    assert call("verify", made / "out", "--checksums") == 0
    assert "OK: 11 checksums match (" in capsys.readouterr().out


def test_the_command_ends_with_1_where_something_is_wrong(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(made / "out", tmp_path / "out")
    c.flip(tmp_path / "out" / "part1" / "node_feat.dgl", -1)
    for arguments in ((made / "in", tmp_path / "out"), (tmp_path / "out", "--checksums")):
        assert call("verify", *arguments) == 1
        assert "checksums: part1/node_feat.dgl: checksum: expected" in capsys.readouterr().out
    assert call("verify", made / "in", tmp_path / "out", "--no-checksums") == 1
    assert "features: part1/node_feat.dgl: u/x: row" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("in", "nowhere"), "no such file or directory"),
        (("in", "in"), "no partition config"),
        (("nowhere", "out"), "nowhere"),
        (("out",), "Missing GRAPH"),
        (("nowhere", "--checksums"), "no such file or directory"),
        (("in", "--checksums"), "no partition config"),
        (("in", "out", "out"), "Give GRAPH and OUT"),
        (("in", "out", "--sample", "2"), "--sample 2.0 is not a share"),
        ((), "Missing OUT"),
    ],
)
def test_the_command_ends_with_2_where_it_cannot_be_meant(
    arguments: tuple[str, ...], says: str, made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [made / word if word in ("in", "out", "nowhere") else word for word in arguments]
    assert call("verify", *given) == 2
    error = capsys.readouterr().err
    assert says in error
    assert "Traceback" not in error
