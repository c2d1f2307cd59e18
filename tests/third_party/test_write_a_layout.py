"""A package of somebody else registers a layout: the first example of its page, installed by pip."""

from __future__ import annotations

import json
import pickle
import re
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch
from foreign_packages import call, install
from remote_stores import make_graph

import daskgraphpart as dgp

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory into which pip has installed the package."""
    return install("graphlearn_layout", tmp_path_factory)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("graph") / "graph"
    make_graph().write(directory, edge_format="csv", data_format="numpy")
    return directory


def load_partition(root: Path, part: int) -> dict[str, dict[str, np.ndarray]]:
    """What `graphlearn_torch.partition.load_partition` reads of a part, by directory and file."""
    meta = pickle.loads((root / "META").read_bytes())
    assert meta["data_cls"] == "hetero"
    groups = {
        **{f"graph/{'__'.join(etype)}": ("rows", "cols", "eids") for etype in meta["edge_types"]},
        **{f"node_feat/{ntype}": ("feats", "ids") for ntype in meta["node_types"]},
    }
    return {
        group: {name: torch.load(root / f"part{part}" / group / f"{name}.pt").numpy() for name in names}
        for group, names in groups.items()
        if (root / f"part{part}" / group / f"{names[0]}.pt").exists()
    }


def test_its_files_hold_the_partitions(installed: Path, graph: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    name = next(name for of_type in make_graph().node_data.values() for name in of_type)
    options = ("--num-parts", 3, "--method", "random", "--quiet", "--cluster", "threads")
    words = ("--layout", "dgl,graphlearn", "--graphlearn-feature", name, *options)
    done = call(installed, "partition", graph, out, *words)
    assert (done.returncode, done.stderr) == (0, "")
    parts, root = dgp.open_partitions(out), out / "graphlearn"
    assert json.loads((root / "graphlearn.json").read_text())["feature"] == name
    for kind, views in (("node", parts.nodes), ("edge", parts.edges)):
        for view in views.values():
            book = torch.load(root / f"{kind}_pb" / f"{view.name.replace(':', '__')}.pt")
            counts = [part.rows(kind).counts[view.name] for part in parts.parts]
            assert book.tolist() == np.repeat(np.arange(3), counts).tolist()
    loaded, seen = [load_partition(root, part) for part in range(3)], 0
    for etype in parts.etypes:
        edges = parts.edges[etype].frame(part=True).compute().reset_index(drop=True)
        for part, of_part in enumerate(loaded):
            found, mine = of_part[f"graph/{etype.replace(':', '__')}"], edges[edges.part == part]
            for file, expected in (("rows", mine.src), ("cols", mine.dst), ("eids", mine.index)):
                np.testing.assert_array_equal(found[file], expected)
    for ntype in parts.ntypes:
        if name in parts.nodes[ntype].data:
            for of_part in loaded:
                found = of_part[f"node_feat/{ntype}"]
                np.testing.assert_array_equal(found["feats"], parts.nodes[ntype].data[name][found["ids"]])
                seen += len(found["ids"])
    assert seen > 0
    again = call(installed, "partition", graph, out, "--layout", "graphlearn", *options, "--overwrite")
    assert (again.returncode, again.stderr) == (0, "")
    assert call(installed, "verify", out, "--checksums", "--quiet").returncode == 0


def test_its_option_is_in_the_help_and_its_errors_are_sentences(installed: Path, graph: Path, tmp_path: Path) -> None:
    shown = call(installed, "partition", "--help-all").stdout
    assert re.search(r"Layout graphlearn:\n +--graphlearn-feature TEXT", shown)
    assert "graphlearn" in shown.split("--layout")[1][:300]
    assert "graphlearn" not in call(tmp_path, "partition", "--help-all").stdout
    done = call(
        installed, "partition", graph, tmp_path / "out", "--num-parts", "1", "--layout", "graphlearn", "--quiet"
    )
    assert done.returncode == 2
    assert "GraphLearn needs several parts" in done.stderr
    done = call(installed, "plan", graph, "--num-parts", "2", "--layout", "ranks", "--graphlearn-feature", "x")
    assert done.returncode == 2
    assert "no such option of the layouts to write" in done.stderr


BROKEN = {
    "fails to import": ("import nothing_like_this", "cannot import the layout 'odd' of odd-layout 2.0"),
    "is no layout": ("Odd = dict", "the layout 'odd' of odd-layout 2.0 does not keep its contract"),
    "lacks methods": ("class Odd(Layout): pass", "found no descriptions, finish, part_files"),
    "raises": ("class Odd(Whole):\n    def wants(self, schema): return 1 / 0", "found ZeroDivisionError"),
    "writes elsewhere": (
        "class Odd(Whole):\n    def part_files(self, sizes, part): return {'dgl/x': raw_file_layout([])}",
        "at dgl/x",
    ),
}
WHOLE = """
from daskgraphpart.extension import Layout, description_of, raw_file_layout
class Whole(Layout):
    own_files = "x"
    def part_files(self, sizes, part): return {}
    def descriptions(self, schema): return (description_of("odd"),)
    def finish(self, graph): pass
"""


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_layout_is_one_sentence_and_the_rest_works(fault: str, graph: Path, tmp_path: Path) -> None:
    code, expected = BROKEN[fault]
    metadata = tmp_path / "odd_layout-2.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: odd-layout\nVersion: 2.0\n")
    (metadata / "entry_points.txt").write_text("[daskgraphpart.layouts]\nodd = odd_layout:Odd\n")
    (tmp_path / "odd_layout.py").write_text(f"{WHOLE}{code}\n")
    options = ("--num-parts", "2", "--method", "random", "--quiet", "--cluster", "threads")
    done = call(tmp_path, "partition", graph, tmp_path / "out", "--layout", "odd", *options)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert expected.lower() in line.lower()
    assert "odd-layout 2.0" in line
    assert call(tmp_path, "partition", graph, tmp_path / "out", "--layout", "ranks", *options).returncode == 0
