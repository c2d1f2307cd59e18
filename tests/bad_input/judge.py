"""What every case of bad input must come to: one clear error, exit code 2, no output, the input untouched."""

from __future__ import annotations

import contextlib
import hashlib
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from bad_input import readers
from graphs import Graph

from daskgraphpart.cli.main import main
from daskgraphpart.schema import EdgeType, GraphSchema, NodeType

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NUM_NODES, NUM_EDGES = 20, 50
ETYPE = "n:e:n"


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


class Server:
    """Runs commands and readers in this process."""

    def run(self, *arguments: str | Path) -> dict[str, Any]:
        """Run a command: exit code, and what it wrote."""
        return self._end(lambda: main([str(argument) for argument in arguments]))

    def read(self, path: Path) -> dict[str, Any]:
        """Read all of partitions, likewise."""
        return self._end(lambda: readers.read_all(str(path)))

    def _end(self, work: Callable[[], object]) -> dict[str, Any]:
        code, written = 0, io.StringIO()
        with contextlib.redirect_stderr(written), contextlib.redirect_stdout(io.StringIO()):
            try:
                work()
            except SystemExit as ended:
                code = int(ended.code or 0)
        return {"code": code, "message": written.getvalue()}


@pytest.fixture(scope="session")
def server() -> Server:
    """One for all cases of a session."""
    return Server()


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
    """Exactly one clear error, exit code 2."""
    message = found["message"]
    assert found["code"] == 2, (found["code"], message)
    assert "Traceback" not in message
    assert message.count("error:") == 1, message
    assert len(message) < 4000, message
    assert message.isprintable() or all(c.isprintable() or c == "\n" for c in message), message
    for word in case.words:
        assert word in message, (word, message)
