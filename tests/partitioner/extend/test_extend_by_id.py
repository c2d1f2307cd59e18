"""Graphs with maps of IDs that have changed: old nodes are those of the same original ID, wherever they are now."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from commands import call
from graphs import Graph
from inside import AssignOptions, DispatchOptions, Resources
from keywords import spelled
from listeners import Listener, Stopped

import daskgraphpart as dgp
from daskgraphpart import EdgeType, GraphPartError, GraphSchema, NodeType, read_id_map
from daskgraphpart import assign as run_assign
from daskgraphpart.errors import AssignmentError, InputFileError, InputFileNotFoundError, OptionError
from daskgraphpart.ids.id_map import write_id_map

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PARTS = 3
OLD = {"user": 600, "item": 150}
REMOVED_KEYWORDS = {"user": 40, "item": 0}
NEW = {"user": 90, "item": 30}
NUM_EDGES = 4_000


def names_of(ntype: str, count: int) -> list[str]:
    """IDs in no order: those of new nodes sort between those of old ones."""
    rng = np.random.default_rng(len(ntype))
    return [f"{ntype}-{number:06x}" for number in rng.choice(1 << 24, count, replace=False)]


def write_graph(root: Path, ids: Mapping[str, Any]) -> Path:
    """Write communities, which follow the IDs, and the maps of these IDs."""
    rng, edges, types = np.random.default_rng(1), {}, []
    for src_type, dst_type in (("user", "user"), ("user", "item")):
        src = rng.integers(0, len(ids[src_type]), NUM_EDGES)
        dst = rng.integers(0, len(ids[dst_type]), NUM_EDGES)
        groups = [np.array([hash_of(i) % 6 for i in ids[t]]) for t in (src_type, dst_type)]
        kept = (groups[0][src] == groups[1][dst]) | (rng.random(NUM_EDGES) < 0.1)
        edges[f"{src_type}:to:{dst_type}"] = src[kept], dst[kept]
        types.append(EdgeType(src_type, "to", dst_type, int(kept.sum())))
    schema = GraphSchema("g", tuple(NodeType(t, len(of_type)) for t, of_type in ids.items()), tuple(types))
    Graph(schema, edges).write(root)
    for ntype, of_type in ids.items():
        write_map(root, ntype, of_type)
    return root


def hash_of(name: str | int) -> int:
    return int(str(name)[-6:], 16)


def write_map(root: Path, ntype: str, ids: Any) -> None:
    (root / "id_map").mkdir(exist_ok=True)
    write_id_map(root / "id_map" / f"{ntype}.parquet", [pa.array(ids)], is_text=isinstance(ids[0], str))


@pytest.fixture(scope="module")
def ids() -> dict[str, dict[str, list[str]]]:
    found: dict[str, dict[str, list[str]]] = {"old": {}, "new": {}}
    for ntype, count in OLD.items():
        names = names_of(ntype, count + NEW[ntype])
        found["old"][ntype] = sorted(names[:count])
        found["new"][ntype] = sorted(names[REMOVED_KEYWORDS[ntype] :])
    return found


@pytest.fixture(scope="module")
def directory(ids: dict[str, dict[str, list[str]]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Graphs `old`, `new`, and `shuffled`, which is `new` in another order; owners and partitions of `old`."""
    root = tmp_path_factory.mktemp("by-id")
    for name, of_graph in ids.items():
        write_graph(root / name, of_graph)
    rng = np.random.default_rng(2)
    write_graph(root / "shuffled", {t: rng.permutation(of_type).tolist() for t, of_type in ids["new"].items()})
    dgp.assign(root / "old", PARTS, out=root / "owners")
    layout = DispatchOptions(layout=("dgl",))
    dgp.dispatch(root / "old", root / "owners", root / "parts", **spelled(layout))
    return root


def owners_by_id(graph: Path, owners: Path) -> dict[str, int]:
    found: dict[str, int] = {}
    for ntype in OLD:
        known = read_id_map(graph, ntype)["id"].compute(scheduler="sync")
        found |= dict(zip(known, np.load(owners / f"{ntype}.npy").tolist(), strict=True))
    return found


def extended(root: Path, out: Path, graph: str = "new", old: str = "owners", **how: Any) -> str:
    resources = how.pop("resources", None)
    method = AssignOptions(extend=str(root / old), **how)
    report = dgp.assign(root / graph, PARTS, **spelled(method), out=out, **spelled(resources)).quality
    assert report is not None
    return report.method


SUMMARY = "extend (710 old nodes matched by ID, 40 gone, 120 new; 0 moved)"


@pytest.mark.parametrize("old", ["owners", "parts"])
@pytest.mark.parametrize("graph", ["new", "shuffled"])
def test_nodes_keep_their_parts_by_original_id(graph: str, old: str, directory: Path, tmp_path: Path) -> None:
    resources = Resources(64 << 20, "threads", 2)
    assert extended(directory, tmp_path / "out", graph, old, resources=resources) == SUMMARY
    before = owners_by_id(directory / "old", directory / "owners")
    after = owners_by_id(directory / graph, tmp_path / "out")
    common = before.keys() & after.keys()
    assert len(common) == 710
    assert {name: after[name] for name in common} == {name: before[name] for name in common}


def test_partitions_are_made_beside_old_ones_and_extended_again(directory: Path, tmp_path: Path) -> None:
    dgp.partition(directory / "new", tmp_path / "parts", PARTS, extend=directory / "parts")
    again = AssignOptions(extend=str(tmp_path / "parts"))
    report = dgp.assign(directory / "shuffled", PARTS, **spelled(again)).quality
    assert report is not None
    assert report.method == "extend (830 old nodes matched by ID, 0 gone, 0 new; 0 moved)"


def test_the_commands_say_how_many_nodes_were_found_again(
    directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in ("assign", "partition"):
        given = ("--num-parts", PARTS, "--extend", directory / "owners")
        assert call(command, directory / "new", tmp_path / command, *given) == 0
        assert SUMMARY in capsys.readouterr().out


def test_integers_are_matched_as_strings_are(tmp_path: Path) -> None:
    old, new = ({"a": sorted(hash_of(name) for name in names_of("a", 300)[part])} for part in (slice(200), slice(300)))
    for name, ids in (("old", old), ("new", new)):
        edges = {"a:to:a": (np.zeros(1, int), np.ones(1, int))}
        schema = GraphSchema("g", (NodeType("a", len(ids["a"])),), (EdgeType("a", "to", "a", 1),))
        Graph(schema, edges).write(tmp_path / name)
        write_map(tmp_path / name, "a", ids["a"])
    dgp.assign(tmp_path / "old", 2, method="random", out=tmp_path / "owners")
    options = AssignOptions(extend=str(tmp_path / "owners"))
    after = dgp.assign(tmp_path / "new", 2, **spelled(options)).owners["a"].compute()
    before = dict(zip(old["a"], np.load(tmp_path / "owners" / "a.npy"), strict=True))
    assert [part for name, part in zip(new["a"], after, strict=True) if name in before] == list(before.values())


def copied(directory: Path, tmp_path: Path, *names: str) -> Path:
    for name in names:
        shutil.copytree(directory / name, tmp_path / name)
    return tmp_path


def test_a_type_without_maps_is_matched_by_row(directory: Path, tmp_path: Path) -> None:
    root = copied(directory, tmp_path, "old", "new")
    for name in ("old", "new"):
        (root / name / "id_map" / "item.parquet").unlink()
    dgp.assign(root / "old", PARTS, method=str(directory / "owners"), out=root / "owners")
    assert extended(root, root / "out") == "extend (710 old nodes matched by ID or row, 40 gone, 120 new; 0 moved)"
    assert np.array_equal(np.load(root / "out" / "item.npy")[:150], np.load(root / "owners" / "item.npy"))


@pytest.mark.parametrize("old", ["owners", "parts"])
def test_a_map_on_one_side_only_is_refused(old: str, directory: Path, tmp_path: Path) -> None:
    root = copied(directory, tmp_path, "old", "new", "owners", "parts")
    shutil.rmtree(root / "new" / "id_map")
    with pytest.raises(AssignmentError, match=r"the old owners have an ID map of 'user', 'item' nodes.*map-ids"):
        extended(root, root / "out", old=old)
    copied(directory, tmp_path / "again", "new", "owners", "parts")
    for description in ("owners/assignment.json", "parts/g.manifest.json"):
        path = root / "again" / description
        content = json.loads(path.read_text())
        path.write_text(json.dumps({key: value for key, value in content.items() if not key.startswith("id_map")}))
    with pytest.raises(AssignmentError, match=r"the graph has an ID map of 'user', 'item' nodes.*old_id_map"):
        extended(root / "again", root / "out", old=old)
    for given in (root / "old", root / "old" / "id_map"):
        assert extended(root / "again", root / "out", old=old, old_id_map=str(given)) == SUMMARY
        shutil.rmtree(root / "out")


def test_partitions_of_earlier_versions_name_maps_without_checksums(directory: Path, tmp_path: Path) -> None:
    root = copied(directory, tmp_path, "old", "new", "parts")
    manifest = root / "parts" / "g.manifest.json"
    content = json.loads(manifest.read_text())
    assert content.pop("id_map_checksums").keys() == OLD.keys()
    manifest.write_text(json.dumps(content))
    assert extended(root, root / "out", old="parts") == SUMMARY
    shutil.copytree(root / "new" / "id_map", root / "old" / "id_map", dirs_exist_ok=True)
    with pytest.raises(AssignmentError, match=r"user.parquet: .*expected 600 IDs, found 650\. .*old_id_map"):
        extended(root, root / "again", old="parts")
    shutil.rmtree(root / "old")
    with pytest.raises(InputFileNotFoundError, match=r"ID map of the old 'user' nodes.*old_id_map"):
        extended(root, root / "again", old="parts")


@pytest.mark.parametrize("old", ["owners", "parts"])
def test_maps_that_were_replaced_are_refused(
    old: str, ids: dict[str, dict[str, list[str]]], directory: Path, tmp_path: Path
) -> None:
    root = copied(directory, tmp_path, "old", "new", "owners", "parts")
    other = [f"{ids['old']['user'][0]}-", *ids["old"]["user"][1:]]  # as many IDs as before
    write_map(root / "old", "user", other)
    with pytest.raises(AssignmentError, match=r"user.parquet: the ID map .*old_id_map"):
        extended(root, root / "out", old=old)
    shutil.rmtree(root / "old" / "id_map")
    with pytest.raises(InputFileNotFoundError, match=r"user.parquet, named in .*: the ID map .* gone"):
        extended(root, root / "out", old=old)
    assert extended(root, root / "out", old=old, old_id_map=str(directory / "old")) == SUMMARY


def test_maps_that_cannot_match_are_one_error(
    ids: dict[str, dict[str, list[str]]], directory: Path, tmp_path: Path
) -> None:
    root = copied(directory, tmp_path, "old", "new", "owners")
    write_map(root / "new", "item", list(range(180)))
    with pytest.raises(
        AssignmentError, match=r"item.parquet: .*different types.*expected strings, as in .* found integers"
    ):
        extended(root, root / "out")
    write_map(root / "new", "item", ids["new"]["item"][1:])
    with pytest.raises(InputFileError, match=r"item.parquet: this ID map belongs to another graph: expected 180 IDs"):
        extended(root, root / "out")
    (root / "new" / "id_map" / "item.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputFileError, match=r"item.parquet: not a readable parquet file"):
        extended(root, root / "out")
    write_map(root / "new", "item", ids["new"]["item"])
    twice = [ids["old"]["item"][1], *ids["old"]["item"][1:]]
    write_map(root / "old", "item", twice)
    content = json.loads((root / "owners" / "assignment.json").read_text())
    (root / "owners" / "assignment.json").write_text(json.dumps({**content, "id_map_checksums": {}}))
    with pytest.raises(InputFileError, match=r"item.parquet: an ID occurs twice"):
        extended(root, root / "out")
    (root / "owners" / "assignment.json").write_text(json.dumps({**content, "id_map": 7}))
    with pytest.raises(GraphPartError, match=r"assignment.json, id_map: not maps of IDs"):
        extended(root, root / "out")
    with pytest.raises(OptionError, match="old_id_map needs old partitions"):
        AssignOptions(old_id_map="old")


@pytest.mark.parametrize("last", ["read-assignment", "match-nodes", "partition-graph"])
def test_a_stopped_run_is_continued(last: str, directory: Path, tmp_path: Path) -> None:
    method, listener = AssignOptions(extend=str(directory / "parts")), Listener(stop_after=last)
    run_assign(directory / "shuffled", PARTS, **spelled(method), out=tmp_path / "whole")
    with pytest.raises(Stopped):
        run_assign(directory / "shuffled", PARTS, **spelled(method), out=tmp_path / "out", progress=listener)
    if last != "partition-graph":  # other maps make another job
        other = replace(method, old_id_map=str(directory / "old"))
        with pytest.raises(GraphPartError, match="old_id_map"):
            run_assign(directory / "shuffled", PARTS, **spelled(other), out=tmp_path / "out")
    run_assign(directory / "shuffled", PARTS, **spelled(method), out=tmp_path / "out")
    for ntype in OLD:
        whole, continued = (np.load(tmp_path / out / f"{ntype}.npy") for out in ("whole", "out"))
        assert np.array_equal(whole, continued)
