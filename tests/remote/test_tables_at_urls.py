"""Tables at URLs are refused as what they are, whichever way they are given; ``file://`` is a path like any other."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest
from commands import call
from constructions import edges_entry, write_config
from fsspec.registry import _registry
from graphs import file_hashes
from remote_stores import copy_in
from upath import UPath

import daskgraphpart as dgp
from daskgraphpart import GraphPartError
from daskgraphpart.errors import MissingPackageError, OptionError

if TYPE_CHECKING:
    from pathlib import Path

URLS = (
    "s3://bucket/edges.csv",
    "s3://bucket/edges-*.parquet:src,dst",
    "gs://bucket/events/",
    "https://example.com/edges.csv.gz",
    "simplecache::s3://bucket/edges.csv",
)
REFUSED = "tables are read from files, and this is a URL. Copy it to a file"


@pytest.fixture
def edges(tmp_path: Path) -> Path:
    path = tmp_path / "edges.csv"
    path.write_text("from,to\na,b\nb,c\nc,a\n")
    return path


@pytest.mark.parametrize("url", URLS)
def test_edges_at_a_url_are_refused_as_such(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (("build", tmp_path / "out"), ("partition", tmp_path / "out", "--num-parts", "2")):
        assert call(*command, "--edges", url) == 2
        assert f"{url}: {REFUSED}" in " ".join(capsys.readouterr().err.split())
    with pytest.raises(OptionError) as caught:
        dgp.scan_tables(url).collect()
    assert str(caught.value).startswith(f"{url}: {REFUSED}")
    assert not (tmp_path / "out").exists()


def test_a_table_at_a_url_in_place_of_a_graph_is_refused_as_such(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("partition", URLS[0], tmp_path / "out", "--num-parts", "2") == 2
    assert f"{URLS[0]}: {REFUSED}" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("url", ["memory://users.csv", UPath("memory://users.csv")])
def test_other_tables_at_urls_are_refused_as_such(url: Any, edges: Path) -> None:
    beside: tuple[dict[str, Any], ...] = (
        {"nodes": {"_N": url}},
        {"node_data": {"_N": {"age": url}}},
        {"edge_data": {"_N:_E:_N": {"w": url}}},
        {"masks": {"_N": {"train_mask": url}}},
        {"split": {"_N": url}},
    )
    for given in beside:
        with pytest.raises(GraphPartError) as caught:
            dgp.scan_tables(str(edges), map_ids=True, **given).collect()
        assert str(caught.value).startswith(f"memory://users.csv: {REFUSED}")
    with pytest.raises(OptionError, match="this is a URL"):
        dgp.scan_tables(url, map_ids=True).collect()


def test_features_and_configs_with_urls_are_refused_as_such(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"s3://bucket/x\.npy: tables are read from files"):
        dgp.from_edges(([0], [1]), node_data={"x": "s3://bucket/x.npy"})
    config = write_config(tmp_path, {"nodes": [], "edges": [edges_entry("s3://bucket/edges.parquet")]})
    with pytest.raises(GraphPartError, match=r"edges\[0\]\.files, s3://bucket/edges\.parquet: tables are read"):
        dgp.scan_graphstorm_config(config).collect()


def test_a_path_of_a_store_is_opened_as_its_url_is(memory: Any, tmp_path: Path) -> None:
    graph, how = dgp.from_edges(([0, 1, 2], [1, 2, 0])).write_chunked(tmp_path / "graph"), {"method": "random"}
    copy_in(tmp_path / "graph", memory, "memory://graph")
    parts = [
        dgp.partition(given, tmp_path / f"p{i}", 2, **how) for i, given in enumerate((graph, UPath("memory://graph")))
    ]
    assert parts[0].quality == parts[1].quality
    with pytest.raises(OptionError, match="this is a URL"):
        dgp.partition(UPath("memory://edges.csv"), tmp_path / "out", 2)


def test_data_sets_and_configs_at_urls_are_refused_as_such() -> None:
    with pytest.raises(OptionError, match=r"memory://ogbn: a data set must be in a file system"):
        dgp.scan_dataset("ogb", "memory://ogbn")
    with pytest.raises(OptionError, match=r"memory://c\.json: a construction config must be in a file system"):
        dgp.scan_graphstorm_config("memory://c.json")


def test_a_file_url_is_a_path(edges: Path, tmp_path: Path) -> None:
    for name, given in (("path", str(edges)), ("url", f"file://{edges}")):
        assert call("build", tmp_path / name, "--edges", f"{given}:to,from", "--map-ids", "--name", "g") == 0
    assert file_hashes(tmp_path / "url") == file_hashes(tmp_path / "path")


def test_the_package_of_a_store_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "s3fs", None)
    monkeypatch.delitem(_registry, "s3", raising=False)
    with pytest.raises(MissingPackageError, match=r's3://bucket/graph.*not installed.*Run pip install "\.\[s3\]"'):
        dgp.read_chunked("s3://bucket/graph")
