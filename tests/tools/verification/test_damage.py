"""Whatever happens to a file that a layout has written, `verify` finds and names it."""

from __future__ import annotations

import os
import shutil
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from graphs import Graph
from inside import Resources
from keywords import spelled

import daskgraphpart as dgp
from daskgraphpart import EdgeType, GraphSchema, NodeType
from daskgraphpart.errors import GraphPartError
from daskgraphpart.tools.verification.verify_partitions import verify

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RESOURCES = Resources(1 << 30, "sync", 1)
OUTPUTS: dict[str, dict[str, Any]] = {
    "dgl": {"layout": ("dgl", "graphbolt", "ranks", "parquet")},
    "graphstorm": {"layout": ("graphstorm",)},
    "ondisk": {"layout": ("dgl", "ondisk"), "num_parts": 1},
    "parquet": {"layout": ("parquet",)},  # with maps of IDs
    "kept": {"layout_options": {"reshuffle": False}},
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Graphs in `in` and `plain`, and partitions in all layouts."""
    root, rng = tmp_path_factory.mktemp("made"), np.random.default_rng(3)
    types = (NodeType("a", 60), NodeType("b", 30)), (EdgeType("a", "r", "b", 200), EdgeType("b", "s", "a", 100))
    edges = {"a:r:b": (rng.integers(60, size=200), rng.integers(30, size=200))}
    edges["b:s:a"] = edges["a:r:b"][1][:100], edges["a:r:b"][0][:100]
    masks = {f"{name}_mask": np.arange(60) % 3 == i for i, name in enumerate(("train", "val", "test"))}
    data = {"a": {"x": rng.random((60, 3)).astype(np.float32), "label": np.arange(60) % 4, **masks}}
    Graph(GraphSchema("g", *types), edges, data, {"a:r:b": {"w": rng.random(200)}}).write(root / "in")
    plain = GraphSchema("plain", types[0][:1], (EdgeType("a", "r", "a", 100),))
    Graph(plain, {"a:r:a": (rng.integers(60, size=100), rng.integers(60, size=100))}, data).write(root / "plain")
    (root / "e.csv").write_text("src,dst\n" + "".join(f"n{i % 7},n{i % 5}\n" for i in range(60)))
    tables = dgp.scan_tables(edges=root / "e.csv", map_ids=True)
    for name, how in OUTPUTS.items():
        graph = {"parquet": tables, "kept": root / "plain"}.get(name, root / "in")
        dgp.partition(graph, root / name, **{"num_parts": 2, "method": "random", **how, **spelled(RESOURCES)})
    return root


def files_of(root: Path) -> list[str]:
    """Paths of all files and links."""
    return sorted(
        os.path.relpath(os.path.join(directory, name), root)
        for directory, names, files in os.walk(root)
        for name in (*files, *(name for name in names if os.path.islink(os.path.join(directory, name))))
    )


def flip(path: Path, rng: np.random.Generator) -> None:
    content = bytearray(path.read_bytes())
    content[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
    path.write_bytes(content)


def truncate(path: Path, rng: np.random.Generator) -> None:
    os.truncate(path, rng.integers(path.stat().st_size - 1))  # a manifest without its last newline is as good


def delete(path: Path, _: np.random.Generator) -> None:
    path.unlink()


def empty(path: Path, _: np.random.Generator) -> None:
    path.write_bytes(b"")


def swap(path: Path, rng: np.random.Generator) -> None:
    """Exchange a file with one of other content."""
    others = [other for other in sorted(path.parent.rglob("*")) if other.is_file() and not other.is_symlink()]
    others = [other for other in others if other.read_bytes() != path.read_bytes()]
    if others:
        other = others[rng.integers(len(others))]
        content = path.read_bytes()
        path.write_bytes(other.read_bytes())
        other.write_bytes(content)
    else:
        flip(path, rng)


def relink(path: Path, _: np.random.Generator) -> None:
    path.unlink()
    path.symlink_to("../elsewhere")


def replace_link(path: Path, _: np.random.Generator) -> None:
    target = path.resolve()
    path.unlink()
    shutil.copytree(target, path)


DAMAGES = (flip, truncate, delete, empty, swap)


def found_in(check: Callable[[], Any]) -> str:
    """All that a check tells, of faults and errors."""
    try:
        return "\n".join(map(str, check().findings))
    except GraphPartError as error:
        return str(error)


def damages(made: Path, tmp_path: Path, count: int | None, seed: int) -> Iterator[tuple[str, str, Path]]:
    """Yield outputs with one damage each: of each file once, or so many at random."""
    rng = np.random.default_rng(seed)
    listed = [(name, file) for name in OUTPUTS for file in files_of(made / name)]
    chosen = listed if count is None else [listed[i] for i in rng.integers(len(listed), size=count)]
    for i, (name, file) in enumerate(chosen):
        out = tmp_path / str(i)
        shutil.copytree(made / name, out, symlinks=True)
        kinds = (delete, relink, replace_link) if (out / file).is_symlink() else DAMAGES
        damage = kinds[rng.integers(len(kinds))]
        damage(out / file, rng)
        yield f"{damage.__name__} {name}/{file}", file, out
        shutil.rmtree(out)


MANIFESTS = (
    "dgl/g.manifest.json",
    "dgl/ranks/ranks.json",
    "graphstorm/g.manifest.json",
    "parquet/parquet/parquet.json",
)


@pytest.mark.parametrize("name", OUTPUTS)
def test_manifests_list_every_file_of_a_layout(name: str, made: Path) -> None:
    out = made / name
    manifests = [
        *out.glob("*.manifest.json"),
        *(path for path in out.glob("*/*.json") if path.stem == path.parent.name),
    ]
    files = [file for file in files_of(out) if not (out / file).is_symlink()]
    report = verify(None, out, **spelled(RESOURCES))
    assert report.ok and report.num_files == len(files) - len(manifests)


@pytest.mark.parametrize("count", [None, pytest.param(300, marks=pytest.mark.long)])
def test_checksums_find_damage_to_any_file(count: int | None, made: Path, tmp_path: Path) -> None:
    missed = []
    for what, file, out in damages(made, tmp_path, count, 1):
        told = found_in(partial(verify, None, out, **spelled(RESOURCES)))
        if Path(file).name not in told:
            missed.append(f"{what}: {told or 'OK'}")
    assert missed == []


@pytest.mark.parametrize("manifest", MANIFESTS)
def test_a_lost_manifest_is_found_where_another_is_left_or_none(manifest: str, made: Path, tmp_path: Path) -> None:
    name, _, file = manifest.partition("/")
    shutil.copytree(made / name, tmp_path / "out")
    (tmp_path / "out" / file).unlink()
    assert file in found_in(partial(verify, None, tmp_path / "out", **spelled(RESOURCES)))
    if name != "parquet":
        assert file in found_in(partial(verify, made / "in", tmp_path / "out", **spelled(RESOURCES)))


def test_configs_are_compared_without_checksums(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made / "ondisk", tmp_path / "out", symlinks=True)
    metadata = tmp_path / "out" / "ondisk" / "files" / "metadata.yaml"
    words = metadata.read_text().replace("train_mask", "other_mask").replace("test_mask", "train_mask")
    metadata.write_text(words.replace("other_mask", "test_mask"))
    check = partial(verify, made / "in", tmp_path / "out", checksums=False, **spelled(RESOURCES))
    assert "ondisk/files/metadata.yaml" in found_in(check)
    report = verify(made / "in", made / "ondisk", checksums=False, **spelled(RESOURCES))
    assert report.ok and report.num_files == 3  # g.json, metadata.yaml and the hash
