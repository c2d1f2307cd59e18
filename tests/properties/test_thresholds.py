"""Both sides of every threshold: the same bytes, whatever the numbers are at which work is cut."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from graphs import file_hashes
from remote_stores import make_graph
from thresholds import CUTS, DECIDE, LIMITS, OTHERS, constants, lowered

import daskgraphpart as dgp

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HOW: dict[str, Any] = {"memory": "300MB", "workers": 2, "cluster": "threads", "progress": False}
LAYOUTS = ["dgl", "graphbolt", "graphstorm", "ranks", "parquet"]
FACTORS = (1, 3, 20)
"""Times the lowered values, on the way to those of the package."""


def test_each_is_listed_as_what_it_is() -> None:
    listed = [*CUTS, *DECIDE, *LIMITS, *OTHERS]
    assert len(set(listed)) == len(listed)
    assert sorted(listed) == sorted(constants())


def digest(*arrays: Any) -> str:
    found = hashlib.sha256()
    for array in arrays:
        values = np.asarray(array)
        found.update(f"{values.dtype}{values.shape}".encode() + np.ascontiguousarray(values).tobytes())
    return found.hexdigest()


def from_chunks(root: Path, edge_format: str = "csv") -> dict[str, str]:
    """Partition a chunked graph into all layouts, verify, report, and read them in all ways."""
    graph = make_graph().write(root / "graph", edge_format=edge_format, num_chunks=2)
    parts = dgp.partition(graph, root / "out", 3, layout=LAYOUTS, num_hops=2, method="random", **HOW)
    found = {f"out/{name}": value for name, value in file_hashes(root / "out").items()}
    assert parts.verify(graph, memory="300MB", workers=2, cluster="threads").findings == ()
    found["frame"] = parts.edges["user:buys:item"].frame("when", part=True).compute().to_csv(index=False)
    found["edges of a part"] = parts.part(1).edges().compute().to_csv(index=False)
    feat, when = parts.node_data["user"]["feat"], parts.edge_data["user:buys:item"]["when"]
    found["rows"] = digest(feat, when, parts.to_original("user", feat))
    figures = parts.report(fanouts=[3, 2], batch_size=16, memory="300MB", workers=2, cluster="threads")
    found["report"] = figures.to_html().replace(str(root), "")
    dgp.partition(graph, root / "staged", 3, num_hops=2, method="random", workspace_options={"staging": "zarr"}, **HOW)
    return found | {f"staged/{name}": value for name, value in file_hashes(root / "staged").items()}


def write_tables(root: Path) -> dict[str, str]:
    """Tables with string IDs: edges as CSV and Parquet, features of nodes by ID."""
    rng = np.random.default_rng(3)
    names = np.array([f"user {i}" for i in range(400)])
    edges = pd.DataFrame({"src": rng.choice(names, 2000), "dst": rng.integers(0, 300, 2000), "w": rng.random(2000)})
    edges.to_csv(root / "e.csv", index=False)
    edges.to_parquet(root / "e.parquet", row_group_size=300)
    users = pd.DataFrame({"id": rng.permutation(names), "age": rng.integers(0, 99, 400), "text": names})
    users["vector"] = list(rng.random((400, 5)).astype(np.float32))
    users.to_parquet(root / "u.parquet", row_group_size=70)
    return {"user:csv:item": f"{root}/e.csv:src,dst", "user:parquet:item": f"{root}/e.parquet:src,dst"}


def from_tables(root: Path) -> dict[str, str]:
    """Map the IDs of tables, and write a chunked graph of them."""
    tables = dgp.scan_tables(write_tables(root), nodes={"user": f"{root}/u.parquet:id"}, map_ids=True)
    dgp.chunk_graph(tables, "shop", output_path=root / "chunked", **{**HOW, "memory": "500MB"})
    return file_hashes(root / "chunked")


def from_methods(root: Path) -> dict[str, str]:
    """Assign nodes by each method that reads edges."""
    graph = make_graph().write(root / "graph", edge_format="numpy", num_chunks=2)
    found = {}
    for method in ("fennel", "multilevel", "auto"):
        owners = dgp.assign(graph, 3, method=method, balance="nodes,edges,types:user/train_mask", **HOW)
        found[method] = digest(*(owners.owners[name] for name in ("user", "item")))
    return found


JOBS: dict[str, Callable[[Path], dict[str, str]]] = {
    "chunks": from_chunks,
    "tables": from_tables,
    "methods": from_methods,
}


def run(job: str, root: Path) -> dict[str, str]:
    root.mkdir()
    return JOBS[job](root)


@pytest.mark.parametrize("job", JOBS)
def test_no_byte_follows_where_work_is_cut(job: str, tmp_path: Path) -> None:
    expected = run(job, tmp_path / "as it is")
    with lowered(CUTS):
        found = run(job, tmp_path / "lowered")
    assert expected == found


@pytest.mark.long
@pytest.mark.parametrize("job", JOBS)
def test_no_byte_follows_any_of_them_alone(job: str, tmp_path: Path) -> None:
    expected = run(job, tmp_path / "as it is")
    for factor in FACTORS:
        for place, value in CUTS.items():
            with lowered({place: factor * value}):
                found = run(job, tmp_path / f"{place} {factor}")
            assert expected == found, (place, factor)
