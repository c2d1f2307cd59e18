"""A small graph, and what its partitions are without any cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from cluster_tasks import partition, write_graph
from graphs import file_hashes

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_graph(tmp_path_factory.mktemp("input") / "graph")


@pytest.fixture(scope="session")
def undisturbed(graph: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    out = tmp_path_factory.mktemp("undisturbed") / "out"
    partition(graph, out, "threads")
    return file_hashes(out)
