"""Every real graph in every layout, for 1, 4 and 13 parts, read back by the library that the layout is for."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import layout_readers as by
import pytest
from graphs import REAL_GRAPHS, Graph, load_real_graph

import daskgraphpart as dgp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

DESTINATIONS: dict[str, tuple[tuple[str, ...], Callable[..., None]]] = {
    "dgl": (("dgl",), by.dgl_agrees),
    "graphbolt": (("dgl", "graphbolt"), by.graphbolt_agrees),
    "pyg": (("dgl",), by.pyg_agrees),
    "ranks": (("ranks",), by.ranks_agree),
    "parquet": (("parquet",), by.parquet_agrees),
    "ondisk": (("ondisk",), by.ondisk_agrees),
}
"""What is written for each, and what reads it."""

IN_DGL = ("dgl", "graphbolt", "ondisk")  # of which the short tests are others
SHORT = {"cora": (1, 4, 13), "coauthor_physics": (4,), "oewn": (4,)}
ALL = dict.fromkeys(DESTINATIONS, (1, 4, 13)) | {"ondisk": (1,)}


@pytest.fixture(scope="module")
def made(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Graph, Path]]:
    """A real graph, and it as a chunked graph."""
    graph, root = load_real_graph(request.param), tmp_path_factory.mktemp("graph")
    yield graph, graph.write(root / "in", edge_format="numpy")
    shutil.rmtree(root)


def _cases() -> Iterator[Any]:
    for name in REAL_GRAPHS:
        for destination in DESTINATIONS:
            short = () if destination in IN_DGL else SHORT.get(name, ())
            rest = tuple(num_parts for num_parts in ALL[destination] if num_parts not in short)
            for chosen, marks in ((short, ()), (rest, pytest.mark.long)):
                if chosen:
                    parts = "-".join(map(str, chosen))
                    yield pytest.param(name, destination, chosen, marks=marks, id=f"{name}-{destination}-{parts}")


@pytest.mark.real
@pytest.mark.parametrize(("made", "destination", "num_parts"), list(_cases()), indirect=["made"])
def test_what_is_read_back_is_the_graph(
    made: tuple[Graph, Path], destination: str, num_parts: tuple[int, ...], tmp_path: Path
) -> None:
    (graph, source), (layout, agrees) = made, DESTINATIONS[destination]
    outs = [tmp_path / str(count) for count in num_parts]
    for count, out in zip(num_parts, outs, strict=True):
        dgp.partition(source, out, count, method="random", layout=layout)
    agrees(graph, outs, tmp_path)
    # the larger graphs leave gigabytes behind
    shutil.rmtree(tmp_path)
