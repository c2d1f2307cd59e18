"""Hops beyond the diameter of a graph add nothing, take no time, and are what the config says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from graphs import file_hashes
from remote_stores import make_graph

import daskgraphpart as dgp

if TYPE_CHECKING:
    from pathlib import Path

HOW: dict[str, Any] = {"memory": "300MB", "workers": 2, "cluster": "threads", "progress": False, "method": "random"}


def test_two_billion_hops_end_and_hold_what_twenty_do(tmp_path: Path) -> None:
    graph = make_graph(60, 100).write(tmp_path / "graph")
    parts = {hops: dgp.partition(graph, tmp_path / str(hops), 3, num_hops=hops, **HOW) for hops in (20, 2**31)}
    found = {hops: file_hashes(tmp_path / str(hops)) for hops in parts}
    differing = {name for name in found[20] if found[20][name] != found[2**31][name]}
    assert differing == {"shop.json", "shop.manifest.json"}
    assert json.loads((tmp_path / str(2**31) / "shop.json").read_text())["halo_hops"] == 2**31
    assert parts[2**31].verify(graph).ok
    assert "3 parts" in str(dgp.plan(graph, 3, num_hops=2**31, method="random"))
