"""Damage a sound input, run the command line on it, and expect one clear error, exit code 2 and no output."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from graphs import Graph
from inside import main

from daskgraphpart import EdgeType, GraphPartError, GraphSchema, NodeType, load_partition, open_partitions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    Damage = Callable[[Path], object]
    Row = tuple[str, Damage, tuple[str, ...]]

NUM_NODES, NUM_EDGES = 20, 50
ETYPE = "n:e:n"
RANDOM = ("--num-parts", "2", "--quiet", "--method", "random", "--memory", "64MB", "--workers", "2")


def cases(table: Iterable[Row]) -> Any:
    """Parametrise a test with what is wrong, what damages a directory, and words of the message."""
    return pytest.mark.parametrize(("damage", "words"), [pytest.param(*row[1:], id=row[0]) for row in table])


def write_graph(directory: Path, form: str = "csv") -> Path:
    """Write a sound graph: 20 nodes with a feature, 50 edges, two files of each."""
    rng = np.random.default_rng(0)
    schema = GraphSchema("g", (NodeType("n", NUM_NODES),), (EdgeType("n", "e", "n", NUM_EDGES),))
    edges = {ETYPE: (rng.integers(0, NUM_NODES, NUM_EDGES), rng.integers(0, NUM_NODES, NUM_EDGES))}
    data_format = "parquet" if form == "parquet" else "numpy"
    features = {"n": {"x": rng.random((NUM_NODES, 3)).astype("f4")}}
    return Graph(schema, edges, features).write(directory, edge_format=form, data_format=data_format, num_chunks=2)


def change(name: str, how: Callable[[bytes], bytes]) -> Damage:
    """Rewrite a file."""
    return lambda root: (root / name).write_bytes(how((root / name).read_bytes()))


def instead(name: str, make: Damage) -> Damage:
    """Put something else in the place of a file."""
    return lambda root: ((root / name).unlink(), make(root / name))


def put(name: str, keys: tuple[str | int, ...], value: Any) -> Damage:
    """Change one value of a JSON file."""

    def damage(root: Path) -> None:
        content = inner = json.loads((root / name).read_text())
        for key in keys[:-1]:
            inner = inner[key]
        inner[keys[-1]] = value
        (root / name).write_text(json.dumps(content))

    return damage


def run(*arguments: str | Path) -> tuple[int, str]:
    """Run a command in this process: exit code, and what it wrote to standard error."""
    code, written = 0, io.StringIO()
    with contextlib.redirect_stderr(written), contextlib.redirect_stdout(io.StringIO()):
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as ended:
            code = int(ended.code or 0)
    return code, written.getvalue()


def refused(*arguments: str | Path, words: Iterable[str] = ()) -> str:
    """Run a command that has to be refused: its message."""
    code, message = run(*arguments)
    expect_one_error(code, message, words)
    return message


def expect_one_error(code: int, message: str, words: Iterable[str]) -> None:
    """Expect exit code 2 and one short error with these words."""
    assert code == 2, (code, message)
    assert "Traceback" not in message
    assert message.count("error:") == 1, message
    assert len(message) < 4000, message
    assert all(c.isprintable() or c == "\n" for c in message), message
    for word in words:
        assert word in message, (word, message)


def refuse_graph(graph: Path, words: Iterable[str], *options: str | Path) -> None:
    """Partition a damaged graph: refused, without output, the input as it was."""
    out, before = graph.parent / "out", contents(graph)
    refused("partition", graph, out, *RANDOM, *options, words=words)
    assert contents(graph) == before
    assert not [path for path in out.rglob("*") if path.is_file()]


def read_all(path: Path) -> tuple[int, str]:
    """Open partitions and read every array, edge and ID of theirs: exit code and message, as on the command line."""
    try:
        graph = open_partitions(path)
        for part in graph.parts:
            part.edges().compute(scheduler="sync")
            for regions in (*part.node_rows.features.values(), *part.edge_rows.features.values()):
                for region in regions.values():
                    region.read()
            load_partition(path, part.part_id)[0].adj_tensors("csc")
        for names, views in ((graph.ntypes, graph.nodes), (graph.etypes, graph.edges)):
            for name in names:
                np.asarray(views[name].original_ids[:])
    except GraphPartError as error:
        return error.exit_code, f"error: {error}"
    return 0, ""


def contents(directory: Path) -> dict[str, str]:
    """What lies below a directory: hashes of files, and what else there is by its name."""
    return {
        str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest()
        if path.is_file() and path.stat().st_size < 1 << 28
        else "special"
        for path in sorted(directory.rglob("*"))
    }
