"""The page of the whole API runs from top to bottom; the reference has every public name, and no other."""

from __future__ import annotations

import gzip
import importlib
import importlib.util
import re
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch
from commands import call
from distributed import Client
from published_data import write_ogb

import daskgraphpart as dgp

if TYPE_CHECKING:
    from collections.abc import Iterator

REFERENCE = Path(__file__).parent.parent.parent / "docs" / "reference"
NAMED = re.compile(r"^::: daskgraphpart\.(\S+)", re.MULTILINE)


class DGLGraph:
    """What is asked of a graph of DGL, of one type; `tests/real_dgl` asks real ones."""

    __module__ = "dgl.heterograph"
    ntypes, canonical_etypes = ("_N",), (("_N", "_E", "_N"),)

    def __init__(self, src: torch.Tensor, dst: torch.Tensor, num_nodes: int) -> None:
        self.ends, self._num_nodes = (src, dst), num_nodes
        self.nodes = {"_N": SimpleNamespace(data={"x": torch.arange(num_nodes)})}
        self.edges = {self.canonical_etypes[0]: SimpleNamespace(data={"_ID": torch.arange(len(src))})}

    def formats(self) -> dict[str, list[str]]:
        return {"created": ["coo"], "not created": ["csr", "csc"]}

    def num_nodes(self, _: str) -> int:
        return self._num_nodes

    def all_edges(self, **_: Any) -> tuple[torch.Tensor, torch.Tensor]:
        return self.ends


def write_inputs() -> None:
    """Write the files that the page reads."""
    rng = np.random.default_rng(0)
    assert call("generate", "graph", "--nodes", "400", "--edges", "3e3", "--quiet") == 0
    Path("events").mkdir()
    users, items = rng.integers(0, 60, 500), rng.integers(0, 20, 500)
    events = {"src": [f"u{i}" for i in users], "dst": [f"i{i}" for i in items], "price": rng.random(500)}
    pd.DataFrame({**events, "kind": rng.choice(["saw", "bought"], 500)}).to_parquet("events/0.parquet")
    ages = "\n".join(f"u{i},{i % 50}" for i in range(60))
    Path("users.csv.gz").write_bytes(gzip.compress(f"id,age\n{ages}\n".encode()))
    write_ogb(Path("dataset/ogbn_products"))


def names(client: Client) -> dict[str, Any]:
    """What the page takes for granted."""
    from torch_geometric.data import Data

    src, dst = np.arange(60), np.arange(60) % 20
    pair = torch.from_numpy(src), torch.from_numpy(np.roll(src, 1))
    return {
        "frame": pd.DataFrame({"src": src, "dst": dst}),
        "networkx_graph": nx.karate_club_graph(),
        "scipy_matrix": scipy.sparse.eye(30, format="csr"),
        "pyg_data": Data(edge_index=torch.stack(pair), num_nodes=60),
        "dgl_graph": DGLGraph(*pair, 60),
        "client": client,
    }


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with Client(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0", set_as_default=False
    ) as found:
        yield found


@pytest.mark.long  # docstrings have examples of the same functions, which always run
@pytest.mark.filterwarnings("ignore")  # of PyG, as it is imported
def test_the_page_of_the_api_runs_from_top_to_bottom(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_inputs()
    found = names(client)
    for block in re.findall(r"^```python\n(.*?)^```$", (REFERENCE / "api.md").read_text(), re.MULTILINE | re.DOTALL):
        exec(compile(block, "api.md", "exec"), found)
    assert found["parts"].verify(found["graph"]).ok
    assert found["changed"].schema.etypes == ("user:buys:item",)
    assert found["ages"].tolist() == [int(own.removeprefix("u")) % 50 for own in found["ids"]]


def test_the_reference_has_every_public_name_and_no_other() -> None:
    named = [name for page in sorted(REFERENCE.glob("*.md")) for name in NAMED.findall(page.read_text())]
    assert len(named) == len(set(named))
    assert {name for name in named if "." not in name} == set(dgp.__all__)
    for name in named:  # and of what public functions return
        module, _, last = f"daskgraphpart.{name}".rpartition(".")
        assert not last.startswith("_")
        assert hasattr(importlib.import_module(module), last)


def test_every_public_name_is_there_and_says_what_it_is() -> None:
    for name in dgp.__all__:
        assert getattr(dgp, name).__doc__, name


def test_no_public_name_is_that_of_a_module() -> None:
    """The first import of such a module, by whatever job, would put it in the place of what is public."""
    found = {name: importlib.util.find_spec(f"daskgraphpart.{name}") for name in dgp.__all__}
    assert [name for name, spec in found.items() if spec and spec.origin] == [
        "errors"
    ]  # a directory alone is no module
    assert dgp.errors is importlib.import_module("daskgraphpart.errors")
