"""What every case of bad input must come to: one clear error, exit code 2, no output, the input untouched."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from fork_server import ForkServer
from graphs import Graph

from daskgraphpart.schema import EdgeType, GraphSchema, NodeType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NUM_NODES, NUM_EDGES = 20, 50
ETYPE = "n:e:n"
MEGABYTES = 1024  # of address space: threads reserve 64 MiB each
MOST_GROWTH = 200 << 20
HERE = Path(__file__).parent


@dataclass(frozen=True)
class Case:
    """One way to damage a sound input.

    Parameters
    ----------
    name : str
        What is wrong.
    damage : callable
        Does it, given the directory.
    words : tuple of str
        What the message must say: file, place, expected or found.
    """

    name: str
    damage: Callable[[Path], object]
    words: tuple[str, ...]


def cases(table: list[Case]) -> Any:
    """Decorate a test with a table of cases."""
    names = [case.name for case in table]
    assert len(set(names)) == len(names), sorted(name for name in names if names.count(name) > 1)
    return pytest.mark.parametrize("case", table, ids=names)


def write_graph(directory: Path, form: str = "csv") -> Path:
    """Write a sound graph: 20 nodes with a feature, 50 edges, two files of each."""
    rng = np.random.default_rng(0)
    schema = GraphSchema("g", (NodeType("n", NUM_NODES),), (EdgeType("n", "e", "n", NUM_EDGES),))
    edges = {ETYPE: (rng.integers(0, NUM_NODES, NUM_EDGES), rng.integers(0, NUM_NODES, NUM_EDGES))}
    data_format = "parquet" if form == "parquet" else "numpy"
    features = {"n": {"x": rng.random((NUM_NODES, 3)).astype("f4")}}
    return Graph(schema, edges, features).write(directory, edge_format=form, data_format=data_format, num_chunks=2)


class Server(ForkServer):
    """The process that forks those of the cases."""

    def __init__(self) -> None:
        super().__init__(HERE / "server.py")

    def run(self, *arguments: str | Path) -> dict[str, Any]:
        """Run a command: exit code, what it wrote, and bytes by which its memory grew."""
        return self.ask({"arguments": [str(argument) for argument in arguments], "megabytes": MEGABYTES})

    def read(self, path: Path) -> dict[str, Any]:
        """Read all of partitions, likewise."""
        return self.ask({"read": str(path), "megabytes": MEGABYTES})


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """One for all cases of a session."""
    started = Server()
    yield started
    started.close()


def contents(directory: Path) -> dict[str, str]:
    """What lies below a directory: hashes of files, and what else there is by its name."""
    return {
        str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest()
        if path.is_file() and path.stat().st_size < 1 << 28
        else "special"
        for path in sorted(directory.rglob("*"))
    }


def expect_refusal(server: Server, graph: Path, case: Case, *arguments: str | Path) -> None:
    """Partition a damaged graph."""
    out = graph.parent / "out"
    before = contents(graph)
    options = ("--num-parts", "2", "--quiet", "--memory", "64MB", "--workers", "2", "--method", "random")
    judge(server.run("partition", graph, out, *options, *arguments), case)
    assert contents(graph) == before
    if out.exists():
        assert not [path for path in out.rglob("*") if path.is_file()]


def judge(found: dict[str, Any], case: Case) -> None:
    """Exactly one clear error, exit code 2, in bounded memory."""
    message = found["message"]
    assert found["code"] == 2, (found["code"], message)
    assert "Traceback" not in message
    assert message.count("error:") == 1, message
    assert len(message) < 4000, message
    assert message.isprintable() or all(c.isprintable() or c == "\n" for c in message), message
    for word in case.words:
        assert word in message, (word, message)
    assert found["grown"] < MOST_GROWTH, found["grown"]
