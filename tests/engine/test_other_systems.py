"""What only Linux has is done without where it is missing, as on macOS: a job writes the same bytes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import daskgraphpart as dgp
from daskgraphpart.engine import journal
from daskgraphpart.storage import local_store

if TYPE_CHECKING:
    import pytest


def test_a_job_writes_the_same_bytes_without_calls_of_linux(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ends = np.random.default_rng(0).integers(0, 300, (2, 2000))
    graph = dgp.from_edges({"n:r:n": ends}, num_nodes=300, node_data={"x": np.arange(300)})
    dgp.partition(graph, tmp_path / "linux", 3, layout_options={"graph_formats": "coo,csc"}, progress=False)
    for name in ("sched_getaffinity", "posix_fallocate"):
        monkeypatch.delattr(os, name)
    monkeypatch.setattr(local_store, "_fallocate", None)
    monkeypatch.setattr(journal, "_BOOT_ID", Path("/proc/there-is-none"))
    dgp.partition(graph, tmp_path / "other", 3, layout_options={"graph_formats": "coo,csc"}, progress=False)
    written = [
        {path.relative_to(tmp_path / name): path.read_bytes() for path in (tmp_path / name).rglob("*.*")}
        for name in ("linux", "other")
    ]
    assert written[0] == written[1]
    assert len(written[0]) > 3
