"""A package of somebody else registers a layout: the first example of its page, installed by pip."""

from __future__ import annotations

import importlib
import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from foreign_packages import call, install, run_suite
from graphs import Graph
from installed_copy import write_metadata
from remote_stores import make_graph

from daskgraphpart import EdgeType, GraphSchema, NodeType, open_partitions
from daskgraphpart.testing import LayoutSuite

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory into which pip has installed the package."""
    return install("graphlearn_layout", tmp_path_factory)


SUITE = """
from daskgraphpart.testing import LayoutSuite


class TestGraphLearn(LayoutSuite):
    layout = "graphlearn"
"""


class TestRanks(LayoutSuite):
    layout = "ranks"


class TestParquet(LayoutSuite):
    layout = "parquet"


class TestOnDisk(LayoutSuite):
    layout, num_parts = "ondisk", 1


@pytest.mark.long  # torch in each process
def test_the_example_passes_the_suite(installed: Path, tmp_path: Path) -> None:
    run_suite(installed, tmp_path, SUITE)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("graph") / "graph"
    make_graph().write(directory, edge_format="csv", data_format="numpy")
    return directory


@pytest.fixture(scope="module")
def load_partition() -> Iterator[Callable[[str, int], tuple[Any, ...]]]:
    """Load a part by GraphLearn's wheel, whose compiled part, like torch_sparse, is not needed for that."""
    wheel = Path(__file__).parents[2] / "build" / "graphlearn" / "graphlearn_torch"
    if not wheel.exists():
        pytest.skip("no graphlearn_torch: run `make graphlearn`")
    package = ModuleType("graphlearn_torch")
    package.__path__ = [str(wheel)]
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(sys.modules, "graphlearn_torch", package)
        patched.setitem(sys.modules, "torch_sparse", ModuleType("torch_sparse"))
        yield importlib.import_module("graphlearn_torch.partition").load_partition


def judge(loaded: list[tuple[Any, ...]], graph: Graph, root: Path, feature: str) -> None:
    """Compare what GraphLearn has loaded of all parts with the graph."""
    is_typed = graph.schema.is_heterogeneous
    orig, books = {}, {}
    for kind, types in (("node", graph.schema.node_types), ("edge", graph.schema.edge_types)):
        for of_type in types:
            below = f"/{of_type.name.replace(':', '__')}.pt" if is_typed else ".pt"
            of_parts = [torch.load(root / f"part{part}/orig_{kind[0]}ids{below}") for part in range(len(loaded))]
            orig[of_type.name] = torch.cat(of_parts).numpy()
            books[of_type.name] = np.repeat(np.arange(len(loaded)), [*map(len, of_parts)])
    for part, (num_parts, number, edges, node_feat, edge_feat, node_pb, edge_pb) in enumerate(loaded):
        assert (num_parts, number) == (len(loaded), part)
        for kinds, feats, pb, data in (
            (graph.schema.ntypes, node_feat, node_pb, graph.node_data),
            (graph.schema.etypes, edge_feat, edge_pb, graph.edge_data),
        ):
            keys = {name: tuple(name.split(":")) if ":" in name else name for name in kinds}
            having = [name for name in kinds if feature in data.get(name, {})]
            assert not is_typed or set(feats or ()) == {keys[name] for name in having}
            for name in kinds:
                np.testing.assert_array_equal(pb[keys[name]] if is_typed else pb, books[name])
            for name in having:
                found = feats[keys[name]] if is_typed else feats
                np.testing.assert_array_equal(found.ids, np.flatnonzero(books[name] == part))
                np.testing.assert_array_equal(found.feats, data[name][feature][orig[name][found.ids]])
        for of_type in graph.schema.edge_types:
            found = edges[tuple(of_type.name.split(":"))] if is_typed else edges
            np.testing.assert_array_equal(found.eids, np.flatnonzero(books[of_type.name] == part))
            ends = [orig[kind][ids] for kind, ids in zip((of_type.src, of_type.dst), found.edge_index, strict=True)]
            np.testing.assert_array_equal(
                ends, np.asarray(graph.edges[of_type.name])[:, orig[of_type.name][found.eids]]
            )
            np.testing.assert_array_equal(books[of_type.dst][found.edge_index[1]], part)


def test_graphlearn_itself_reads_the_partitions(
    installed: Path, tmp_path: Path, load_partition: Callable[[str, int], tuple[Any, ...]]
) -> None:
    typed = make_graph()
    knows = {"feat": np.arange(1000, dtype=np.float32).reshape(-1, 1)}
    typed = replace(typed, edge_data={**typed.edge_data, "user:knows:user": knows})
    schema = GraphSchema("plain", (NodeType("user", 300),), (EdgeType("user", "knows", "user", 1000),))
    plain = Graph(schema, {"user:knows:user": typed.edges["user:knows:user"]}, {"user": typed.node_data["user"]})
    out = tmp_path / "out"
    options = ("--layout", "graphlearn", "--num-parts", 3, "--method", "random", "--quiet", "--cluster", "threads")
    for name, graph in (("typed", typed), ("plain", plain)):
        done = call(installed, "partition", graph.write(tmp_path / name), out, *options, "--overwrite")
        assert (done.returncode, done.stderr) == (0, "")
        judge([load_partition(str(out / "graphlearn"), part) for part in range(3)], graph, out / "graphlearn", "feat")
    assert json.loads((out / "graphlearn" / "graphlearn.json").read_text())["feature"] == "feat"
    assert not (out / "graphlearn" / "node_pb").exists()  # of the graph that was overwritten
    assert call(installed, "verify", out, "--checksums", "--quiet").returncode == 0


def test_graphlearn_itself_reads_hot_rows(
    installed: Path, tmp_path: Path, load_partition: Callable[[str, int], tuple[Any, ...]], monkeypatch: Any
) -> None:
    monkeypatch.syspath_prepend(installed)
    typed, out = make_graph(), tmp_path / "out"
    schema = GraphSchema("plain", (NodeType("user", 300),), (EdgeType("user", "knows", "user", 1000),))
    plain = Graph(schema, {"user:knows:user": typed.edges["user:knows:user"]}, {"user": typed.node_data["user"]})
    options = ("--layout", "dgl,graphlearn", "--num-parts", 3, "--method", "random", "--quiet", "--cluster", "threads")
    for name, graph in (("typed", typed), ("plain", plain)):
        done = call(installed, "partition", graph.write(tmp_path / name), out, *options, "--overwrite")
        assert (done.returncode, done.stderr) == (0, "")
        assert not [*out.rglob("cache_*")]  # of the graph that was overwritten
        parts = open_partitions(out)
        importlib.import_module("graphlearn_layout").write_caches(parts, [5, 5], size="10%", batch_size=50)
        for part in parts.parts:
            feats = load_partition(str(out / "graphlearn"), part.part_id)[3]
            for ntype, nodes in part.hot_rows([5, 5], size="10%", batch_size=50, node_data=["feat"]).nodes.items():
                found = feats[ntype] if name == "typed" else feats
                assert nodes.ids.size > 0
                np.testing.assert_array_equal(found.cache_ids, nodes.ids)
                np.testing.assert_array_equal(found.cache_feats, parts.nodes[ntype].data["feat"][nodes.ids])
        assert call(installed, "verify", out, "--checksums", "--quiet").returncode == 0


def test_its_option_is_in_the_help_and_its_errors_are_sentences(installed: Path, graph: Path, tmp_path: Path) -> None:
    shown = call(installed, "partition", "--help-all").stdout
    assert re.search(r"Layout graphlearn:\n +--graphlearn-feature TEXT", shown)
    assert "graphlearn" in shown.split("--layout")[1][:300]
    done = call(
        installed, "partition", graph, tmp_path / "out", "--num-parts", "1", "--layout", "graphlearn", "--quiet"
    )
    assert done.returncode == 2
    assert "GraphLearn needs several parts" in done.stderr
    done = call(installed, "plan", graph, "--num-parts", "2", "--layout", "ranks", "--graphlearn-feature", "x")
    assert done.returncode == 2
    assert "no such option of the layouts to write" in done.stderr
    assert "graphlearn" not in call(tmp_path, "partition", "--help-all").stdout


BROKEN = {
    "fails to import": ("import nothing_like_this", "cannot import the layout"),
    "is no layout": ("Odd = dict", "does not keep its contract"),
    "lacks methods": ("class Odd(Layout): pass", "found no describe, descriptions, part_files"),
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
    def descriptions(self, graph_name): return (description_of("odd"),)
    def describe(self, graph): return {description_of("odd"): {}}
"""


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of packages with one broken layout each, named after its place in the table."""
    site = tmp_path_factory.mktemp("broken")
    for number, (code, _) in enumerate(BROKEN.values()):
        write_metadata(site, f"odd-{number}", "2.0", {"daskgraphpart.layouts": {f"odd{number}": f"odd_{number}:Odd"}})
        (site / f"odd_{number}.py").write_text(f"{WHOLE}{code}\n".replace('"odd"', f'"odd{number}"'))
    return site


WRITES = ("--num-parts", "2", "--method", "random", "--quiet", "--cluster", "threads", "--layout")


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_layout_is_one_sentence(fault: str, broken: Path, graph: Path, tmp_path: Path) -> None:
    number = [*BROKEN].index(fault)
    done = call(broken, "partition", graph, tmp_path / "out", *WRITES, f"odd{number}")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert BROKEN[fault][1].lower() in line.lower()
    assert f"odd-{number} 2.0" in line


def test_beside_broken_layouts_the_rest_works(broken: Path, graph: Path, tmp_path: Path) -> None:
    assert call(broken, "partition", graph, tmp_path / "out", *WRITES, "ranks").returncode == 0
