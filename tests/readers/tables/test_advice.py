"""What an error advises for a format that is not read is typed as it stands, and leads to the right graph."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
import types
from typing import TYPE_CHECKING, Any

import networkx
import pandas as pd
import polars as pl
import pytest
import torch
from commands import call

import daskgraphpart as dgp
from daskgraphpart.errors import InputFileError

if TYPE_CHECKING:
    from pathlib import Path

EDGES = pd.DataFrame({"src": ["a", "b", "c"], "dst": ["b", "c", "a"], "w": [1.0, 2.0, 3.0]})


def write(form: str, path: Path) -> None:
    """Write three edges as other programs do."""
    if form == "orc":
        EDGES.to_orc(path)
    elif form == "avro":
        pl.from_pandas(EDGES).write_avro(path)
    elif form == "sqlite":
        with sqlite3.connect(path) as connection:
            EDGES.to_sql("edges", connection, index=False)
    elif form == "graphml":
        networkx.write_graphml(networkx.from_pandas_edgelist(EDGES, "src", "dst", create_using=networkx.DiGraph), path)
    elif form == "pt":
        torch.save(torch.tensor([[0, 1, 2], [1, 2, 0]]), path)


def advice(path: Path) -> str:
    with pytest.raises(InputFileError) as caught:
        dgp.scan_tables(path).collect(progress=False)
    return str(caught.value.hint)


@pytest.mark.parametrize("form", ["orc", "avro", "sqlite", "graphml", "pt"])
def test_what_reads_another_format_is_told(form: str, tmp_path: Path) -> None:
    path = tmp_path / f"edges.{form}"
    write(form, path)
    hint = advice(path)
    typed = re.fullmatch(r"read it with (.*), and give that to daskgraphpart\.(\w+)(, with map_ids=True if .*)?", hint)
    assert typed is not None
    names: dict[str, Any] = {"pandas": pd, "polars": pl, "networkx": networkx, "torch": torch, "sqlite3": sqlite3}
    table = eval(typed[1].replace("TABLE", "edges"), names, {"FILE": path})
    if typed[2] == "scan_tables":
        graph = dgp.scan_tables(table, map_ids=True).collect(progress=False)
        assert graph.schema.num_nodes == 3
        assert graph.edges["_N:_E:_N"].compute()[["src", "dst"]].to_numpy().tolist() == [[0, 1], [1, 2], [2, 0]]
    else:
        assert typed[2] == "partition"
        parts = dgp.partition(table, tmp_path / "out", 1, progress=False)
        assert (parts.num_nodes("_N"), parts.num_edges("_N:_E:_N")) == (3, 3)


def test_rdf_becomes_an_edge_type_per_predicate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in gives triples as `rdflib.Graph` does: typed with rdflib 7.6, the advice led to the same graph."""
    triples = [("http://e/a", "http://e/knows", "http://e/b"), ("http://e/b", "http://e/name", "Bob B")]
    path = tmp_path / "x.nt"
    path.write_text("".join(f"<{s}> <{p}> {o!r} .\n" for s, p, o in triples))
    stand_in = types.ModuleType("rdflib")
    stand_in.Graph = lambda: types.SimpleNamespace(parse=lambda _: iter(triples))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "rdflib", stand_in)
    typed = re.fullmatch(r"read it with (pandas.*), and give that to daskgraphpart.scan_tables: (.*)", advice(path))
    assert typed is not None
    names = {"pandas": pd, "rdflib": stand_in, "scan_tables": dgp.scan_tables}
    frame = eval(typed[1], names, {"FILE": path})
    graph = eval(typed[2], names, {"frame": frame}).collect(progress=False)
    assert graph.schema.etypes == ("entity:http...e.knows:entity", "entity:http...e.name:entity")
    assert graph.schema.num_nodes == 3


def test_a_tar_archive_is_unpacked_as_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    EDGES.to_csv("edges.csv", index=False)
    subprocess.run(["tar", "czf", "edges.tar.gz", "edges.csv"], check=True)
    (tmp_path / "edges.csv").unlink()
    assert call("partition", "out", "--num-parts", "1", "--edges", "edges.tar.gz", "--map-ids", "--quiet") == 2
    told = re.search(r"by (tar xf) FILE, and give what it holds", capsys.readouterr().err)
    assert told is not None
    subprocess.run([*told[1].split(), "edges.tar.gz"], check=True)
    assert call("partition", "out", "--num-parts", "1", "--edges", "edges.csv", "--map-ids", "--quiet") == 0
    assert dgp.open_partitions("out").num_edges("_N:_E:_N") == 3
