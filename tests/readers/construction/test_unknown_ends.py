"""Ends of edges that no table of nodes has: refused with a guess, or named and counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from constructions import chunk, edges_entry, nodes_entry, table, write_config
from listeners import Listener

import daskgraphpart as dgp
from daskgraphpart.errors import InputFileError

if TYPE_CHECKING:
    from pathlib import Path

COLUMNS: dict[str, list[str]] = {
    "s": [f"a{i}" for i in range(9)],
    "blank": [f"a{i}\u00a0" for i in range(9)],
    "large": [f"A{i}" for i in range(9)],
    "code": [f"c{i}" for i in range(9)],
    "when": [f"t{i}" for i in range(9)],
    "d": [f"m{i}" for i in range(9)],
}


@pytest.mark.parametrize("unknown_nodes", ["drop", "error"])
@pytest.mark.parametrize(
    ("source", "dest", "hint"),
    [
        ("d", "s", r"swapped: exchange edges\[0\].source_id_col and edges\[0\].dest_id_col"),
        ("blank", "d", "IDs differ by blanks"),
        ("large", "d", "IDs differ by upper and lower case"),
        ("when", "d", r"[Cc]olumn 's' of .*edges.parquet seems to hold them: name it as edges\[0\].source_id_col"),
        ("code", "d", r"[Cc]olumn 'code' of .*nodes.parquet seems to hold them: name it as nodes\[0\].node_id_col"),
        ("d", "when", r"[Cc]heck edges\[0\].source_id_col and nodes\[0\].node_id_col"),
    ],
)
def test_ends_that_are_no_nodes_are_refused_with_a_guess(
    source: str, dest: str, hint: str, unknown_nodes: str, tmp_path: Path
) -> None:
    nodes = table(tmp_path, "nodes", id=COLUMNS["s"], code=COLUMNS["code"])
    others = ["s"] if source == "when" else []
    path = table(tmp_path, "edges", **{name: COLUMNS[name] for name in (source, dest, *others)})
    entry = edges_entry(path) | {"source_id_col": source, "dest_id_col": dest}
    with pytest.raises(InputFileError, match=f"0 of 9 IDs of 'n' nodes .*'a0', 'a1', 'a2'.*{hint}") as caught:
        chunk({"nodes": [nodes_entry(nodes)], "edges": [entry]}, tmp_path / "graph", unknown_nodes=unknown_nodes)
    assert "unknown_nodes" not in str(caught.value)


def test_ids_with_blanks_are_named_as_such(tmp_path: Path) -> None:
    path = table(tmp_path, "edges", s=["a", "b", "c "], d=["x", "y", "z"])
    nodes = table(tmp_path, "nodes", id=["a", "b", "c"])
    config: dict[str, Any] = {"nodes": [nodes_entry(nodes)], "edges": [edges_entry(path)]}
    blanks = "1 of these IDs are known without blanks around them: remove these"
    with pytest.raises(InputFileError, match=f"row 3: an edge of an unknown 'n' node: 'c '. {blanks}. Or unknown_node"):
        chunk(config, tmp_path / "graph")
    listener = Listener()
    graph = dgp.scan_graphstorm_config(write_config(tmp_path, config), unknown_nodes="drop")
    assert graph.collect(progress=listener).schema.num_edges == 2
    assert f"n:r:m: IDs of 'n' nodes that have no row: {blanks}" in listener.lines
    assert "n:r:m: 1 of 3 edges, of unknown nodes, were dropped" in listener.lines
